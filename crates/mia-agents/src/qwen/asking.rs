//! The questions of Qwen Code.

use std::path::Path;

use mia_api::{OptionKind, PermissionRequest, PermissionResolution, ToolKind};
use mia_plugin::{Noise, Out};
use serde_json::{Value, json};

use super::adapter::{CALLS, Qwen};
use super::line::Line;
use super::tool::{READING, kind};
use crate::edits::is_edit;
use crate::stream_json::{ControlRequest, option, question, respond, title};

/// What qwen is told when the answer is no.
const NO: &str = "This was not allowed. Do without it.";

#[derive(Debug, Clone)]
pub(super) struct Asked {
    call: String,
    tool: String,
    input: Value,
}

impl Asked {
    /// Whether it is an edit of the project in that folder.
    fn is_edit(&self, cwd: &Path) -> bool {
        let name = match self.tool.as_str() {
            "edit" | "write_file" => "file_path",
            "notebook_edit" => "notebook_path",
            _ => return false,
        };
        let path = self.input.get(name).and_then(Value::as_str).unwrap_or_default();
        // qwen takes away blanks around a path and what escapes a character of it.
        let plain = path.starts_with('/') && path.trim() == path && !path.contains('\\');
        plain && is_edit(Path::new(path), cwd)
    }
}

impl Qwen {
    pub(super) fn control_request(&mut self, line: &Line<'_>, out: &mut Out) -> Result<(), Noise> {
        let (Some(id), Some(request)) = (&line.request_id.0, line.request) else {
            return Ok(());
        };
        let request: ControlRequest<'_> = serde_json::from_str(request.get())?;
        if request.subtype.0 != "can_use_tool" {
            // An unanswered request would wait for its time limit.
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
        let text = |text: Option<crate::stream_json::Text<'_>>| {
            text.map(|text| text.0.into_owned()).unwrap_or_default()
        };
        let asked = Asked {
            call: text(request.tool_use_id),
            tool: text(request.tool_name),
            input: request.input.map_or(Ok(Value::Null), |i| serde_json::from_str(i.get()))?,
        };
        // A folder that the user's settings do not trust asks in every mode.
        if self.allow_all || self.always.contains(&same(&asked.tool, &asked.input)) {
            allow(&id.0, &asked, out);
            return Ok(());
        }
        if self.edits_in.as_deref().is_some_and(|cwd| asked.is_edit(cwd)) {
            allow(&id.0, &asked, out);
            return Ok(());
        }
        if self.only_reading && !READING.contains(&asked.tool.as_str()) {
            self.deny(&id.0, &asked, out);
            return Ok(());
        }
        let mut options = vec![option("allow_once", "Allow", OptionKind::AllowOnce)];
        // qwen itself offers no rule. The same edit twice would be none.
        if kind(&asked.tool) != ToolKind::Edit {
            let name = "Allow this very call for this turn";
            options.push(option("allow_always", name, OptionKind::AllowAlways));
        }
        options.push(option("reject_once", "Deny", OptionKind::RejectOnce));
        out.ask(PermissionRequest {
            id: id.0.clone().into_owned(),
            tool_call_id: asked.call.clone(),
            title: question(&asked.tool, kind(&asked.tool), &asked.input),
            options,
        });
        self.asked.insert(id.0.clone().into_owned(), asked);
        Ok(())
    }

    pub(super) fn answered(&mut self, resolution: &PermissionResolution, out: &mut Out) {
        let Some(asked) = self.asked.remove(&resolution.id) else {
            return;
        };
        match resolution.option_id.as_deref() {
            Some("allow_always") => {
                self.always.insert(same(&asked.tool, &asked.input));
                allow(&resolution.id, &asked, out);
            }
            Some("allow_once") => allow(&resolution.id, &asked, out),
            _ => self.deny(&resolution.id, &asked, out),
        }
    }

    fn deny(&mut self, request: &str, asked: &Asked, out: &mut Out) {
        respond(out, request, json!({"behavior": "deny", "message": NO}));
        self.denied(&asked.call, &asked.tool, &asked.input, out);
    }

    /// Says once of each call that it was not allowed: the last word lists what qwen denied by
    /// itself, and not what we did.
    pub(super) fn denied(&mut self, call: &str, tool: &str, input: &Value, out: &mut Out) {
        // After so many nobody reads another one.
        let has_room = self.denied.len() < CALLS;
        if has_room && self.denied.insert(call.to_owned()) {
            out.warn(format!("not allowed: {}", title(tool, input)));
        }
    }

    /// The tool has ended, so nobody waits for an answer about it: qwen does not say when it has
    /// waited long enough.
    pub(super) fn withdraw(&mut self, call: &str, out: &mut Out) {
        let waiting = self.asked.iter().find(|(_, asked)| asked.call == call);
        let Some(id) = waiting.map(|(id, _)| id.clone()) else {
            return;
        };
        out.withdraw(&id);
        if let Some(asked) = self.asked.remove(&id) {
            self.denied(&asked.call, &asked.tool, &asked.input, out);
        }
    }
}

fn allow(request: &str, asked: &Asked, out: &mut Out) {
    respond(out, request, json!({"behavior": "allow", "updatedInput": asked.input}));
}

/// What makes two calls the same: all of the input but what the model says it is for.
fn same(tool: &str, input: &Value) -> String {
    let mut input = input.clone();
    if let Some(members) = input.as_object_mut().filter(|_| tool == "run_shell_command") {
        members.remove("description");
    }
    format!("{tool} {input}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m_016_ids_of_calls_are_not_kept_without_end() {
        let (mut qwen, mut out) = (Qwen::default(), Out::new(Qwen::NAME));
        for id in 0..CALLS + 5 {
            qwen.denied(&id.to_string(), "edit", &Value::Null, &mut out);
            let call =
                json!({"type": "tool_use", "id": id.to_string(), "name": "agent"}).to_string();
            let message = format!(r#"{{"content":[{call}]}}"#);
            qwen.assistant(serde_json::from_str(&message).unwrap(), None, &mut out);
        }
        assert_eq!((qwen.denied.len(), qwen.sub_agents.len()), (CALLS, CALLS));
    }
}
