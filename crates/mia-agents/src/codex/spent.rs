//! Tokens of this dispatch.

use std::collections::HashMap;

use mia_api::{ContextUsage, Usage};
use mia_plugin::Out;
use serde_json::Value;

use super::line::text;

/// What the requests of this turn took, those of its sub-agents included.
#[derive(Debug, Clone, Default)]
pub(super) struct Spent {
    /// The last known total of each thread.
    totals: HashMap<String, Value>,
    sum: Usage,
}

impl Spent {
    /// A line says what the last request took, and all of the thread since it began.
    ///
    /// The sum of the last requests is the dispatch's own. A line whose total is known is no new
    /// request: an interrupted turn says the last one again, and a resumed thread begins with what
    /// its last turn took.
    pub(super) fn told(&mut self, params: &Value, in_turn: bool, main: bool, out: &mut Out) {
        let Some(usage) = params.get("tokenUsage") else { return };
        let (total, last) = (usage.get("total"), usage.get("last"));
        let known = self
            .totals
            .insert(text(params, "threadId").to_owned(), total.cloned().unwrap_or_default());
        if !in_turn || known.as_ref() == total {
            return;
        }
        let of = |member: &str| last.and_then(|last| last.get(member)).and_then(Value::as_u64);
        let count = |member: &str| of(member).unwrap_or(0);
        let (read, written) = (count("cachedInputTokens"), count("cacheWriteInputTokens"));
        // Input counts what came from the cache, too.
        let input = count("inputTokens").saturating_sub(read).saturating_sub(written);
        let add = |sum: u64, more: u64| sum.saturating_add(more);
        self.sum = Usage {
            input_tokens: add(self.sum.input_tokens, input),
            output_tokens: add(self.sum.output_tokens, count("outputTokens")),
            cache_creation: Some(add(self.sum.cache_creation.unwrap_or(0), written)),
            cache_read: Some(add(self.sum.cache_read.unwrap_or(0), read)),
        };
        if !self.sum.is_zero() {
            out.usage(self.sum.clone());
        }
        let size = usage.get("modelContextWindow").and_then(Value::as_u64);
        if let (true, Some(used), Some(size)) = (main, of("totalTokens"), size) {
            out.context_usage(ContextUsage { used, size });
        }
    }
}
