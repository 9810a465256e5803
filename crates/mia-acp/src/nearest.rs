//! The update that says most of an event.

use mia_api::{EventBody, PlanEntry, ToolCallInfo, ToolKind, ToolResultInfo};
use serde_json::{Value, json};

use crate::content;

/// The update that says most of an event, without its original. Always one that every ACP v1 client
/// knows: ACP's own `notice` may be sent only to those that asked for it.
pub(crate) fn update(event: &EventBody) -> Value {
    match event {
        EventBody::Token { text, .. } => chunk("agent_message_chunk", text),
        EventBody::Thought { text, .. } => chunk("agent_thought_chunk", text),
        EventBody::ToolCall(call) => tool_call(call),
        EventBody::ToolUpdate { id, status, content, .. } => {
            let mut update = json!({"sessionUpdate": "tool_call_update", "toolCallId": id});
            set(&mut update, "status", status.map(|status| json!(status)));
            let content = (!content.is_empty()).then(|| content::write(content));
            set(&mut update, "content", content);
            update
        }
        EventBody::ToolResult(result) => tool_result(result),
        EventBody::Plan { entries, .. } => {
            let entries: Vec<Value> = entries.iter().map(entry).collect();
            json!({"sessionUpdate": "plan", "entries": entries})
        }
        EventBody::Usage { context: Some(context), cost_usd, .. } => {
            let mut update = json!({
                "sessionUpdate": "usage_update", "used": context.used, "size": context.size,
            });
            let cost = cost_usd.filter(|cost| cost.is_finite());
            let cost = cost.map(|amount| json!({"amount": amount, "currency": "USD"}));
            set(&mut update, "cost", cost);
            update
        }
        EventBody::Permission(request) => {
            json!({"sessionUpdate": "tool_call_update", "toolCallId": request.tool_call_id})
        }
        EventBody::Accepted { .. }
        | EventBody::Attempt { .. }
        | EventBody::Usage { context: None, .. }
        | EventBody::PermissionResolved(_)
        | EventBody::Notice { .. }
        | EventBody::Other { .. }
        | EventBody::Complete { .. }
        | EventBody::Error { .. } => json!({"sessionUpdate": "session_info_update"}),
    }
}

fn chunk(kind: &str, text: &str) -> Value {
    json!({"sessionUpdate": kind, "content": {"type": "text", "text": text}})
}

fn tool_call(call: &ToolCallInfo) -> Value {
    let ToolCallInfo { id, parent_id: _, name, title, kind, input, locations, raw: _ } = call;
    let mut update = json!({"sessionUpdate": "tool_call", "toolCallId": id, "title": title});
    set(&mut update, "name", (!name.is_empty()).then(|| json!(name)));
    set(&mut update, "kind", (*kind != ToolKind::Other).then(|| json!(kind)));
    set(&mut update, "rawInput", (!input.is_null()).then(|| input.clone()));
    let locations: Vec<Value> = locations
        .iter()
        .map(|location| {
            let mut value = json!({"path": location.path});
            set(&mut value, "line", location.line.map(Value::from));
            value
        })
        .collect();
    set(&mut update, "locations", (!locations.is_empty()).then(|| Value::Array(locations)));
    update
}

fn tool_result(result: &ToolResultInfo) -> Value {
    let status = if result.is_error { "failed" } else { "completed" };
    let mut update =
        json!({"sessionUpdate": "tool_call_update", "toolCallId": result.id, "status": status});
    let content = (!result.output.is_empty()).then(|| json!([content::text_block(&result.output)]));
    set(&mut update, "content", content);
    update
}

/// A step in ACP's own words, for a reader drops a step with any other.
fn entry(entry: &PlanEntry) -> Value {
    let known = |word: &str, words: [&'static str; 3], usual: &'static str| {
        words.into_iter().find(|known| *known == word).unwrap_or(usual)
    };
    json!({
        "content": entry.content,
        "priority": known(&entry.priority, ["high", "medium", "low"], "medium"),
        "status": known(&entry.status, ["pending", "in_progress", "completed"], "pending"),
    })
}

/// Sets a member that has a value.
pub(crate) fn set(object: &mut Value, name: &str, value: Option<Value>) {
    if let (Value::Object(members), Some(value)) = (object, value) {
        members.insert(name.to_owned(), value);
    }
}
