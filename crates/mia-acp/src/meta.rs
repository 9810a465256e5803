//! What the nearest update has no word for: the event's other members, in `_meta.mia`.

use mia_api::{EventBody, ToolContent, ToolStatus};
use serde_json::{Map, Value, json};

use crate::{nearest, project, update};

/// The member of `_meta` that is ours.
const MIA: &str = "mia";

/// How many events may lie within each other, as `raw` of the one outside. Ours never do; reading
/// costs once the whole for each.
const DEEPEST: usize = 8;

/// The nearest update with the event's other members in its `_meta`.
pub(crate) fn carry(event: &EventBody) -> Result<Value, serde_json::Error> {
    let mut update = nearest::update(event);
    let mut members = match serde_json::to_value(event)? {
        Value::Object(members) => members,
        // An internally tagged enum is an object.
        other => return Ok(other),
    };
    let said = said(&update, event.kind());
    members.retain(|name, value| name == "type" || said.get(name) != Some(value));
    nearest::set(&mut update, "_meta", Some(json!({ MIA: members })));
    Ok(update)
}

/// The event that [`carry`] wrote; none when it did not write this very update.
pub(crate) fn carried(update: &Value) -> Option<EventBody> {
    let members = ours(update)?;
    if nesting(members) > DEEPEST {
        return None;
    }
    let mut all = said(update, members.get("type")?.as_str()?);
    all.extend(members.clone());
    let event: EventBody = serde_json::from_value(Value::Object(all)).ok()?;
    (update::to_update(&event).ok()? == *update).then_some(event)
}

fn ours(update: &Value) -> Option<&Map<String, Value>> {
    update.get("_meta")?.get(MIA)?.as_object()
}

/// How many events lie within each other here.
fn nesting(members: &Map<String, Value>) -> usize {
    let mut depth = 1;
    let mut innermost = members;
    while let Some(inner) = innermost.get("raw").and_then(ours) {
        depth += 1;
        innermost = inner;
    }
    depth
}

/// The members of an event of that kind that the update itself says.
fn said(update: &Value, kind: &str) -> Map<String, Value> {
    let event = project::event(update);
    if let ("tool_result", EventBody::ToolUpdate { id, status, content, .. }) = (kind, &event) {
        return result(id, *status, content);
    }
    if event.kind() != kind || kind == "other" {
        return Map::new();
    }
    match serde_json::to_value(event) {
        Ok(Value::Object(members)) => members,
        _ => Map::new(),
    }
}

/// The members of a tool's result that its last update says.
fn result(id: &str, status: Option<ToolStatus>, content: &[ToolContent]) -> Map<String, Value> {
    let mut members = Map::new();
    members.insert("id".to_owned(), id.into());
    members.insert("is_error".to_owned(), (status == Some(ToolStatus::Failed)).into());
    if let [ToolContent::Text { text }] = content {
        members.insert("output".to_owned(), text.as_str().into());
    }
    members
}
