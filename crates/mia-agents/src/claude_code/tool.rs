//! The tools of Claude Code: their calls and what kind they are of.

use mia_api::{Location, ToolCallInfo, ToolKind};
use mia_plugin::Out;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::stream_json::{plan, title};

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

pub(super) fn kind(tool: &str) -> ToolKind {
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
