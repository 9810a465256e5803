//! The questions of Claude Code.

use mia_api::{OptionKind, PermissionOption, PermissionRequest};
use mia_plugin::{Noise, Out};
use serde_json::{Value, json};

use super::adapter::ClaudeCode;
use super::line::{ControlRequest, Line};
use super::tool::title;

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
        let always = session_only(request.permission_suggestions.unwrap_or_default());
        let mut options = vec![option("allow_once", "Allow", OptionKind::AllowOnce)];
        if always.as_array().is_some_and(|a| !a.is_empty()) {
            let name = "Allow the like for this turn";
            options.push(option("allow_always", name, OptionKind::AllowAlways));
        }
        options.push(option("reject_once", "Deny", OptionKind::RejectOnce));
        out.ask(PermissionRequest {
            id: id.0.clone().into_owned(),
            tool_call_id: request.tool_use_id.map(|t| t.0.into_owned()).unwrap_or_default(),
            title: title(&tool, &input),
            options,
        });
        self.asked.insert(id.0.clone().into_owned(), Asked { input, always });
        Ok(())
    }
}

pub(super) fn respond(out: &mut Out, request: &str, answer: Value) {
    let response = json!({"subtype": "success", "request_id": request, "response": answer});
    out.write_json_line(&json!({"type": "control_response", "response": response}));
}

fn option(id: &str, name: &str, kind: OptionKind) -> PermissionOption {
    PermissionOption { id: id.to_owned(), name: name.to_owned(), kind }
}

/// What "always" may change. A suggestion with the destination `localSettings` would write a file
/// into the project, so it is made to last for the session only.
fn session_only(suggestions: Vec<Value>) -> Value {
    let mut suggestions = suggestions;
    for suggestion in &mut suggestions {
        if let Some(destination) = suggestion.get_mut("destination") {
            *destination = Value::from("session");
        }
    }
    Value::Array(suggestions)
}
