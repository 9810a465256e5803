//! The lines that Claude Code prints.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::stream_json::{Lenient, Message, StreamEvent, Text};

/// One line. Its `type` may stand anywhere in it. Members of all types are side by side, for the
/// parser skips what is absent at no cost.
#[derive(Debug, Deserialize)]
pub(super) struct Line<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) subtype: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) event: Option<StreamEvent<'a>>,
    #[serde(borrow, default)]
    pub(super) parent_tool_use_id: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) session_id: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) message: Option<Lenient<Message<'a>>>,
    #[serde(borrow, default)]
    pub(super) model: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) error: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) request_id: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) request: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) tool_name: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) tool_use_id: Option<Text<'a>>,
    #[serde(default)]
    pub(super) attempt: Option<u64>,
    #[serde(default)]
    pub(super) max_retries: Option<u64>,
    #[serde(default)]
    pub(super) error_status: Option<u16>,
    #[serde(default)]
    pub(super) is_error: Option<bool>,
    #[serde(borrow, default)]
    pub(super) result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) stop_reason: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) terminal_reason: Option<Text<'a>>,
    #[serde(default)]
    pub(super) api_error_status: Option<u16>,
    #[serde(default)]
    pub(super) errors: Option<Vec<String>>,
    #[serde(default)]
    pub(super) permission_denials: Option<Vec<Value>>,
    // Raw, for a finished answer must not be lost to an odd number.
    #[serde(borrow, default)]
    pub(super) total_cost_usd: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) usage: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) model_usage_since_last_result: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct TurnUsage {
    pub(super) input_tokens: u64,
    pub(super) output_tokens: u64,
    pub(super) cache_creation_input_tokens: Option<u64>,
    pub(super) cache_read_input_tokens: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ModelUsage {
    #[serde(rename = "inputTokens")]
    pub(super) input: u64,
    #[serde(rename = "outputTokens")]
    pub(super) output: u64,
    #[serde(rename = "cacheCreationInputTokens")]
    pub(super) cache_creation: u64,
    #[serde(rename = "cacheReadInputTokens")]
    pub(super) cache_read: u64,
    #[serde(rename = "costUSD")]
    pub(super) cost: Option<f64>,
}
