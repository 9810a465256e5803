//! The lines that Qwen Code prints.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::stream_json::{Loose, Message, StreamEvent, Text};

/// One line. No member of an odd type costs the rest of it.
#[derive(Debug, Deserialize)]
pub(super) struct Line<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) subtype: Loose<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) event: Loose<StreamEvent<'a>>,
    #[serde(borrow, default)]
    pub(super) parent_tool_use_id: Loose<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) session_id: Loose<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) message: Loose<Message<'a>>,
    #[serde(borrow, default)]
    pub(super) model: Loose<Text<'a>>,
    /// What a `system` line is about.
    #[serde(borrow, default)]
    pub(super) data: Loose<Data<'a>>,
    #[serde(borrow, default)]
    pub(super) request_id: Loose<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) request: Option<&'a RawValue>,
    #[serde(default)]
    pub(super) is_error: Loose<bool>,
    #[serde(default)]
    pub(super) duration_ms: Loose<u64>,
    #[serde(default)]
    pub(super) num_turns: Loose<u64>,
    #[serde(borrow, default)]
    pub(super) result: Loose<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) error: Loose<Failure<'a>>,
    #[serde(default)]
    pub(super) permission_denials: Loose<Vec<Value>>,
    #[serde(default)]
    pub(super) usage: Loose<Tokens>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Failure<'a> {
    #[serde(borrow)]
    pub(super) message: Text<'a>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Data<'a> {
    #[serde(default)]
    pub(super) attempt: Loose<u64>,
    #[serde(default, rename = "maxRetries")]
    pub(super) max_retries: Loose<u64>,
    #[serde(default, rename = "delayMs")]
    pub(super) delay_ms: Loose<u64>,
    #[serde(default, rename = "preserveText")]
    pub(super) preserve_text: Loose<bool>,
    #[serde(borrow, default, rename = "toModel")]
    pub(super) to_model: Loose<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) tool_use_id: Loose<Text<'a>>,
}

/// Tokens in the words of the lines: input holds what came from the cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct Tokens {
    #[serde(rename = "input_tokens")]
    pub(super) input: u64,
    #[serde(rename = "output_tokens")]
    pub(super) output: u64,
    #[serde(rename = "cache_read_input_tokens")]
    pub(super) cached: Option<u64>,
}
