//! What one model API has to provide: its paths, its requests, its answers. Everything else is shared.

use serde_json::{Value, json};

use super::conversation::{Conversation, flat};
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

/// The token usage to report; APIs differ in what they add together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Used {
    /// Without what was cached.
    pub(super) input: u64,
    /// With what was thought.
    pub(super) output: u64,
    pub(super) cached: u64,
    /// What of the output was thought.
    pub(super) reasoning: u64,
}

impl Used {
    /// What the script says, else counted from the bytes of the request and of the answer.
    pub(super) fn by(plan: &Plan, beats: &[Beat], request_bytes: usize) -> Self {
        let (mut said, mut thought) = (0, 0);
        for beat in beats {
            match beat {
                Beat::Text(text) => said += text.len(),
                Beat::Call(call) => said += call.input.to_string().len(),
                Beat::Thinking(text) => thought += text.len(),
                _ => {}
            }
        }
        let reasoning = if thought == 0 { 0 } else { tokens(thought) };
        let output = plan.usage.output.unwrap_or_else(|| tokens(said) + reasoning);
        Self {
            input: plan.usage.input.unwrap_or_else(|| tokens(request_bytes)),
            output,
            cached: plan.usage.cached.unwrap_or(0),
            reasoning: reasoning.min(output),
        }
    }
}

/// All that the server speaks.
pub(super) static APIS: [&dyn Api; 4] = [
    &super::anthropic::Anthropic,
    &super::openai_responses::OpenaiResponses,
    &super::openai_chat::OpenaiChat,
    &super::gemini::Gemini,
];

/// One server-sent event.
pub(super) fn event(name: &str, data: &Value) -> String {
    format!("event: {name}\ndata: {data}\n\n")
}

/// One server-sent event without a name.
pub(super) fn data(data: &Value) -> String {
    format!("data: {data}\n\n")
}

/// The body of an error as both APIs of OpenAI have it.
pub(super) fn openai_error(failure: &Failure) -> Value {
    let (kind, code) = match failure.status {
        401 => ("invalid_request_error", Some("invalid_api_key")),
        429 => ("rate_limit_error", Some("rate_limit_exceeded")),
        status if status < 500 => ("invalid_request_error", None),
        _ => ("server_error", None),
    };
    // Some kinds are told by the type, some by the code: what the script says is both.
    let given = failure.kind.as_deref();
    json!({ "error": {
        "message": failure.message, "type": given.unwrap_or(kind), "param": null, "code": given.or(code)
    } })
}

/// The texts of a content that is one text or a list of parts.
pub(super) fn pieces(content: &Value) -> Vec<String> {
    match content {
        Value::Array(parts) => parts.iter().map(flat).collect(),
        one => vec![flat(one)],
    }
}

/// A fresh identifier.
pub(super) fn id(prefix: &str) -> String {
    let random = uuid::Uuid::new_v4().simple().to_string();
    format!("{prefix}_{random}")
}
