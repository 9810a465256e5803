//! What tools produced, both ways.

use mia_api::ToolContent;
use serde_json::{Map, Value, json};

/// The contents of a tool call's update; what has no word stays as it is.
pub(crate) fn read(blocks: &[Value]) -> Vec<ToolContent> {
    blocks
        .iter()
        .map(|block| {
            block
                .as_object()
                .and_then(typed)
                .unwrap_or_else(|| ToolContent::Other { raw: block.clone() })
        })
        .collect()
}

fn typed(block: &Map<String, Value>) -> Option<ToolContent> {
    let member = |name| block.get(name).and_then(Value::as_str).map(str::to_owned);
    match block.get("type")?.as_str()? {
        "content" => {
            text(block.get("content")?).map(|text| ToolContent::Text { text: text.to_owned() })
        }
        "diff" => Some(ToolContent::Diff {
            path: member("path")?,
            old_text: member("oldText"),
            new_text: member("newText")?,
        }),
        "terminal" => Some(ToolContent::Terminal { terminal_id: member("terminalId")? }),
        _ => None,
    }
}

/// The text of a content block that is text.
pub(crate) fn text(block: &Value) -> Option<&str> {
    let block = block.as_object()?;
    if block.get("type")?.as_str()? == "text" { block.get("text")?.as_str() } else { None }
}

/// The same contents as an update says them.
pub(crate) fn write(contents: &[ToolContent]) -> Value {
    contents
        .iter()
        .map(|content| match content {
            ToolContent::Text { text } => text_block(text),
            ToolContent::Diff { path, old_text: None, new_text } => {
                json!({"type": "diff", "path": path, "newText": new_text})
            }
            ToolContent::Diff { path, old_text: Some(old), new_text } => {
                json!({"type": "diff", "path": path, "oldText": old, "newText": new_text})
            }
            ToolContent::Terminal { terminal_id } => {
                json!({"type": "terminal", "terminalId": terminal_id})
            }
            ToolContent::Other { raw } => raw.clone(),
        })
        .collect()
}

/// Text as a tool's content.
pub(crate) fn text_block(text: &str) -> Value {
    json!({"type": "content", "content": {"type": "text", "text": text}})
}
