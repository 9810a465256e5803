//! What the guide remembers of a conversation. It is all in the session's record, so a later process
//! goes on as if it were the same.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::prose;
use super::question::Question;

/// How many prompts are remembered.
const PROMPTS: usize = 50;

/// How much of one prompt is remembered, in characters.
const PROMPT: usize = 200;

/// What the guide remembers of a conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Memory {
    /// How many prompts there were.
    pub(super) turns: u64,
    /// The last of them, the newest last.
    pub(super) prompts: Vec<String>,
    /// The last question that it could answer.
    pub(super) last: Option<Last>,
}

/// A question that was answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Last {
    /// The question.
    pub(super) question: Question,
    /// Where its answer goes on; none when that was all.
    pub(super) next: Option<u64>,
}

impl Memory {
    /// Reads a record's state; none when it is not ours.
    pub(super) fn read(state: &Value) -> Option<Self> {
        Self::deserialize(state).ok()
    }

    /// The state of a record.
    pub(super) fn write(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// Remembers a turn.
    pub(super) fn remember(&mut self, prompt: &str, last: Option<Last>) {
        self.turns += 1;
        let line = prompt.trim().lines().next().unwrap_or_default();
        self.prompts.push(prose::clean(&prose::cut(line, PROMPT)));
        let excess = self.prompts.len().saturating_sub(PROMPTS);
        self.prompts.drain(..excess);
        if last.is_some() {
            self.last = last;
        }
    }
}
