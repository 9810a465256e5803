//! The last word of Qwen Code: answer or failure, and tokens.

use mia_api::{Cause, ErrorCode, PluginError, StopReason, Usage};
use mia_plugin::Out;
use serde_json::{Value, json};

use super::adapter::Qwen;
use super::line::{Line, Tokens};

impl Qwen {
    pub(super) fn result(&mut self, line: &Line<'_>, out: &mut Out) {
        let failed = line.is_error.0 == Some(true);
        if failed && self.is_of_a_sub_agent(line, out) {
            return;
        }
        // The prompt `/clear` begins another session, which only this line tells.
        if let Some(id) = &line.session_id.0 {
            out.session(&id.0);
        }
        self.usage(line.usage.0.unwrap_or_default(), out);
        for denial in line.permission_denials.0.as_deref().unwrap_or_default() {
            let text = |key: &str| denial.get(key).and_then(Value::as_str);
            let call = text("tool_use_id").unwrap_or_default();
            let input = denial.get("tool_input").unwrap_or(&Value::Null);
            self.denied(call, text("tool_name").unwrap_or("a tool"), input, out);
        }
        let said = match (&line.error.0, &line.result.0) {
            (Some(error), _) if failed => error.message.0.as_ref(),
            (_, Some(result)) => result.0.as_ref(),
            _ => "",
        };
        if failed {
            self.drop_held(said, out);
            let error = failure(said, out);
            out.fail(error);
        } else {
            self.release(out);
            // Text that was taken back and never told again is no part of the answer.
            out.begin_message();
            if out.content().is_empty() {
                out.token(said);
            }
            out.complete(StopReason::EndTurn);
        }
    }

    /// A sub-agent that fails prints such a line too, while its call is open, and with nothing to
    /// count. What came of it is in the result of the call.
    fn is_of_a_sub_agent(&self, line: &Line<'_>, out: &Out) -> bool {
        let empty = line.duration_ms.0 == Some(0) && line.num_turns.0 == Some(0);
        empty && self.sub_agents.iter().any(|call| out.is_open(call))
    }

    /// Tokens of this turn. The line has those of the session, whatever process they were used in,
    /// with those of sub-agents and of the notes that qwen takes for itself; so each turn remembers
    /// them for the next one. Where nothing is remembered, because the turn before had no last word,
    /// it is what the messages of the main agent told.
    fn usage(&self, session: Tokens, out: &mut Out) {
        if session.is_zero() {
            // Nothing was asked of the model, so the session has what it had.
            if let Some(before) = self.before.filter(|before| !before.is_zero()) {
                out.session_state(before.state());
            }
            return;
        }
        let turn = match self.before {
            Some(before) => session.minus(before),
            None => None,
        };
        let turn = turn.unwrap_or(self.telling.tokens);
        out.session_state(session.state());
        if !turn.is_zero() {
            let cached = turn.cached.unwrap_or(0);
            out.usage(Usage {
                input_tokens: turn.input.saturating_sub(cached),
                output_tokens: turn.output,
                cache_creation: None,
                cache_read: turn.cached,
            });
        }
    }
}

impl Tokens {
    /// What an earlier turn has remembered.
    pub(super) fn remembered(state: &Value) -> Option<Self> {
        let number = |key: &str| state.get(key).and_then(Value::as_u64);
        Some(Self { input: number("input")?, output: number("output")?, cached: number("cached") })
    }

    fn state(self) -> Value {
        json!({"input": self.input, "output": self.output, "cached": self.cached})
    }

    fn is_zero(self) -> bool {
        self.input == 0 && self.output == 0
    }

    pub(super) fn plus(self, other: Self) -> Self {
        let cached = self.cached.unwrap_or(0).saturating_add(other.cached.unwrap_or(0));
        Self {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            cached: self.cached.or(other.cached).map(|_| cached),
        }
    }

    /// None when the other is no part of it.
    fn minus(self, other: Self) -> Option<Self> {
        let cached = self.cached.unwrap_or(0).checked_sub(other.cached.unwrap_or(0))?;
        Some(Self {
            input: self.input.checked_sub(other.input)?,
            output: self.output.checked_sub(other.output)?,
            cached: self.cached.map(|_| cached),
        })
    }
}

/// What a failed turn means. There is nothing but words to tell it from.
fn failure(said: &str, out: &Out) -> PluginError {
    if said == "Operation cancelled." {
        return out.error(ErrorCode::Aborted, Cause::Requested, "qwen was interrupted");
    }
    let lower = said.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    let cause = match status(said) {
        _ if has(&[
            "context is too large",
            "context length",
            "maximum context",
            "too large to send",
        ]) =>
        {
            Cause::TooLong
        }
        Some(401 | 403) => Cause::Authentication,
        Some(413) => Cause::TooLong,
        Some(429) => Cause::RateLimited,
        Some(503 | 529) => Cause::Overloaded,
        Some(500..) => Cause::Server,
        Some(_) => Cause::InvalidRequest,
        None if has(&["api key", "auth type", "qwen oauth"]) => Cause::Authentication,
        None if said.starts_with("Quota exhausted") => Cause::RateLimited,
        // Whatever else a request fails of comes from the way to the provider or its stream.
        None if said.starts_with("[API Error: ") => Cause::Connection,
        None => {
            let message = format!("qwen could not go on: {said}");
            return out.error(ErrorCode::Unknown, Cause::NoResult, message);
        }
    };
    let mut error = out.error(ErrorCode::ProviderError, cause, said);
    error.hint = match cause {
        Cause::Authentication => {
            Some("run `qwen` once and log in with /auth, or set OPENAI_API_KEY".to_owned())
        }
        Cause::TooLong => Some("shorten the prompt, or begin a new conversation".to_owned()),
        Cause::RateLimited | Cause::Overloaded | Cause::Server => {
            Some("wait a little and try again, or choose another --model or --plugin".to_owned())
        }
        Cause::Connection => {
            Some("check the network and OPENAI_BASE_URL, then try again".to_owned())
        }
        _ => None,
    };
    error
}

/// The status in `[API Error: 400 …]` or `[API Error: … (Status: 400)]`.
fn status(said: &str) -> Option<u16> {
    let said = said.strip_prefix("[API Error: ")?;
    let number = |text: &str| text.get(..3)?.parse().ok().filter(|n| (400..600).contains(n));
    let after = said.rsplit_once("(Status: ").map(|(_, rest)| rest);
    number(said).or_else(|| number(after?))
}
