//! What a request failed with.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The error of a JSON-RPC answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{message} ({code})")]
pub struct RequestError {
    /// Which kind of error; negative ones below -32000 are JSON-RPC's and ACP's own.
    pub code: i64,
    /// What happened, for people.
    #[serde(default)]
    pub message: String,
    /// More about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl RequestError {
    /// The request was cancelled.
    pub const CANCELLED: i64 = -32800;
    /// Something went wrong that is not the caller's making.
    pub const INTERNAL: i64 = -32603;
    /// Nobody knows the method.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// The params don't fit the method.
    pub const INVALID_PARAMS: i64 = -32602;

    /// An error of that code.
    #[must_use]
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// The same with more about it.
    #[must_use]
    pub fn with_data(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }

    /// The request was cancelled.
    #[must_use]
    pub fn cancelled() -> Self {
        Self::new(Self::CANCELLED, "the request was cancelled")
    }

    /// Something went wrong that the caller is told nothing about.
    #[must_use]
    pub fn internal() -> Self {
        Self::new(Self::INTERNAL, "internal error")
    }
}
