//! About how much memory things hold, in bytes: what bounds are counted in.

use mia_api::{EventBody, ToolContent};
use serde_json::Value;

/// What an event holds, the foreign JSON in it included.
pub(crate) fn of_event(event: &EventBody) -> usize {
    let foreign = match event {
        EventBody::ToolCall(call) => of_value(&call.input) + of_raw(call.raw.as_ref()),
        EventBody::ToolUpdate { content, raw, .. } => {
            let inside = content.iter().map(|content| match content {
                ToolContent::Other { raw } => of_value(raw),
                _ => 0,
            });
            inside.sum::<usize>() + of_raw(raw.as_ref())
        }
        EventBody::Other { raw } => of_value(raw),
        EventBody::Plan { entries, raw } => {
            let inside = entries.iter().map(|entry| entry.content.len() + 128);
            inside.sum::<usize>() + of_raw(raw.as_ref())
        }
        EventBody::Token { raw, .. }
        | EventBody::Thought { raw, .. }
        | EventBody::Usage { raw, .. } => of_raw(raw.as_ref()),
        _ => 0,
    };
    event.weight() + foreign
}

/// What a JSON value holds.
pub(crate) fn of_value(value: &Value) -> usize {
    let inside: usize = match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(of_value).sum(),
        Value::Object(members) => {
            members.iter().map(|(name, value)| name.len() + of_value(value)).sum()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    };
    inside + size_of::<Value>()
}

fn of_raw(raw: Option<&Value>) -> usize {
    raw.map_or(0, of_value)
}
