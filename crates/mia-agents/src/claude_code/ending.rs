//! The last word of Claude Code: answer or failure, tokens and money.

use std::collections::BTreeMap;

use mia_api::{Cause, ErrorCode, PluginError, StopReason, Usage};
use mia_plugin::{Noise, Out};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::adapter::ClaudeCode;
use super::line::{Line, ModelUsage, TurnUsage};
use crate::stream_json::{text_of, title};

impl ClaudeCode {
    pub(super) fn result(&mut self, line: &Line<'_>, out: &mut Out) -> Result<(), Noise> {
        let subtype = line.subtype.as_ref().map_or("", |s| s.0.as_ref());
        let errors = line.errors.as_ref().map_or(&[][..], Vec::as_slice);
        // The stale session is told before stdin is read, with the id that was asked for.
        let stale = self.resumed.is_some()
            && errors.iter().any(|e| {
                e.contains("No conversation found") || e.contains("requires a valid session")
            });
        if stale {
            out.stale_session(errors.join("; "));
            return Ok(());
        }
        if let Some(id) = &line.session_id {
            out.session(&id.0);
        }
        self.usage(line, out);
        for denial in line.permission_denials.as_ref().map_or(&[][..], Vec::as_slice) {
            let tool = denial.get("tool_name").and_then(Value::as_str).unwrap_or("a tool");
            let input = denial.get("tool_input").unwrap_or(&Value::Null);
            out.warn(format!("not allowed: {}", title(tool, input)));
        }
        let text = line.result.and_then(text_of).unwrap_or_default();
        let text = text.as_ref();
        if subtype == "error_max_turns" {
            out.complete(StopReason::MaxTurnRequests);
        } else if line.is_error == Some(true) || subtype.starts_with("error") {
            let error = self.failed(line, subtype, text, errors, out);
            out.fail(error);
        } else {
            // Text that was taken back and never told again is no part of the answer.
            out.begin_message();
            if out.content().is_empty() {
                out.token(text);
            }
            out.complete(match line.stop_reason.as_ref().map(|s| s.0.as_ref()) {
                Some("max_tokens") => StopReason::MaxTokens,
                Some("refusal") => StopReason::Refusal,
                _ => StopReason::EndTurn,
            });
        }
        Ok(())
    }

    /// Tokens and money of this turn. `usage` is zero after an interrupt and counts a half stream
    /// twice; `total_cost_usd` is cumulative over the session. `model_usage_since_last_result` is
    /// right in both, where there is one.
    fn usage(&self, line: &Line<'_>, out: &mut Out) {
        let models: Option<BTreeMap<String, ModelUsage>> = read(line.model_usage_since_last_result);
        let usage: Option<TurnUsage> = read(line.usage);
        let usage = match (models.filter(|models| !models.is_empty()), usage) {
            (Some(models), _) => {
                out.cost(models.values().filter_map(|m| m.cost).sum());
                let total = |of: fn(&ModelUsage) -> u64| models.values().map(of).sum::<u64>();
                Usage {
                    input_tokens: total(|m| m.input),
                    output_tokens: total(|m| m.output),
                    cache_creation: Some(total(|m| m.cache_creation)),
                    cache_read: Some(total(|m| m.cache_read)),
                }
            }
            (None, Some(usage)) => {
                // Cumulative only where the member above exists.
                if let Some(cost) = read(line.total_cost_usd) {
                    out.cost(cost);
                }
                Usage {
                    input_tokens: usage.input_tokens,
                    output_tokens: usage.output_tokens,
                    cache_creation: usage.cache_creation_input_tokens,
                    cache_read: usage.cache_read_input_tokens,
                }
            }
            (None, None) => return,
        };
        if !usage.is_zero() {
            out.usage(usage);
        }
    }

    /// What a failed turn means. `subtype` is `success` for errors of the API.
    fn failed(
        &self,
        line: &Line<'_>,
        subtype: &str,
        text: &str,
        errors: &[String],
        out: &Out,
    ) -> PluginError {
        let kind = self.failure.as_deref().unwrap_or("");
        if line.terminal_reason.as_ref().is_some_and(|r| r.0.starts_with("aborted")) {
            return out.error(ErrorCode::Aborted, Cause::Requested, "claude was interrupted");
        }
        let cause = match line.api_error_status {
            Some(401 | 403) => Cause::Authentication,
            Some(413) => Cause::TooLong,
            Some(429) => Cause::RateLimited,
            Some(503 | 529) => Cause::Overloaded,
            Some(500..) => Cause::Server,
            Some(_) if text.to_lowercase().contains("prompt is too long") => Cause::TooLong,
            Some(_) => Cause::InvalidRequest,
            None if kind == "authentication_failed" => Cause::Authentication,
            None if text.starts_with("Prompt is too long") => Cause::TooLong,
            None if subtype == "success" => Cause::Connection,
            None => {
                let said = if errors.is_empty() { text.to_owned() } else { errors.join("; ") };
                let message = format!("claude could not go on ({subtype}): {said}");
                return out.error(ErrorCode::Unknown, Cause::NoResult, message);
            }
        };
        let mut error = out.error(ErrorCode::ProviderError, cause, text);
        error.hint = match cause {
            Cause::Authentication => {
                Some("run `claude` once and log in, or set ANTHROPIC_API_KEY".to_owned())
            }
            Cause::TooLong => Some("shorten the prompt, or begin a new conversation".to_owned()),
            Cause::RateLimited | Cause::Overloaded | Cause::Server => Some(
                "wait a little and try again, or choose another --model or --plugin".to_owned(),
            ),
            Cause::Connection => {
                Some("check the network and ANTHROPIC_BASE_URL, then try again".to_owned())
            }
            _ => None,
        };
        error
    }
}

/// A member that may be odd; then it says nothing.
fn read<'a, T: Deserialize<'a>>(raw: Option<&'a RawValue>) -> Option<T> {
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok())
}
