//! The members of an update that an event has a word for.

use mia_api::{ContextUsage, EventBody, Location, PlanEntry, ToolCallInfo, ToolKind, ToolStatus};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::content;

/// The event that says most of an update, without its original; `other` when none does.
pub(crate) fn event(update: &Value) -> EventBody {
    update.as_object().and_then(typed).unwrap_or_else(|| EventBody::Other { raw: update.clone() })
}

fn typed(update: &Map<String, Value>) -> Option<EventBody> {
    match text(update, "sessionUpdate")? {
        "agent_message_chunk" => Some(EventBody::token(chunk(update)?)),
        "agent_thought_chunk" => Some(EventBody::thought(chunk(update)?)),
        "tool_call" => Some(EventBody::ToolCall(ToolCallInfo {
            id: text(update, "toolCallId")?.to_owned(),
            parent_id: None,
            name: text(update, "name").unwrap_or_default().to_owned(),
            title: text(update, "title")?.to_owned(),
            kind: word::<ToolKind>(update, "kind").unwrap_or_default(),
            input: update.get("rawInput").cloned().unwrap_or_default(),
            locations: list(update, "locations")
                .into_iter()
                .flatten()
                .filter_map(location)
                .collect(),
            raw: None,
        })),
        "tool_call_update" => Some(EventBody::ToolUpdate {
            id: text(update, "toolCallId")?.to_owned(),
            status: word::<ToolStatus>(update, "status"),
            content: content::read(list(update, "content").unwrap_or_default()),
            raw: None,
        }),
        "plan" => Some(EventBody::Plan {
            entries: list(update, "entries")?.iter().filter_map(entry).collect(),
            raw: None,
        }),
        "usage_update" => Some(EventBody::Usage {
            tokens: None,
            context: Some(ContextUsage {
                used: update.get("used")?.as_u64()?,
                size: update.get("size")?.as_u64()?,
            }),
            cost_usd: update.get("cost").and_then(dollars),
            raw: None,
        }),
        _ => None,
    }
}

/// The text of a chunk that is text.
fn chunk(update: &Map<String, Value>) -> Option<&str> {
    content::text(update.get("content")?)
}

fn location(value: &Value) -> Option<Location> {
    let location = value.as_object()?;
    let line = location.get("line").and_then(Value::as_u64);
    Some(Location {
        path: text(location, "path")?.to_owned(),
        line: line.and_then(|line| u32::try_from(line).ok()),
    })
}

fn entry(value: &Value) -> Option<PlanEntry> {
    let entry = value.as_object()?;
    let member = |name| text(entry, name).map(str::to_owned);
    Some(PlanEntry {
        content: member("content")?,
        priority: member("priority")?,
        status: member("status")?,
    })
}

/// An amount in US dollars; none in any other unit.
fn dollars(cost: &Value) -> Option<f64> {
    let cost = cost.as_object()?;
    if text(cost, "currency")? == "USD" { cost.get("amount")?.as_f64() } else { None }
}

fn text<'a>(object: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    object.get(name)?.as_str()
}

fn list<'a>(object: &'a Map<String, Value>, name: &str) -> Option<&'a [Value]> {
    object.get(name)?.as_array().map(Vec::as_slice)
}

/// One of a set of words that ACP and we share; none for any other.
fn word<T: DeserializeOwned>(object: &Map<String, Value>, name: &str) -> Option<T> {
    let value = object.get(name)?;
    value.is_string().then(|| T::deserialize(value).ok()).flatten()
}
