//! Tokens and money.

use serde::{Deserialize, Serialize};

/// Tokens of one dispatch (M-06). Counts are this dispatch's own, never cumulative, whatever the
/// agent reports.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Usage {
    /// Tokens read by the model and not taken from a cache.
    pub input_tokens: u64,
    /// Tokens written by the model, thinking included.
    pub output_tokens: u64,
    /// Tokens written to the provider's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub cache_creation: Option<u64>,
    /// Tokens read from the provider's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub cache_read: Option<u64>,
}

impl Usage {
    /// True when nothing was counted.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.input_tokens == 0
            && self.output_tokens == 0
            && self.cache_creation.unwrap_or(0) == 0
            && self.cache_read.unwrap_or(0) == 0
    }
}

/// How full the agent's context window is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ContextUsage {
    /// Tokens in the window now.
    pub used: u64,
    /// Tokens that fit.
    pub size: u64,
}
