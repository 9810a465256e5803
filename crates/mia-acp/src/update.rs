//! Updates to events and back, without loss.
//!
//! An update becomes the event that says most of it. Where that event, written again, would not be
//! the same update, its member `raw` keeps the original. An event becomes the update that says most
//! of it; the rest goes into the update's `_meta`. Each way is checked by going back, so neither
//! has to know what the other can't say.

use mia_api::EventBody;
use serde_json::Value;

use crate::{meta, nearest, project};

/// The event can't be written as JSON.
#[derive(Debug, thiserror::Error)]
#[error("write the event as JSON: {0}")]
pub struct Unwritable(#[from] serde_json::Error);

/// The event of an ACP v1 session update: the member `update` of a `session/update`.
///
/// `to_update(&from_update(u))` is `u` for every update, that is, every JSON object with a text
/// member `sessionUpdate`, known or not, well-formed or not. Anything else becomes an `other`
/// event, and is found again in the `_meta` of its update.
///
/// It restores every kind of event that [`to_update`] wrote, the terminal ones included. Whoever
/// reads from a peer that is not to be believed looks at the kind; an `EventSink` refuses those
/// that are the dispatcher's own.
///
/// Two members mean what the agent means by them: `usage`'s cost is that of the whole session, and
/// a `tool_update` may be the last one of its call.
#[must_use]
pub fn from_update(update: &Value) -> EventBody {
    if let Some(event) = meta::carried(update) {
        return event;
    }
    let mut event = project::event(update);
    let same = match &event {
        EventBody::Other { .. } => true,
        event => nearest::update(event) == *update,
    };
    if !same && let Some(raw) = raw_mut(&mut event) {
        *raw = Some(update.clone());
    }
    event
}

/// The ACP v1 session update of an event.
///
/// `from_update(&to_update(e)?)` is `e` for every event whose numbers are finite. The update is
/// well-formed, unless it is the original of one that was not.
///
/// # Errors
/// When the event has no JSON form: a path in it is not UTF-8.
pub fn to_update(event: &EventBody) -> Result<Value, Unwritable> {
    if let Some(raw) = raw(event) {
        if is_update(raw) && from_update(raw) == *event {
            return Ok(raw.clone());
        }
    } else {
        let update = nearest::update(event);
        if from_update(&update) == *event {
            return Ok(update);
        }
    }
    Ok(meta::carry(event)?)
}

/// Whether a value has the form of an update.
fn is_update(value: &Value) -> bool {
    value.get("sessionUpdate").is_some_and(Value::is_string)
}

/// The original that an event keeps.
fn raw(event: &EventBody) -> Option<&Value> {
    match event {
        EventBody::Token { raw, .. }
        | EventBody::Thought { raw, .. }
        | EventBody::ToolUpdate { raw, .. }
        | EventBody::Plan { raw, .. }
        | EventBody::Usage { raw, .. } => raw.as_ref(),
        EventBody::ToolCall(call) => call.raw.as_ref(),
        EventBody::Other { raw } => Some(raw),
        EventBody::Accepted { .. }
        | EventBody::Attempt { .. }
        | EventBody::ToolResult(_)
        | EventBody::Permission(_)
        | EventBody::PermissionResolved(_)
        | EventBody::Notice { .. }
        | EventBody::Complete { .. }
        | EventBody::Error { .. } => None,
    }
}

/// Where an event that [`project::event`] makes keeps the original.
fn raw_mut(event: &mut EventBody) -> Option<&mut Option<Value>> {
    match event {
        EventBody::Token { raw, .. }
        | EventBody::Thought { raw, .. }
        | EventBody::ToolUpdate { raw, .. }
        | EventBody::Plan { raw, .. }
        | EventBody::Usage { raw, .. } => Some(raw),
        EventBody::ToolCall(call) => Some(&mut call.raw),
        _ => None,
    }
}
