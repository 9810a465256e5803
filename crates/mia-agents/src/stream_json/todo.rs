//! The list of what is to be done, which is the input of a tool.

use mia_api::PlanEntry;
use serde_json::Value;

/// The plan that such an input is.
pub(crate) fn plan(input: &Value) -> Vec<PlanEntry> {
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
