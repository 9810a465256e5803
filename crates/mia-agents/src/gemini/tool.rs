//! The tools of Gemini CLI: their calls, results and titles; what was denied.

use std::collections::HashMap;

use mia_api::{Location, PlanEntry, ToolCallInfo, ToolKind};
use mia_plugin::Out;
use serde_json::Value;

use super::line::{Failure, Line, text, value};

/// How many open calls are remembered.
const OPEN: usize = 1000;

/// The calls without a result, with their titles.
#[derive(Debug, Clone, Default)]
pub(super) struct Tools {
    open: HashMap<String, String>,
}

impl Tools {
    /// A `tool_use` line.
    pub(super) fn call(&mut self, line: &Line<'_>, out: &mut Out) {
        let owned = |raw| text(raw).unwrap_or_default().into_owned();
        let (id, name) = (owned(line.tool_id), owned(line.tool_name));
        let input = value(line.parameters);
        if name == "write_todos" {
            out.plan(plan(&input));
        }
        let title = title(&name, &input);
        if self.open.len() < OPEN {
            self.open.insert(id.clone(), title.clone());
        }
        let path = ["file_path", "dir_path", "absolute_path", "path"]
            .iter()
            .find_map(|key| input.get(key).and_then(Value::as_str));
        out.tool_call(ToolCallInfo {
            kind: kind(&name),
            locations: path
                .map(|path| Location { path: path.to_owned(), line: None })
                .into_iter()
                .collect(),
            title,
            id,
            parent_id: None,
            name,
            input,
            raw: None,
        });
    }

    /// A `tool_result` line. What a tool printed is there for a command; of the others only what
    /// gemini shows to people, or nothing.
    pub(super) fn result(&mut self, line: &Line<'_>, out: &mut Out) {
        let id = text(line.tool_id).unwrap_or_default();
        let failure = Failure::of(line.error);
        // A command that fails is a `success` all the same.
        let is_error = text(line.status).as_deref() == Some("error");
        let title = self.open.remove(id.as_ref());
        if is_error && let Some(why) = denial(&failure) {
            out.warn(format!("{why}: {}", title.as_deref().unwrap_or("a tool")));
        }
        let output = text(line.output).unwrap_or_default();
        let output = if output.is_empty() { failure.message.as_str() } else { output.as_ref() };
        out.tool_result(&id, output, is_error);
    }
}

/// In which way a tool was denied, if it was. Headless, gemini takes the tools away that would need
/// a yes, so the model mostly does not even try them.
fn denial(failure: &Failure) -> Option<&'static str> {
    match failure.kind.as_str() {
        "policy_violation" => Some("not allowed"),
        "tool_not_registered" => Some("not allowed, or no tool of gemini"),
        // A command that was allowed, with a redirection, which was not.
        _ if failure.message.contains("requires user confirmation") => Some("not allowed"),
        _ => None,
    }
}

fn plan(input: &Value) -> Vec<PlanEntry> {
    let text = |todo: &Value, key: &str| {
        todo.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let todos = input.get("todos").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    todos
        .iter()
        .map(|todo| PlanEntry {
            content: text(todo, "description"),
            priority: "medium".to_owned(),
            status: text(todo, "status"),
        })
        .collect()
}

fn kind(tool: &str) -> ToolKind {
    match tool {
        "read_file" | "read_many_files" | "read_mcp_resource" | "get_internal_docs" => {
            ToolKind::Read
        }
        "replace" | "write_file" => ToolKind::Edit,
        "glob"
        | "grep_search"
        | "search_file_content"
        | "list_directory"
        | "list_mcp_resources" => ToolKind::Search,
        "run_shell_command" => ToolKind::Execute,
        "google_web_search" | "web_fetch" => ToolKind::Fetch,
        "activate_skill" | "invoke_agent" | "save_memory" | "update_topic" | "write_todos" => {
            ToolKind::Think
        }
        "enter_plan_mode" | "exit_plan_mode" => ToolKind::SwitchMode,
        _ => ToolKind::Other,
    }
}

/// One line for people: the tool and what it works on.
fn title(tool: &str, input: &Value) -> String {
    let subject = [
        "command",
        "file_path",
        "pattern",
        "dir_path",
        "absolute_path",
        "path",
        "url",
        "query",
        "agent_name",
        "name",
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
