//! The Gemini API: content streamed and whole, and its token counting.

use serde_json::{Value, json};

use super::api::{Api, Call, Encoder, Used, data, id};
use super::conversation::{Conversation, flat};
use super::plan::{Beat, Failure};
use super::tool_call::Tool;

#[derive(Debug)]
pub(super) struct Gemini;

impl Api for Gemini {
    fn name(&self) -> &'static str {
        "gemini"
    }

    fn call(&self, path: &str) -> Option<Call> {
        match model_and_method(path)?.1 {
            "generateContent" | "streamGenerateContent" => Some(Call::Answer),
            "countTokens" => Some(Call::Count),
            _ => None,
        }
    }

    fn read(&self, path: &str, body: &Value) -> Conversation {
        let (model, method) = model_and_method(path).unwrap_or_default();
        let generation = &body["generationConfig"];
        let json_wanted = generation["responseMimeType"] == "application/json";
        let mut conversation = Conversation {
            model: model.to_owned(),
            stream: method == "streamGenerateContent",
            system: flat(&body["systemInstruction"]["parts"]),
            schema: [&generation["responseJsonSchema"], &generation["responseSchema"]]
                .into_iter()
                .find(|schema| schema.is_object())
                .cloned()
                .or_else(|| json_wanted.then(|| json!({ "type": "object", "properties": {} }))),
            ..Conversation::default()
        };
        let sets = body["tools"].as_array().into_iter().flatten();
        let functions = sets.flat_map(|set| set["functionDeclarations"].as_array()).flatten();
        for function in functions {
            let Some(name) = function["name"].as_str() else { continue };
            let schemas = [&function["parametersJsonSchema"], &function["parameters"]];
            let schema = schemas.into_iter().find(|schema| schema.is_object());
            let tool = Tool::Function(schema.cloned().unwrap_or_default());
            conversation.tools.insert(name.to_owned(), tool);
        }
        for content in body["contents"].as_array().into_iter().flatten() {
            read_content(&mut conversation, content);
        }
        conversation
    }

    fn count(&self, tokens: u64) -> Value {
        json!({ "totalTokens": tokens })
    }

    fn whole(&self, conversation: &Conversation, beats: &[Beat], used: Used) -> Value {
        let mut parts: Vec<Value> = Vec::new();
        for part in beats.iter().filter_map(part) {
            let alike = |last: &&mut Value| {
                part["text"].is_string()
                    && last["text"].is_string()
                    && last["thought"] == part["thought"]
            };
            match parts.last_mut().filter(alike) {
                Some(last) => last["text"] = json!(join(&last["text"], &part["text"])),
                None => parts.push(part),
            }
        }
        Responses::new(conversation, used).response(&parts, true)
    }

    fn encoder(&self, conversation: &Conversation, used: Used) -> Box<dyn Encoder> {
        Box::new(Responses::new(conversation, used))
    }

    fn error(&self, failure: &Failure) -> Value {
        let status = failure.kind.as_deref().unwrap_or(match failure.status {
            400 => "INVALID_ARGUMENT",
            401 => "UNAUTHENTICATED",
            403 => "PERMISSION_DENIED",
            404 => "NOT_FOUND",
            429 => "RESOURCE_EXHAUSTED",
            499 => "CANCELLED",
            500 => "INTERNAL",
            503 => "UNAVAILABLE",
            504 => "DEADLINE_EXCEEDED",
            _ => "UNKNOWN",
        });
        json!({ "error": { "code": failure.status, "message": failure.message, "status": status } })
    }
}

/// What stands in a path like `/v1beta/models/MODEL:METHOD`.
fn model_and_method(path: &str) -> Option<(&str, &str)> {
    let path = path.split('?').next().unwrap_or_default().trim_end_matches('/');
    path.rsplit_once("/models/")?.1.split_once(':')
}

fn join(one: &Value, other: &Value) -> String {
    [one, other].into_iter().filter_map(Value::as_str).collect()
}

fn read_content(conversation: &mut Conversation, content: &Value) {
    let parts: Vec<&Value> = content["parts"].as_array().into_iter().flatten().collect();
    let texts = parts.iter().filter(|part| part["thought"] != true);
    let texts: Vec<String> =
        texts.filter_map(|part| part["text"].as_str()).map(str::to_owned).collect();
    if content["role"] == "model" {
        return conversation.assistant(&texts.join("\n"));
    }
    let responses = parts.iter().filter(|part| part["functionResponse"].is_object());
    let results = responses.map(|part| flat(&part["functionResponse"]["response"])).collect();
    conversation.user(texts, results);
}

/// The part of a content that a beat makes.
fn part(beat: &Beat) -> Option<Value> {
    match beat {
        Beat::Text(text) => Some(json!({ "text": text })),
        Beat::Thinking(text) => Some(json!({ "text": text, "thought": true })),
        Beat::Call(call) => {
            Some(json!({ "functionCall": { "name": call.name, "args": call.input } }))
        }
        Beat::Wait(_) | Beat::Gate(_) | Beat::Cut | Beat::Fail(_) => None,
    }
}

/// A stream of responses, each with the next parts.
struct Responses {
    id: String,
    model: String,
    used: Used,
    failed: bool,
}

impl Responses {
    fn new(conversation: &Conversation, used: Used) -> Self {
        Self { id: id("resp"), model: conversation.model.clone(), used, failed: false }
    }

    fn response(&self, parts: &[Value], last: bool) -> Value {
        let mut candidate = json!({ "content": { "role": "model", "parts": parts }, "index": 0 });
        if last {
            candidate["finishReason"] = json!("STOP");
        }
        json!({
            "candidates": [candidate], "usageMetadata": self.usage(last),
            "modelVersion": self.model, "responseId": self.id
        })
    }

    /// Here the prompt includes what was cached, but the candidates not what was thought.
    fn usage(&self, last: bool) -> Value {
        let Used { input, output, cached, reasoning } = self.used;
        let prompt = input + cached;
        if !last {
            return json!({ "promptTokenCount": prompt, "totalTokenCount": prompt });
        }
        json!({
            "promptTokenCount": prompt, "cachedContentTokenCount": cached, "thoughtsTokenCount": reasoning,
            "candidatesTokenCount": output - reasoning, "totalTokenCount": prompt + output
        })
    }
}

impl Encoder for Responses {
    fn start(&mut self) -> String {
        String::new()
    }

    fn beat(&mut self, beat: &Beat) -> String {
        if let Beat::Fail(kind) = beat {
            self.failed = true;
            let status = kind.as_deref().unwrap_or("UNAVAILABLE");
            let error = json!({ "code": 503, "message": "fake stream error", "status": status });
            // Google's own client sees an error only in a chunk that is bare JSON.
            return json!({ "error": error }).to_string();
        }
        part(beat).map_or_else(String::new, |part| data(&self.response(&[part], false)))
    }

    fn end(&mut self) -> String {
        if self.failed {
            return String::new();
        }
        data(&self.response(&[json!({ "text": "" })], true))
    }
}
