//! The tools of Qwen Code: their calls and what kind they are of.

use mia_api::{Location, ToolCallInfo, ToolKind};
use mia_plugin::Out;
use serde_json::Value;

use crate::stream_json::{plan, title};

/// The tools that read and search, and do nothing else.
pub(super) const READING: [&str; 4] = ["read_file", "grep_search", "glob", "list_directory"];

/// A tool is called, by a sub-agent where there is a parent.
pub(super) fn tool_use(
    id: String,
    name: String,
    input: Value,
    parent: Option<&str>,
    out: &mut Out,
) {
    if name == "todo_write" && parent.is_none() {
        out.plan(plan(&input));
    }
    let path = ["file_path", "notebook_path", "absolute_path", "path"]
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

pub(super) fn kind(tool: &str) -> ToolKind {
    match tool {
        "read_file" | "zoom_image" | "read_mcp_resource" => ToolKind::Read,
        "edit" | "write_file" | "notebook_edit" => ToolKind::Edit,
        "grep_search" | "glob" | "list_directory" | "tool_search" => ToolKind::Search,
        "run_shell_command" | "monitor" => ToolKind::Execute,
        "web_fetch" | "web_search" => ToolKind::Fetch,
        "agent" | "todo_write" => ToolKind::Think,
        "enter_plan_mode" | "exit_plan_mode" => ToolKind::SwitchMode,
        _ => ToolKind::Other,
    }
}
