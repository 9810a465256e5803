//! The last word of Gemini CLI: answer or failure, and tokens.

use mia_api::{Cause, ErrorCode, PluginError, StopReason, Usage};
use mia_plugin::{Exit, Out};
use serde_json::Value;

use super::line::{Failure, Line, text, value};

/// What is known of the end before it comes.
#[derive(Debug, Clone, Default)]
pub(super) struct Ending {
    /// The model that was named at the start: one, or `auto`.
    model: String,
    /// What the last `error` line said.
    said: Option<String>,
    /// The model was asked too often for one prompt.
    too_many_turns: bool,
    /// A failure that does not say its status, which the exit does.
    failure: Option<String>,
}

impl Ending {
    pub(super) fn model(&mut self, model: &str, out: &mut Out) {
        model.clone_into(&mut self.model);
        out.model(model);
    }

    /// An `error` line: a warning, or the reason of the `result` that follows.
    pub(super) fn error(&mut self, line: &Line<'_>, out: &mut Out) {
        let message = text(line.message).unwrap_or_default().into_owned();
        if message == "Maximum session turns exceeded" {
            self.too_many_turns = true;
        } else if text(line.severity).as_deref() == Some("warning") {
            out.warn(format!("gemini: {message}"));
        } else {
            self.said = Some(message);
        }
    }

    /// The `result` line.
    pub(super) fn result(&mut self, line: &Line<'_>, out: &mut Out) {
        let stats = value(line.stats);
        self.stats(&stats, out);
        if text(line.status).as_deref() == Some("success") {
            let asked = stats.get("models").and_then(Value::as_object).map(|m| !m.is_empty());
            if asked == Some(false) && out.content().is_empty() {
                // A prompt that would not fit is not sent, and that is called a success.
                let message = "gemini did not ask the model: prompt and conversation are longer \
                               than it can read, or a hook stopped it";
                out.fail(failed(Some(413), "", message, out));
            } else if self.too_many_turns {
                out.complete(StopReason::MaxTurnRequests);
            } else {
                out.complete(StopReason::EndTurn);
            }
            return;
        }
        let failure = Failure::of(line.error);
        let message = match (failure.message.is_empty(), self.said.take()) {
            (false, _) => failure.message.as_str(),
            (true, said) => &said.unwrap_or_else(|| "it did not say why".to_owned()),
        };
        if failure.kind == "FatalTurnLimitedError" {
            out.complete(StopReason::MaxTurnRequests);
        } else if message.contains("response was truncated because it exceeded the token limit") {
            out.complete(StopReason::MaxTokens);
        } else if message.starts_with("The model response was blocked") {
            out.warn(format!("gemini: {message}"));
            out.complete(StopReason::Refusal);
        } else {
            let (status, plain) = unwrap(message);
            if status.is_some() || failure.kind.starts_with("Fatal") || !message.starts_with('[') {
                out.fail(failed(status, &failure.kind, &plain, out));
            } else {
                // `[API Error: …]` without a status: it exits with that, at once.
                self.failure = Some(plain);
            }
        }
    }

    /// It has exited. True when that is the end of a failure that was told before.
    pub(super) fn exit(&mut self, exit: &Exit<'_>, out: &mut Out) -> bool {
        let Some(message) = self.failure.take() else { return false };
        // The provider's status, of which an exit keeps one byte. Lower ones are gemini's own.
        let kept = exit.code.filter(|code| (144..=255).contains(code));
        let status = kept.and_then(|code| u16::try_from(code + 256).ok());
        out.fail(failed(status, "", &message, out));
        true
    }

    /// Tokens of this process, which are those of the dispatch: requests that choose the model and
    /// those of sub-agents are in it.
    fn stats(&self, stats: &Value, out: &mut Out) {
        let number = |stats: &Value, key: &str| stats.get(key).and_then(Value::as_u64);
        let input = number(stats, "input_tokens").unwrap_or(0);
        let output = number(stats, "output_tokens").unwrap_or(0);
        let total = number(stats, "total_tokens").unwrap_or(0);
        let cached = number(stats, "cached").unwrap_or(0);
        let usage = Usage {
            input_tokens: number(stats, "input").unwrap_or(input.saturating_sub(cached)),
            // Its own number leaves the thoughts out, the total does not.
            output_tokens: output.max(total.saturating_sub(input)),
            cache_creation: None,
            cache_read: Some(cached),
        };
        if !usage.is_zero() {
            out.usage(usage);
        }
        // Of `auto` and after a change for lack of quota: the one that did most of it.
        let models = stats.get("models").and_then(Value::as_object);
        if let Some(models) = models.filter(|models| !models.contains_key(&self.model)) {
            let most = models.iter().max_by_key(|(_, of)| number(of, "total_tokens").unwrap_or(0));
            if let Some((model, _)) = most {
                out.model(model);
            }
        }
    }
}

/// The status and the plain words in `[API Error: …]`, where the provider's answer is put as it
/// came, and may have another one in its message.
fn unwrap(message: &str) -> (Option<u16>, String) {
    let Some(inner) = message.strip_prefix("[API Error: ") else {
        return (None, message.to_owned());
    };
    // Advice may follow the bracket.
    let inner = inner.rsplit_once(']').map_or(inner, |(inner, _)| inner);
    let (mut status, mut plain) = (None, inner.to_owned());
    for _ in 0..2 {
        let Ok(answer) = serde_json::from_str::<Value>(&plain) else { break };
        let error = answer.get("error").unwrap_or(&answer);
        let code = error.get("code").and_then(Value::as_u64).and_then(|c| u16::try_from(c).ok());
        status = status.or(code);
        match error.get("message").and_then(Value::as_str) {
            Some(message) => plain = message.to_owned(),
            None => break,
        }
    }
    (status, plain)
}

/// What a failure means.
fn failed(status: Option<u16>, kind: &str, message: &str, out: &Out) -> PluginError {
    let lower = message.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    let cause = match status {
        // A key that is not valid is a 400.
        _ if kind == "FatalAuthenticationError"
            || has(&["api key not valid", "api_key_invalid"]) =>
        {
            Cause::Authentication
        }
        _ if has(&["exceeds the maximum number of tokens"]) => Cause::TooLong,
        Some(401 | 403) => Cause::Authentication,
        Some(413) => Cause::TooLong,
        Some(429) => Cause::RateLimited,
        Some(503 | 529) => Cause::Overloaded,
        Some(500..) => Cause::Server,
        Some(_) => Cause::InvalidRequest,
        None if kind == "FatalCancellationError" => {
            return out.error(ErrorCode::Aborted, Cause::Requested, "gemini was interrupted");
        }
        None if kind == "FatalInputError" => Cause::InvalidRequest,
        None if kind.starts_with("Fatal") => {
            let message = format!("gemini could not go on: {message}");
            return out.error(ErrorCode::Unknown, Cause::NoResult, message);
        }
        None if has(&["quota", "rate limit"]) => Cause::RateLimited,
        None if has(&[
            "fetch failed",
            "terminated",
            "socket",
            "econn",
            "etimedout",
            "enotfound",
            "timeout",
            "network",
            "without a finish reason",
        ]) =>
        {
            Cause::Connection
        }
        None if has(&["is not found", "model not found"]) => Cause::InvalidRequest,
        // An empty answer, or a call that makes no sense.
        None if has(&["the model returned", "model stream ended"]) => Cause::Server,
        None => {
            let message = format!("gemini could not go on: {message}");
            return out.error(ErrorCode::Unknown, Cause::NoResult, message);
        }
    };
    let mut error = out.error(ErrorCode::ProviderError, cause, message);
    error.hint = match cause {
        Cause::Authentication => Some("run `gemini` once and log in, or set GEMINI_API_KEY"),
        Cause::TooLong => Some("shorten the prompt, or begin a new conversation"),
        Cause::RateLimited | Cause::Overloaded | Cause::Server => {
            Some("wait a little and try again, or choose another --model or --plugin")
        }
        Cause::Connection => Some("check the network and GOOGLE_GEMINI_BASE_URL, then try again"),
        Cause::InvalidRequest if kind == "FatalInputError" => {
            Some("a prompt that begins with / is a command to gemini: begin it otherwise")
        }
        Cause::InvalidRequest if has(&["not found"]) => Some("choose another --model"),
        _ => None,
    }
    .map(str::to_owned);
    error
}
