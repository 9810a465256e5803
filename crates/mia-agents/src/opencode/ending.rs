//! The last word of opencode: answer or failure, tokens and money.

use mia_api::{Cause, ErrorCode, PluginError, StopReason, Usage};
use mia_plugin::{Out, SessionRecord};
use serde_json::{Value, json};

use super::adapter::OpenCode;
use crate::acp_dialogue::{Failure, Step};

/// Where the session's cost is kept from turn to turn.
const COST: &str = "cost_usd";
/// ACP's code for a login that is missing.
const LOGIN: i64 = -32000;

/// What this turn has used.
#[derive(Debug, Clone, Default)]
pub(super) struct Account {
    /// What the session had cost before; none when that is not known.
    before: Option<f64>,
    /// A tool was called, so the model was asked again.
    several_requests: bool,
    /// A sub-agent worked: what it cost is not in the session's cost.
    sub_agents: bool,
}

impl Account {
    pub(super) fn since(session: Option<&SessionRecord>) -> Self {
        let before = match session {
            Some(session) => session.state.get(COST).and_then(Value::as_f64),
            None => Some(0.0),
        };
        Self { before, ..Self::default() }
    }

    /// The session is known. What it costs is not, until it is told at the end of the turn: a turn
    /// that ends before must not be counted in the next one.
    pub(super) fn begin(&self, out: &mut Out) {
        out.session_state(json!({}));
    }

    /// A tool was called.
    pub(super) fn called(&mut self, tool: &str) {
        self.several_requests = true;
        self.sub_agents |= tool == "task";
    }

    /// What the session has cost so far, which opencode says at the end of a turn, failed or not.
    pub(super) fn total(&self, cost: Option<f64>, out: &mut Out) {
        let Some(total) = cost else { return };
        out.session_state(json!({ COST: total }));
        if let Some(before) = self.before.filter(|_| !self.sub_agents) {
            out.cost(total - before);
        }
    }

    /// The tokens of the turn's last request, which are all of it only if it had but one.
    fn tokens(&self, result: &Value, out: &mut Out) {
        let count = |name: &str| result.pointer(&format!("/usage/{name}")).and_then(Value::as_u64);
        let usage = Usage {
            input_tokens: count("inputTokens").unwrap_or_default(),
            output_tokens: count("outputTokens")
                .unwrap_or_default()
                .saturating_add(count("thoughtTokens").unwrap_or_default()),
            cache_creation: count("cachedWriteTokens"),
            cache_read: count("cachedReadTokens"),
        };
        if !self.several_requests && !usage.is_zero() {
            out.usage(usage);
        }
    }
}

impl OpenCode {
    /// The answer to the prompt.
    pub(super) fn answered(&mut self, result: &Value, out: &mut Out) {
        let stop = result.get("stopReason").and_then(Value::as_str).unwrap_or_default();
        // No message, no tokens: it took the prompt for a command and has none of that name.
        let swallowed = result.get("usage").is_none() && out.content().is_empty();
        if swallowed
            && stop == "end_turn"
            && let Some(prompt) = self.spare_prompt.take()
        {
            self.turn.prompt(prompt, out);
            return;
        }
        self.account.tokens(result, out);
        if stop == "cancelled" {
            let message = "opencode was interrupted";
            let error = out.error(ErrorCode::Aborted, Cause::Requested, message);
            out.fail(error);
            return;
        }
        self.telling.settle(out);
        out.complete(match stop {
            "max_tokens" => StopReason::MaxTokens,
            "max_turn_requests" => StopReason::MaxTurnRequests,
            "refusal" => StopReason::Refusal,
            _ => StopReason::EndTurn,
        });
    }

    /// A request of ours was refused.
    pub(super) fn failed(&mut self, step: Step, failure: &Failure, out: &mut Out) {
        let said = plain(&failure.message);
        let error = match step {
            Step::Session if self.resumed && is_stale(failure) => {
                out.stale_session(said);
                return;
            }
            Step::Initialize | Step::Session if failure.code == LOGIN => {
                provider_error(failure, said, out)
            }
            Step::Initialize | Step::Session => {
                let message = format!("opencode could not begin a session: {said}");
                out.error(ErrorCode::Unknown, Cause::NoResult, message).with_hint(
                    "run `opencode` in this folder to see why; its configuration may be at fault",
                )
            }
            Step::Setting("mode") => {
                let message = format!("opencode did not take the rules for --permissions: {said}");
                out.error(ErrorCode::SpawnFailure, Cause::InvalidRequest, message).with_hint(
                    "unset OPENCODE_CONFIG_CONTENT, and put what it says into opencode.json",
                )
            }
            Step::Setting(_) => {
                let message = format!("opencode did not take the model: {said}");
                out.error(ErrorCode::ProviderError, Cause::InvalidRequest, message)
                    .with_hint("`opencode models` lists those it has, as provider/model")
            }
            Step::Prompt => provider_error(failure, said, out),
        };
        out.fail(error);
    }
}

/// Whether a session that was to be resumed is not there any more. opencode has no words of its own
/// for that; what else may be wrong is no reason to lose the session.
fn is_stale(failure: &Failure) -> bool {
    let member = |name: &str| failure.data.get(name).and_then(Value::as_str);
    failure.code == -32603 && member("service") == Some("session") && member("errorName").is_none()
}

/// A message without what JSON-RPC puts before it.
fn plain(message: &str) -> &str {
    let prefixes = ["Internal error: ", "Invalid params: "];
    prefixes.iter().find_map(|prefix| message.strip_prefix(prefix)).unwrap_or(message)
}

/// What a failed turn means. opencode keeps the provider's status to itself, so the words tell.
fn provider_error(failure: &Failure, said: &str, out: &Out) -> PluginError {
    let name = failure.data.get("errorName").and_then(Value::as_str).unwrap_or_default();
    let Some(cause) = cause(failure.code, name, said) else {
        let message = format!("opencode could not go on: {said}");
        return out
            .error(ErrorCode::Unknown, Cause::NoResult, message)
            .with_hint("its log is in ~/.local/share/opencode/log");
    };
    let mut error = out.error(ErrorCode::ProviderError, cause, said);
    error.hint = match cause {
        Cause::Authentication => {
            Some("run `opencode auth login`, or set the key that this provider needs".to_owned())
        }
        Cause::TooLong => Some("shorten the prompt, or begin a new conversation".to_owned()),
        Cause::RateLimited | Cause::Overloaded | Cause::Server => {
            Some("wait a little and try again, or choose another --model or --plugin".to_owned())
        }
        Cause::Connection => {
            Some("check the network and the provider's address, then try again".to_owned())
        }
        _ => None,
    };
    error
}

fn cause(code: i64, name: &str, said: &str) -> Option<Cause> {
    let said = said.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| said.contains(word));
    let status = |codes: &[&str]| {
        said.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| codes.contains(&word))
    };
    if code == LOGIN || name == "ProviderAuthError" {
        return Some(Cause::Authentication);
    }
    let too_long = ["too long", "context length", "context window", "maximum context"];
    if name == "ContextOverflowError" || has(&too_long) {
        return Some(Cause::TooLong);
    }
    let key = ["unauthorized", "forbidden", "api key", "api_key", "api-key", "authenticat"];
    if status(&["401", "403"]) || has(&key) {
        Some(Cause::Authentication)
    } else if status(&["429"]) || has(&["rate limit", "rate_limit", "too many requests", "quota"]) {
        Some(Cause::RateLimited)
    } else if status(&["503", "529"]) || has(&["overloaded", "unavailable", "at capacity"]) {
        Some(Cause::Overloaded)
    // A server that tells of its own connections has answered.
    } else if status(&["500", "502", "504"]) || has(&["server error", "server had an error"]) {
        Some(Cause::Server)
    } else if has(&["connect", "network", "socket", "fetch failed", "timed out", "timeout"]) {
        Some(Cause::Connection)
    } else {
        (name == "APIError").then_some(Cause::InvalidRequest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m_007_words_tell_the_cause() {
        for (said, expected) in [
            ("Incorrect API key provided: x", Some(Cause::Authentication)),
            ("invalid x-api-key", Some(Cause::Authentication)),
            ("Unauthorized: {}", Some(Cause::Authentication)),
            ("fake error 429", Some(Cause::RateLimited)),
            ("You exceeded your current quota", Some(Cause::RateLimited)),
            ("Overloaded", Some(Cause::Overloaded)),
            ("Cannot connect to API: Unable to connect.", Some(Cause::Connection)),
            ("Connection reset by server", Some(Cause::Connection)),
            ("Internal Server Error", Some(Cause::Server)),
            ("Internal server error: can't connect to the database", Some(Cause::Server)),
            ("502 Bad Gateway: timeout", Some(Cause::Server)),
            ("max_tokens may not be over 5000", Some(Cause::InvalidRequest)),
            ("prompt is too long: 429 tokens", Some(Cause::TooLong)),
        ] {
            assert_eq!(cause(-32603, "APIError", said), expected, "{said}");
        }
        assert_eq!(cause(-32603, "UnknownError", "boom"), None);
        assert_eq!(
            cause(-32000, "", "provider authentication required"),
            Some(Cause::Authentication)
        );
    }
}
