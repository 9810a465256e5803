//! Messages of the agent, whole and as they stream, and the results of tools.

use std::borrow::Cow;

use mia_plugin::{Noise, Out};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::text::{Lenient, Text};

/// An event of the provider's stream.
#[derive(Debug, Deserialize)]
pub(crate) struct StreamEvent<'a> {
    #[serde(borrow, rename = "type")]
    pub(crate) kind: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(crate) delta: Option<Delta<'a>>,
    #[serde(borrow, default)]
    pub(crate) message: Option<MessageId<'a>>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Delta<'a> {
    #[serde(borrow, default)]
    pub(crate) text: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) thinking: Option<Text<'a>>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct MessageId<'a> {
    #[serde(borrow, default)]
    pub(crate) id: Option<Text<'a>>,
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct Message<'a> {
    #[serde(borrow, default)]
    pub(crate) id: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) model: Option<Text<'a>>,
    /// Its blocks; a content that is a plain text has none that matter.
    #[serde(borrow, default)]
    pub(crate) content: Lenient<Vec<Block<'a>>>,
    #[serde(borrow, default)]
    pub(crate) usage: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Block<'a> {
    #[serde(borrow, rename = "type")]
    pub(crate) kind: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(crate) text: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) thinking: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) id: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) name: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) input: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) tool_use_id: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(crate) content: Option<&'a RawValue>,
    #[serde(default)]
    pub(crate) is_error: Option<bool>,
}

/// A `user` line holds the results of tools.
pub(crate) fn results(message: &Message<'_>, out: &mut Out) -> Result<(), Noise> {
    for block in &message.content.0 {
        if let ("tool_result", Some(id)) = (block.kind.as_ref(), &block.tool_use_id) {
            let output = block.content.map(flatten).transpose()?.unwrap_or_default();
            out.tool_result(&id.0, &output, block.is_error.unwrap_or(false));
        }
    }
    Ok(())
}

/// The content of a tool result: a text, or a list of blocks.
fn flatten(content: &RawValue) -> Result<Cow<'_, str>, serde_json::Error> {
    if content.get().starts_with('[') {
        let blocks: Vec<Block<'_>> = serde_json::from_str(content.get())?;
        let texts = blocks.iter().map(|block| match &block.text {
            Some(text) => text.0.clone(),
            None => Cow::Owned(format!("[{}]", block.kind)),
        });
        Ok(Cow::Owned(texts.collect::<Vec<_>>().join("\n")))
    } else {
        serde_json::from_str::<Text<'_>>(content.get()).map(|text| text.0)
    }
}
