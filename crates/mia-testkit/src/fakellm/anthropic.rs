//! The Anthropic Messages API, streamed and whole, and its token counting.

use serde_json::{Value, json};

use super::api::{Api, Call, Encoder, Used, event, id};
use super::conversation::{Conversation, flat};
use super::plan::{Beat, Failure};
use super::tool_call::{Tool, ToolCall};

/// Input of a tool comes in pieces of so many characters.
const INPUT_PIECE: usize = 40;
/// A thinking block needs a signature, which clients send back and nobody checks.
const SIGNATURE: &str = "ZmFrZQ==";

#[derive(Debug)]
pub(super) struct Anthropic;

impl Api for Anthropic {
    fn name(&self) -> &'static str {
        "anthropic"
    }

    fn call(&self, path: &str) -> Option<Call> {
        let path = path.trim_end_matches('/');
        if path.ends_with("/messages") {
            Some(Call::Answer)
        } else if path.ends_with("/messages/count_tokens") {
            Some(Call::Count)
        } else {
            None
        }
    }

    fn read(&self, _path: &str, body: &Value) -> Conversation {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let tools = body["tools"].as_array().into_iter().flatten();
        let format = [&body["output_config"]["format"], &body["output_format"]]
            .into_iter()
            .find(|format| format["type"] == "json_schema");
        let mut conversation = Conversation {
            model: text(&body["model"]),
            stream: body["stream"] == true,
            system: flat(&body["system"]),
            tools: tools
                .map(|tool| (text(&tool["name"]), Tool::Function(tool["input_schema"].clone())))
                .collect(),
            schema: format.map(|format| format["schema"].clone()),
            ..Conversation::default()
        };
        for message in body["messages"].as_array().into_iter().flatten() {
            read_message(&mut conversation, message);
        }
        conversation
    }

    fn count(&self, tokens: u64) -> Value {
        json!({ "input_tokens": tokens })
    }

    fn whole(&self, conversation: &Conversation, beats: &[Beat], used: Used) -> Value {
        let mut content: Vec<Value> = Vec::new();
        for beat in beats {
            let (kind, text) = match beat {
                Beat::Text(text) => ("text", text),
                Beat::Thinking(text) => ("thinking", text),
                Beat::Call(call) => {
                    content.push(json!({ "type": "tool_use", "id": id("toolu"), "name": call.name, "input": call.input }));
                    continue;
                }
                _ => continue,
            };
            match content.last_mut().filter(|last| last["type"] == kind) {
                Some(last) => last[kind] = json!(text_of(&last[kind]) + text),
                None if kind == "text" => content.push(json!({ "type": kind, kind: text })),
                None => content.push(json!({ "type": kind, kind: text, "signature": SIGNATURE })),
            }
        }
        let calls = beats.iter().any(|beat| matches!(beat, Beat::Call(_)));
        let mut message = envelope(&conversation.model, used);
        message["content"] = Value::Array(content);
        message["stop_reason"] = json!(stop_reason(calls));
        message["usage"] = usage(used, used.output);
        message
    }

    fn encoder(&self, conversation: &Conversation, used: Used) -> Box<dyn Encoder> {
        Box::new(Blocks {
            model: conversation.model.clone(),
            used,
            index: 0,
            open: None,
            calls: false,
            failed: false,
        })
    }

    fn error(&self, failure: &Failure) -> Value {
        let kind = failure.kind.as_deref().unwrap_or(match failure.status {
            400 => "invalid_request_error",
            401 => "authentication_error",
            403 => "permission_error",
            404 => "not_found_error",
            413 => "request_too_large",
            429 => "rate_limit_error",
            529 => "overloaded_error",
            _ => "api_error",
        });
        json!({ "type": "error", "error": { "type": kind, "message": failure.message }, "request_id": id("req") })
    }
}

fn text_of(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn read_message(conversation: &mut Conversation, message: &Value) {
    let content = match &message["content"] {
        Value::String(text) => vec![json!({ "type": "text", "text": text })],
        Value::Array(blocks) => blocks.clone(),
        _ => Vec::new(),
    };
    let of_kind = |kind: &'static str| content.iter().filter(move |block| block["type"] == kind);
    let texts: Vec<String> = of_kind("text").map(|block| text_of(&block["text"])).collect();
    match message["role"].as_str() {
        Some("assistant") => conversation.assistant(&texts.join("\n")),
        Some("system") => conversation.instruction(&texts.join("\n")),
        _ => conversation
            .user(texts, of_kind("tool_result").map(|block| flat(&block["content"])).collect()),
    }
}

fn usage(used: Used, output: u64) -> Value {
    json!({
        "input_tokens": used.input, "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": used.cached, "output_tokens": output
    })
}

fn envelope(model: &str, used: Used) -> Value {
    json!({
        "id": id("msg"), "type": "message", "role": "assistant", "model": model, "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": usage(used, 1)
    })
}

fn stop_reason(calls: bool) -> &'static str {
    if calls { "tool_use" } else { "end_turn" }
}

/// A stream of content blocks: text and thinking stay open while they go on, a call is a block of its own.
struct Blocks {
    model: String,
    used: Used,
    index: usize,
    open: Option<&'static str>,
    calls: bool,
    failed: bool,
}

impl Blocks {
    fn event(data: &Value) -> String {
        event(data["type"].as_str().unwrap_or_default(), data)
    }

    fn open(&mut self, kind: &'static str, block: &Value) -> String {
        let mut events = self.close();
        self.open = Some(kind);
        events += &Self::event(
            &json!({ "type": "content_block_start", "index": self.index, "content_block": block }),
        );
        events
    }

    fn delta(&self, delta: &Value) -> String {
        Self::event(&json!({ "type": "content_block_delta", "index": self.index, "delta": delta }))
    }

    fn close(&mut self) -> String {
        let Some(kind) = self.open.take() else {
            return String::new();
        };
        let mut events = String::new();
        if kind == "thinking" {
            events += &self.delta(&json!({ "type": "signature_delta", "signature": SIGNATURE }));
        }
        events += &Self::event(&json!({ "type": "content_block_stop", "index": self.index }));
        self.index += 1;
        events
    }

    fn call(&mut self, call: &ToolCall) -> String {
        self.calls = true;
        let block =
            json!({ "type": "tool_use", "id": id("toolu"), "name": call.name, "input": {} });
        let mut events = self.open("tool_use", &block);
        let input: Vec<char> = call.input.to_string().chars().collect();
        for piece in input.chunks(INPUT_PIECE) {
            let piece: String = piece.iter().collect();
            events += &self.delta(&json!({ "type": "input_json_delta", "partial_json": piece }));
        }
        events + &self.close()
    }
}

impl Encoder for Blocks {
    fn start(&mut self) -> String {
        let message = envelope(&self.model, self.used);
        Self::event(&json!({ "type": "message_start", "message": message }))
            + &Self::event(&json!({ "type": "ping" }))
    }

    fn beat(&mut self, beat: &Beat) -> String {
        match beat {
            Beat::Text(text) => {
                let mut events = String::new();
                if self.open != Some("text") {
                    events += &self.open("text", &json!({ "type": "text", "text": "" }));
                }
                events + &self.delta(&json!({ "type": "text_delta", "text": text }))
            }
            Beat::Thinking(text) => {
                let mut events = String::new();
                if self.open != Some("thinking") {
                    events += &self.open(
                        "thinking",
                        &json!({ "type": "thinking", "thinking": "", "signature": "" }),
                    );
                }
                events + &self.delta(&json!({ "type": "thinking_delta", "thinking": text }))
            }
            Beat::Call(call) => self.call(call),
            Beat::Fail(kind) => {
                self.failed = true;
                let kind = kind.as_deref().unwrap_or("overloaded_error");
                Self::event(
                    &json!({ "type": "error", "error": { "type": kind, "message": "fake stream error" } }),
                )
            }
            Beat::Wait(_) | Beat::Gate(_) | Beat::Cut => String::new(),
        }
    }

    fn end(&mut self) -> String {
        if self.failed {
            return String::new();
        }
        let delta = json!({ "stop_reason": stop_reason(self.calls), "stop_sequence": null });
        self.close()
            + &Self::event(
                &json!({ "type": "message_delta", "delta": delta, "usage": usage(self.used, self.used.output) }),
            )
            + &Self::event(&json!({ "type": "message_stop" }))
    }
}
