//! What one model API has to provide: its paths, its requests, its answers. Everything else is shared.

use serde_json::Value;

use super::conversation::Conversation;
use super::plan::{Beat, Failure, Plan, tokens};

/// A model API. To add one: implement this in a file of its own and name it in [`APIS`].
pub(super) trait Api: Sync {
    /// Its name in the log.
    fn name(&self) -> &'static str;
    /// What a POST to this path asks for, if it is one of this API's.
    fn call(&self, path: &str) -> Option<Call>;
    /// The request in the common shape.
    fn read(&self, path: &str, body: &Value) -> Conversation;
    /// The answer to a request that counts tokens.
    fn count(&self, tokens: u64) -> Value;
    /// A whole answer, for a client that doesn't stream.
    fn whole(&self, conversation: &Conversation, beats: &[Beat], used: Used) -> Value;
    /// Writes a streamed answer.
    fn encoder(&self, conversation: &Conversation, used: Used) -> Box<dyn Encoder>;
    /// The body of an error.
    fn error(&self, failure: &Failure) -> Value;
}

/// Writes one streamed answer as server-sent events; each method returns the bytes to send.
pub(super) trait Encoder: Send {
    /// What comes before the first beat.
    fn start(&mut self) -> String;
    /// One beat. Pauses, gates and cuts are the server's affair: they give nothing.
    fn beat(&mut self, beat: &Beat) -> String;
    /// What comes after the last beat.
    fn end(&mut self) -> String;
}

/// What a request wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Call {
    /// An answer of the model.
    Answer,
    /// The number of tokens.
    Count,
}

/// The token usage to report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Used {
    pub(super) input: u64,
    pub(super) output: u64,
    pub(super) cached: u64,
}

impl Used {
    /// What the script says, else counted from the bytes of the request and of the answer.
    pub(super) fn by(plan: &Plan, beats: &[Beat], request_bytes: usize) -> Self {
        let answer_bytes = beats.iter().map(|beat| match beat {
            Beat::Text(text) => text.len(),
            Beat::Call(call) => call.input.to_string().len(),
            _ => 0,
        });
        Self {
            input: plan.usage.input.unwrap_or_else(|| tokens(request_bytes)),
            output: plan.usage.output.unwrap_or_else(|| tokens(answer_bytes.sum())),
            cached: plan.usage.cached.unwrap_or(0),
        }
    }
}

/// All that the server speaks.
pub(super) static APIS: [&dyn Api; 1] = [&super::anthropic::Anthropic];

/// One server-sent event.
pub(super) fn event(name: &str, data: &Value) -> String {
    format!("event: {name}\ndata: {data}\n\n")
}

/// A fresh identifier.
pub(super) fn id(prefix: &str) -> String {
    let random = uuid::Uuid::new_v4().simple().to_string();
    format!("{prefix}_{random}")
}
