//! What the server is going to do with one request.

use std::time::Duration;

use super::tool_call::ToolCall;

/// The answer to one request.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The directive that it follows; `AUX`, `DONE` or `NONE` where there is none.
    pub verb: String,
    /// Whether this is side work of the client.
    pub auxiliary: bool,
    /// A wait before everything else.
    pub delay: Duration,
    /// What to say.
    pub answer: Answer,
    /// The token usage that the script gives.
    pub usage: Usage,
}

/// How a request is answered.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// Not at all, for so long.
    Hang(Duration),
    /// By a status that is no success.
    Fail(Failure),
    /// By these, one after the other.
    Say(Vec<Beat>),
}

/// One thing that happens in an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Beat {
    /// A piece of text.
    Text(String),
    /// A piece of reasoning.
    Thinking(String),
    /// A tool call.
    Call(ToolCall),
    /// A pause.
    Wait(Duration),
    /// A hold until the test opens the gate.
    Gate(String),
    /// The connection is dropped.
    Cut,
    /// An error event of that type, or of the API's usual one, inside the stream, which ends there.
    Fail(Option<String>),
}

/// An HTTP error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The HTTP status.
    pub status: u16,
    /// The API's name for the kind of error; by status when not given.
    pub kind: Option<String>,
    /// What it says.
    pub message: String,
    /// The header `retry-after`, as given.
    pub retry_after: Option<String>,
}

/// Token usage; what isn't given is counted from the texts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Input tokens, without cached ones.
    pub input: Option<u64>,
    /// Output tokens, with what was thought.
    pub output: Option<u64>,
    /// Input tokens read from the cache.
    pub cached: Option<u64>,
}

/// About how many tokens a text has.
pub(super) fn tokens(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(4).max(1)
}
