//! What a `session/update` holds.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::line::text;

/// An update.
#[derive(Debug)]
pub(crate) enum Update<'a> {
    /// Text of the answer, with the id of its message.
    Text { message: Option<Cow<'a, str>>, text: Cow<'a, str> },
    /// Text of the model's thinking.
    Thought(Cow<'a, str>),
    /// `tool_call` or `tool_call_update`.
    Tool(Map<String, Value>),
    /// Any other, of that kind.
    Other(String, Value),
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Params<'a> {
    #[serde(borrow)]
    session_id: Option<&'a RawValue>,
    #[serde(borrow)]
    update: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Members<'a> {
    #[serde(borrow)]
    session_update: Option<&'a RawValue>,
    #[serde(borrow)]
    message_id: Option<&'a RawValue>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Block<'a> {
    #[serde(borrow)]
    text: Option<&'a RawValue>,
}

/// The update in the parameters of a `session/update`, if it is about that session: that of
/// another one is a sub-agent's.
pub(crate) fn update<'a>(params: &'a RawValue, session: Option<&str>) -> Option<Update<'a>> {
    let params: Params<'_> = serde_json::from_str(params.get()).ok()?;
    if text(params.session_id).as_deref() != session {
        return None;
    }
    let raw = params.update?;
    let members: Members<'_> = serde_json::from_str(raw.get()).ok()?;
    let said = || {
        let block: Block<'_> = serde_json::from_str(members.content?.get()).ok()?;
        text(block.text)
    };
    let kind = text(members.session_update)?;
    match (kind.as_ref(), said()) {
        ("agent_message_chunk", Some(text_)) => {
            Some(Update::Text { message: text(members.message_id), text: text_ })
        }
        ("agent_thought_chunk", Some(text)) => Some(Update::Thought(text)),
        ("tool_call" | "tool_call_update", _) => {
            serde_json::from_str(raw.get()).ok().map(Update::Tool)
        }
        (kind, _) => {
            let value = serde_json::from_str(raw.get()).ok()?;
            Some(Update::Other(kind.to_owned(), value))
        }
    }
}
