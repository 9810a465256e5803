//! About how much memory things hold, in bytes: what bounds are counted in.

use serde_json::Value;

use crate::{EventBody, ToolContent};

/// What an event holds beside its texts.
const EVENT: usize = 128;

impl EventBody {
    /// About how much memory it holds, in bytes, the foreign JSON in it included.
    #[must_use]
    pub fn weight(&self) -> usize {
        let inside = match self {
            Self::Token { text, raw, .. } | Self::Thought { text, raw, .. } => {
                text.len() + optional(raw.as_ref())
            }
            Self::ToolCall(call) => {
                call.title.len() + json_weight(&call.input) + optional(call.raw.as_ref())
            }
            Self::ToolUpdate { content, raw, .. } => {
                content.iter().map(ToolContent::weight).sum::<usize>() + optional(raw.as_ref())
            }
            Self::ToolResult(result) => result.output.len(),
            Self::Plan { entries, raw } => {
                let inside = entries.iter().map(|entry| entry.content.len() + EVENT);
                inside.sum::<usize>() + optional(raw.as_ref())
            }
            Self::Usage { raw, .. } => optional(raw.as_ref()),
            Self::Notice { message, .. } => message.len(),
            Self::Other { raw } => json_weight(raw),
            Self::Complete { result } => result.content.len(),
            Self::Error { error } => {
                error.partial.as_ref().map_or(0, |partial| partial.content.len())
            }
            Self::Accepted { .. }
            | Self::Attempt { .. }
            | Self::Permission(_)
            | Self::PermissionResolved(_) => EVENT,
        };
        inside + EVENT
    }
}

impl ToolContent {
    fn weight(&self) -> usize {
        match self {
            Self::Text { text } => text.len(),
            Self::Diff { old_text, new_text, .. } => {
                new_text.len() + old_text.as_ref().map_or(0, String::len)
            }
            Self::Terminal { .. } => EVENT,
            Self::Other { raw } => json_weight(raw),
        }
    }
}

/// About how much memory a JSON value holds, in bytes.
#[must_use]
pub fn json_weight(value: &Value) -> usize {
    let inside: usize = match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(json_weight).sum(),
        Value::Object(members) => {
            members.iter().map(|(name, value)| name.len() + json_weight(value)).sum()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    };
    inside + size_of::<Value>()
}

fn optional(raw: Option<&Value>) -> usize {
    raw.map_or(0, json_weight)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ToolCallInfo;

    #[test]
    fn foreign_json_counts() {
        let big = Value::from("x".repeat(10_000));
        let call = ToolCallInfo { input: big.clone(), ..ToolCallInfo::default() };
        assert!(EventBody::ToolCall(call).weight() > 10_000);
        assert!(EventBody::Other { raw: Value::from(vec![big]) }.weight() > 10_000);
        assert!(EventBody::token("x").weight() < 1_000);
    }
}
