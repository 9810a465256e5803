//! The last word of codex: answer or failure.

use mia_api::{Cause, ErrorCode, NoticeKind, PluginError, StopReason};
use mia_plugin::Out;
use serde_json::Value;

use super::adapter::{Codex, UPDATE};
use super::line::text;

/// How often codex may say that it waits for the network before that is the answer: until the
/// provider has said anything, and later. It says so at once, after 5 s, after 15 s and then every
/// 15 s for ever, so neither silence nor an end would ever come of it.
const WAITS: u32 = 3;
const LATER_WAITS: u32 = 20;

impl Codex {
    /// The provider failed. Where codex does not try again, the turn's end says the same.
    pub(super) fn provider_failed(&mut self, params: &Value, main: bool, out: &mut Out) {
        if params.get("willRetry").and_then(Value::as_bool) != Some(true) {
            return;
        }
        if main {
            self.cut(out);
        }
        let error = params.get("error").unwrap_or(&Value::Null);
        let (message, details) = (text(error, "message"), text(error, "additionalDetails"));
        let why = if details.is_empty() { "the provider failed" } else { details };
        // "Reconnecting... 1/5" or "Reconnecting... waiting for network".
        let how = message.trim_start_matches("Reconnecting... ");
        out.notice(NoticeKind::Retry, format!("{why}; codex tries again ({how})"));
        if main && message.contains("waiting for network") {
            self.waits += 1;
            if self.waits >= if self.provider_works { LATER_WAITS } else { WAITS } {
                let message = format!("codex can't reach its provider: {why}");
                let mut error = out.error(ErrorCode::ProviderError, Cause::Connection, message);
                error.hint = hint(Cause::Connection);
                out.fail(error);
            }
        }
    }

    /// The turn is over.
    pub(super) fn turn_completed(&mut self, params: &Value, out: &mut Out) {
        let turn = params.get("turn").unwrap_or(&Value::Null);
        let error = turn.get("error").unwrap_or(&Value::Null);
        let message = text(error, "message");
        self.end_items(out);
        match text(turn, "status") {
            "completed" => {
                self.all_told(out);
                self.sub_agents_left(out);
                out.complete(StopReason::EndTurn);
            }
            "interrupted" => {
                let message = "codex was interrupted";
                out.fail(out.error(ErrorCode::Aborted, Cause::Requested, message));
            }
            _ if message.contains("reason: max_output_tokens") => {
                self.all_told(out);
                out.complete(StopReason::MaxTokens);
            }
            _ if is_refusal(error) => {
                self.all_told(out);
                out.warn(message);
                out.complete(StopReason::Refusal);
            }
            _ => {
                let mut failed = of_turn(error, out);
                if self.start.with_key && failed.cause == Some(Cause::Authentication) {
                    failed.message =
                        format!("codex is not logged in, and CODEX_API_KEY did not do: {message}");
                }
                out.fail(failed);
            }
        }
    }

    fn sub_agents_left(&mut self, out: &mut Out) {
        match self.busy_agents.len() {
            0 => {}
            1 => out.warn("a sub-agent was still at work when codex ended its answer"),
            n => out.warn(format!("{n} sub-agents were still at work when codex ended its answer")),
        }
    }
}

/// What lies behind a failed turn: a word, or an object with that word as its only member.
fn info(error: &Value) -> (&str, Option<u64>) {
    match error.get("codexErrorInfo") {
        Some(Value::String(word)) => (word, None),
        Some(Value::Object(object)) => match object.iter().next() {
            Some((word, more)) => (word, more.get("httpStatusCode").and_then(Value::as_u64)),
            None => ("", None),
        },
        _ => ("", None),
    }
}

/// The model, or who watches over it, will not.
fn is_refusal(error: &Value) -> bool {
    matches!(info(error).0, "cyberPolicy" | "bioPolicy" | "misalignmentPolicyViolation")
}

/// What a failed turn means.
fn of_turn(error: &Value, out: &Out) -> PluginError {
    let said = text(error, "message");
    let (word, status) = info(error);
    // A 400 has the provider's body for its message, and nothing else that tells it.
    let body: Option<Value> = serde_json::from_str(said).ok();
    let inner = body.as_ref().and_then(|body| body.pointer("/error/message")?.as_str());
    let cause = match (word, status.or_else(|| told_status(said))) {
        ("contextWindowExceeded", _) => Some(Cause::TooLong),
        ("usageLimitExceeded" | "rateLimitExceeded", _) => Some(Cause::RateLimited),
        ("serverOverloaded" | "flexUnavailable" | "policyCapacityUnavailable", _) => {
            Some(Cause::Overloaded)
        }
        ("internalServerError", _) => Some(Cause::Server),
        ("unauthorized", _) => Some(Cause::Authentication),
        ("badRequest" | "modelNotFound", _) => Some(Cause::InvalidRequest),
        (_, Some(401 | 403)) => Some(Cause::Authentication),
        (_, Some(413)) => Some(Cause::TooLong),
        (_, Some(429)) => Some(Cause::RateLimited),
        (_, Some(503 | 529)) => Some(Cause::Overloaded),
        (_, Some(500..)) => Some(Cause::Server),
        (_, Some(400..)) => Some(Cause::InvalidRequest),
        ("httpConnectionFailed" | "responseStreamConnectionFailed", _)
        | ("responseStreamDisconnected" | "responseTooManyFailedAttempts", _) => {
            Some(Cause::Connection)
        }
        _ if said.starts_with("Missing environment variable") => Some(Cause::Authentication),
        _ if said.starts_with("stream disconnected") => Some(Cause::Connection),
        _ if body.as_ref().is_some_and(Value::is_object) => Some(Cause::InvalidRequest),
        _ => None,
    };
    let message = inner.unwrap_or(if said.is_empty() { "codex could not go on" } else { said });
    let Some(cause) = cause else {
        return out.error(ErrorCode::Unknown, Cause::NoResult, message);
    };
    let mut failed = out.error(ErrorCode::ProviderError, cause, message);
    failed.hint = hint(cause);
    if inner.is_some() {
        failed.detail = Some(said.to_owned());
    }
    let variable = said.split('`').nth(1).filter(|_| said.starts_with("Missing environment"));
    if let Some(variable) = variable.filter(|name| *name != "CODEX_API_KEY") {
        failed.hint = Some(format!(
            "set {variable}, which codex's configuration names; where mia keeps it from agents, name it in plugins.codex.pass_env"
        ));
    }
    failed
}

/// The status that a message tells: "unexpected status 404 Not Found", "last status: 429 …".
fn told_status(message: &str) -> Option<u64> {
    let (_, rest) = message.split_once("status")?;
    rest.trim_start_matches([':', ' ']).split(' ').next()?.parse().ok()
}

fn hint(cause: Cause) -> Option<String> {
    let hint = match cause {
        Cause::Authentication => "run `codex login`, or set CODEX_API_KEY",
        Cause::TooLong => "shorten the prompt, or begin a new conversation",
        Cause::RateLimited | Cause::Overloaded | Cause::Server => {
            "wait a little and try again, or choose another --model or --plugin"
        }
        Cause::Connection => {
            "check the network and the provider in codex's configuration, then try again"
        }
        Cause::InvalidRequest => "check the --model and the provider in codex's configuration",
        _ => return None,
    };
    Some(hint.to_owned())
}

/// What a refused request of ours means.
pub(super) fn of_request(error: &Value, out: &Out) -> PluginError {
    let said = text(error, "message");
    let data = error.get("data").unwrap_or(&Value::Null);
    if text(data, "input_error_code") == "input_too_large" {
        let mut failed = out.error(ErrorCode::ProviderError, Cause::TooLong, said);
        failed.hint = hint(Cause::TooLong);
        return failed;
    }
    let message = format!("codex would not begin: {said}");
    let mut failed = out.error(ErrorCode::SpawnFailure, Cause::NotExecutable, message);
    failed.hint = Some(if said.contains("configuration") || said.contains("config") {
        failed.cause = None;
        "correct config.toml in ~/.codex, or in CODEX_HOME".to_owned()
    } else {
        format!("it may be too old: {UPDATE}")
    });
    failed
}
