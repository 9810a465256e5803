//! The questions of Claude Code.

use mia_api::{OptionKind, PermissionRequest};
use mia_plugin::{Noise, Out};
use serde_json::{Value, json};

use super::adapter::ClaudeCode;
use super::line::Line;
use super::tool::kind;
use crate::stream_json::{ControlRequest, option, question, respond};

#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) input: Value,
    /// What "always" changes, as far as it lasts only for the session.
    pub(super) always: Value,
}

impl ClaudeCode {
    pub(super) fn control_request(&mut self, line: &Line<'_>, out: &mut Out) -> Result<(), Noise> {
        let (Some(id), Some(request)) = (&line.request_id, line.request) else {
            return Ok(());
        };
        let request: ControlRequest<'_> = serde_json::from_str(request.get())?;
        if request.subtype.0 != "can_use_tool" {
            // An unanswered request would wait for ever.
            out.write_json_line(&json!({
                "type": "control_response",
                "response": {
                    "subtype": "error",
                    "request_id": id.0,
                    "error": format!("mia does not answer {}", request.subtype.0),
                },
            }));
            return Ok(());
        }
        let input: Value =
            request.input.map_or(Ok(Value::Null), |i| serde_json::from_str(i.get()))?;
        if self.allow_all {
            respond(out, &id.0, json!({"behavior": "allow", "updatedInput": input}));
            return Ok(());
        }
        let tool = request.tool_name.map(|t| t.0.into_owned()).unwrap_or_default();
        let (always, rules) = session_rules(request.permission_suggestions.unwrap_or_default());
        let mut options = vec![option("allow_once", "Allow", OptionKind::AllowOnce)];
        if !rules.is_empty() {
            let name = format!("Allow all of {} for this turn", rules.join(", "));
            options.push(option("allow_always", &name, OptionKind::AllowAlways));
        }
        options.push(option("reject_once", "Deny", OptionKind::RejectOnce));
        out.ask(PermissionRequest {
            id: id.0.clone().into_owned(),
            tool_call_id: request.tool_use_id.map(|t| t.0.into_owned()).unwrap_or_default(),
            title: question(&tool, kind(&tool), &input),
            options,
        });
        self.asked.insert(id.0.clone().into_owned(), Asked { input, always });
        Ok(())
    }
}

/// What "always" may change, and in words: only rules for calls like this one. A suggestion of
/// another kind (`setMode acceptEdits`) would allow far more than what was asked. One with the
/// destination `localSettings` would write a file into the project, so each is made to last for the
/// session only.
fn session_rules(suggestions: Vec<Value>) -> (Value, Vec<String>) {
    let mut kept = Vec::new();
    let mut words = Vec::new();
    for mut suggestion in suggestions {
        if suggestion.get("type").and_then(Value::as_str) != Some("addRules") {
            continue;
        }
        if let Some(destination) = suggestion.get_mut("destination") {
            *destination = Value::from("session");
        }
        let rules = suggestion.get("rules").and_then(Value::as_array);
        for rule in rules.map_or(&[][..], Vec::as_slice) {
            let text = |key: &str| rule.get(key).and_then(Value::as_str);
            words.push(match text("ruleContent") {
                Some(content) => format!("{}({content})", text("toolName").unwrap_or_default()),
                None => text("toolName").unwrap_or_default().to_owned(),
            });
        }
        kept.push(suggestion);
    }
    (Value::Array(kept), words)
}
