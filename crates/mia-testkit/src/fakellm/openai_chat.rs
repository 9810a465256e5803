//! The OpenAI Chat Completions API, streamed and whole.

use serde_json::{Value, json};

use super::api::{Api, Call, Encoder, Used, data, id, openai_error, pieces};
use super::conversation::{Conversation, flat};
use super::plan::{Beat, Failure};
use super::tool_call::{Tool, ToolCall};

#[derive(Debug)]
pub(super) struct OpenaiChat;

impl Api for OpenaiChat {
    fn name(&self) -> &'static str {
        "openai-chat"
    }

    fn call(&self, path: &str) -> Option<Call> {
        path.trim_end_matches('/').ends_with("/chat/completions").then_some(Call::Answer)
    }

    fn read(&self, _path: &str, body: &Value) -> Conversation {
        let format = &body["response_format"];
        let schema = match format["type"].as_str() {
            Some("json_schema") => Some(format["json_schema"]["schema"].clone()),
            Some("json_object") => Some(json!({ "type": "object", "properties": {} })),
            _ => None,
        };
        let mut conversation = Conversation {
            model: body["model"].as_str().unwrap_or_default().to_owned(),
            stream: body["stream"] == true,
            streams_usage: body["stream_options"]["include_usage"] == true,
            schema,
            ..Conversation::default()
        };
        for tool in body["tools"].as_array().into_iter().flatten() {
            let function = &tool["function"];
            if let Some(name) = function["name"].as_str() {
                let tool = Tool::Function(function["parameters"].clone());
                conversation.tools.insert(name.to_owned(), tool);
            }
        }
        for message in body["messages"].as_array().into_iter().flatten() {
            let content = &message["content"];
            match message["role"].as_str() {
                // Only what stands before all else is the system prompt.
                Some("system" | "developer") if conversation.messages.is_empty() => {
                    conversation.system += &flat(content);
                }
                Some("system" | "developer") => conversation.instruction(&flat(content)),
                Some("assistant") => conversation.assistant(&flat(content)),
                Some("tool" | "function") => conversation.result(flat(content)),
                _ => conversation.user(pieces(content), Vec::new()),
            }
        }
        conversation
    }

    fn count(&self, tokens: u64) -> Value {
        json!({ "input_tokens": tokens })
    }

    fn whole(&self, conversation: &Conversation, beats: &[Beat], used: Used) -> Value {
        let (mut content, mut reasoning, mut calls) = (String::new(), String::new(), Vec::new());
        for beat in beats {
            match beat {
                Beat::Text(text) => content += text,
                Beat::Thinking(text) => reasoning += text,
                Beat::Call(call) => calls.push(tool_call(call)),
                _ => {}
            }
        }
        let finish = finish_reason(!calls.is_empty());
        let mut message = json!({ "role": "assistant", "content": content });
        if content.is_empty() {
            message["content"] = Value::Null;
        }
        if !reasoning.is_empty() {
            message["reasoning_content"] = json!(reasoning);
        }
        if !calls.is_empty() {
            message["tool_calls"] = Value::Array(calls);
        }
        json!({
            "id": id("chatcmpl"), "object": "chat.completion", "created": 1, "model": conversation.model,
            "choices": [{ "index": 0, "message": message, "finish_reason": finish }], "usage": usage(used)
        })
    }

    fn encoder(&self, conversation: &Conversation, used: Used) -> Box<dyn Encoder> {
        Box::new(Chunks {
            id: id("chatcmpl"),
            model: conversation.model.clone(),
            usage: conversation.streams_usage.then(|| usage(used)),
            calls: 0,
            failed: false,
        })
    }

    fn error(&self, failure: &Failure) -> Value {
        openai_error(failure)
    }
}

fn tool_call(call: &ToolCall) -> Value {
    let arguments = call.input.as_str().map_or_else(|| call.input.to_string(), str::to_owned);
    json!({ "id": id("call"), "type": "function", "function": { "name": call.name, "arguments": arguments } })
}

fn finish_reason(calls: bool) -> &'static str {
    if calls { "tool_calls" } else { "stop" }
}

/// Here the input includes what was cached, and the output what was thought.
fn usage(used: Used) -> Value {
    let input = used.input + used.cached;
    json!({
        "prompt_tokens": input, "completion_tokens": used.output, "total_tokens": input + used.output,
        "prompt_tokens_details": { "cached_tokens": used.cached },
        "completion_tokens_details": { "reasoning_tokens": used.reasoning }
    })
}

/// A stream of chunks.
struct Chunks {
    id: String,
    model: String,
    /// What to report at the end, if it was asked for.
    usage: Option<Value>,
    calls: usize,
    failed: bool,
}

impl Chunks {
    fn chunk(&self, choices: &Value, usage: Option<&Value>) -> String {
        let mut chunk = json!({
            "id": self.id, "object": "chat.completion.chunk", "created": 1, "model": self.model, "choices": choices
        });
        if let Some(usage) = usage {
            chunk["usage"] = usage.clone();
        }
        data(&chunk)
    }

    fn delta(&self, delta: &Value, finish: Option<&str>) -> String {
        self.chunk(&json!([{ "index": 0, "delta": delta, "finish_reason": finish }]), None)
    }

    fn call(&mut self, call: &ToolCall) -> String {
        let index = self.calls;
        self.calls += 1;
        let mut whole = tool_call(call);
        let arguments = std::mem::replace(&mut whole["function"]["arguments"], json!(""));
        whole["index"] = json!(index);
        let rest = json!({ "index": index, "function": { "arguments": arguments } });
        self.delta(&json!({ "tool_calls": [whole] }), None)
            + &self.delta(&json!({ "tool_calls": [rest] }), None)
    }
}

impl Encoder for Chunks {
    fn start(&mut self) -> String {
        self.delta(&json!({ "role": "assistant", "content": "" }), None)
    }

    fn beat(&mut self, beat: &Beat) -> String {
        match beat {
            Beat::Text(text) => self.delta(&json!({ "content": text }), None),
            Beat::Thinking(text) => self.delta(&json!({ "reasoning_content": text }), None),
            Beat::Call(call) => self.call(call),
            Beat::Fail(kind) => {
                self.failed = true;
                let kind = kind.as_deref().unwrap_or("server_error");
                data(
                    &json!({ "error": { "message": "fake stream error", "type": kind, "param": null, "code": kind } }),
                )
            }
            Beat::Wait(_) | Beat::Gate(_) | Beat::Cut => String::new(),
        }
    }

    fn end(&mut self) -> String {
        if self.failed {
            return String::new();
        }
        let mut chunks = self.delta(&json!({}), Some(finish_reason(self.calls > 0)));
        if let Some(usage) = &self.usage {
            chunks += &self.chunk(&json!([]), Some(usage));
        }
        chunks + "data: [DONE]\n\n"
    }
}
