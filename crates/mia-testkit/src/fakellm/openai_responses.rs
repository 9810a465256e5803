//! The OpenAI Responses API, streamed and whole.

use serde_json::{Map, Value, json};

use super::api::{Api, Call, Encoder, Used, event, id, openai_error, pieces};
use super::conversation::{Conversation, flat};
use super::plan::{Beat, Failure};
use super::tool_call::{Tool, ToolCall};

/// What a reasoning item was encrypted to; clients send it back and nobody reads it.
const ENCRYPTED: &str = "ZmFrZQ==";

#[derive(Debug)]
pub(super) struct OpenaiResponses;

impl Api for OpenaiResponses {
    fn name(&self) -> &'static str {
        "openai-responses"
    }

    fn call(&self, path: &str) -> Option<Call> {
        path.trim_end_matches('/').ends_with("/responses").then_some(Call::Answer)
    }

    fn read(&self, _path: &str, body: &Value) -> Conversation {
        let mut conversation = Conversation {
            model: text_of(&body["model"]),
            stream: body["stream"] == true,
            system: flat(&body["instructions"]),
            schema: Some(&body["text"]["format"])
                .filter(|format| format["type"] == "json_schema")
                .map(|format| format["schema"].clone()),
            ..Conversation::default()
        };
        for tool in body["tools"].as_array().into_iter().flatten() {
            read_tool(&mut conversation, tool);
        }
        match &body["input"] {
            Value::String(text) => conversation.user(vec![text.clone()], Vec::new()),
            input => {
                for item in input.as_array().into_iter().flatten() {
                    read_item(&mut conversation, item);
                }
            }
        }
        conversation
    }

    fn count(&self, tokens: u64) -> Value {
        json!({ "object": "response.input_tokens", "input_tokens": tokens })
    }

    fn whole(&self, conversation: &Conversation, beats: &[Beat], used: Used) -> Value {
        let mut items = Items::new(conversation, used);
        for beat in beats {
            items.beat(beat);
        }
        items.close();
        items.response("completed")
    }

    fn encoder(&self, conversation: &Conversation, used: Used) -> Box<dyn Encoder> {
        Box::new(Items::new(conversation, used))
    }

    fn error(&self, failure: &Failure) -> Value {
        openai_error(failure)
    }
}

fn text_of(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn read_tool(conversation: &mut Conversation, tool: &Value) {
    let kind = text_of(&tool["type"]);
    let name = tool["name"].as_str().unwrap_or(&kind).to_owned();
    match kind.as_str() {
        // Tools of a namespace are called by both names; a dot can't be part of either.
        "namespace" => {
            for inner in tool["tools"].as_array().into_iter().flatten() {
                let full = format!("{name}.{}", text_of(&inner["name"]));
                conversation.tools.insert(full, Tool::Function(inner["parameters"].clone()));
            }
        }
        "custom" => drop(conversation.tools.insert(name, Tool::Freeform)),
        "local_shell" => drop(conversation.tools.insert(name, Tool::LocalShell)),
        _ => drop(conversation.tools.insert(name, Tool::Function(tool["parameters"].clone()))),
    }
}

fn read_item(conversation: &mut Conversation, item: &Value) {
    let kind = item["type"].as_str().unwrap_or("message");
    match (kind, item["role"].as_str()) {
        ("message", Some("assistant")) => conversation.assistant(&flat(&item["content"])),
        ("message", Some("system" | "developer")) => {
            conversation.instruction(&flat(&item["content"]));
        }
        ("message", _) => conversation.user(pieces(&item["content"]), Vec::new()),
        ("reasoning", _) => conversation.assistant(""),
        _ if kind.ends_with("_output") => conversation.result(flat(&item["output"])),
        _ if kind.ends_with("_call") => conversation.assistant(""),
        _ => {}
    }
}

/// The output items of a response; each method returns the events that tell of what it did.
struct Items {
    response: String,
    model: String,
    used: Used,
    done: Vec<Value>,
    open: Option<Open>,
    local_shells: Vec<String>,
    custom: Vec<String>,
    sequence: u64,
    failed: bool,
}

/// The item that is being written.
struct Open {
    id: String,
    kind: Kind,
    text: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Message,
    Reasoning,
}

impl Kind {
    fn item(self, id: &str, status: &str, part: Option<Value>) -> Value {
        let parts: Vec<Value> = part.into_iter().collect();
        match self {
            Self::Message => {
                json!({ "type": "message", "id": id, "role": "assistant", "status": status, "content": parts })
            }
            Self::Reasoning => {
                json!({ "type": "reasoning", "id": id, "summary": parts, "encrypted_content": ENCRYPTED })
            }
        }
    }

    fn part(self, text: &str) -> Value {
        match self {
            Self::Message => json!({ "type": "output_text", "text": text, "annotations": [] }),
            Self::Reasoning => json!({ "type": "summary_text", "text": text }),
        }
    }

    /// Beginnings of the events about the part and about its text, and the member with the part's place.
    fn events(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Message => ("response.content_part", "response.output_text", "content_index"),
            Self::Reasoning => (
                "response.reasoning_summary_part",
                "response.reasoning_summary_text",
                "summary_index",
            ),
        }
    }
}

impl Items {
    fn new(conversation: &Conversation, used: Used) -> Self {
        let named = |wanted: &Tool| {
            let tools = conversation.tools.iter().filter(|(_, tool)| *tool == wanted);
            tools.map(|(name, _)| name.clone()).collect()
        };
        Self {
            response: id("resp"),
            model: conversation.model.clone(),
            used,
            done: Vec::new(),
            open: None,
            local_shells: named(&Tool::LocalShell),
            custom: named(&Tool::Freeform),
            sequence: 0,
            failed: false,
        }
    }

    fn response(&self, status: &str) -> Value {
        let Used { input, output, cached, reasoning } = self.used;
        // Here the input includes what was cached, and the output what was thought.
        let usage = (status == "completed").then(|| {
            json!({
                "input_tokens": input + cached, "input_tokens_details": { "cached_tokens": cached },
                "output_tokens": output, "output_tokens_details": { "reasoning_tokens": reasoning },
                "total_tokens": input + cached + output
            })
        });
        json!({
            "id": self.response, "object": "response", "created_at": 1, "status": status, "model": self.model,
            "output": self.done, "usage": usage, "error": null, "incomplete_details": null,
            "parallel_tool_calls": true, "tool_choice": "auto", "tools": []
        })
    }

    fn event(&mut self, kind: &str, members: Value) -> String {
        let mut data = Map::from_iter([
            ("type".to_owned(), json!(kind)),
            ("sequence_number".to_owned(), json!(self.sequence)),
        ]);
        self.sequence += 1;
        if let Value::Object(members) = members {
            data.extend(members);
        }
        event(kind, &Value::Object(data))
    }

    /// An event about the item that is being written.
    fn of_item(&mut self, kind: &str, item: &str, members: Value) -> String {
        let mut all = json!({ "item_id": item, "output_index": self.done.len() });
        if let (Value::Object(all), Value::Object(members)) = (&mut all, members) {
            all.extend(members);
        }
        self.event(kind, all)
    }

    fn added(&mut self, item: &Value) -> String {
        let index = self.done.len();
        self.event("response.output_item.added", json!({ "output_index": index, "item": item }))
    }

    fn item_done(&mut self, item: Value) -> String {
        let index = self.done.len();
        let members = json!({ "output_index": index, "item": item });
        let event = self.event("response.output_item.done", members);
        self.done.push(item);
        event
    }

    fn text(&mut self, kind: Kind, piece: &str) -> String {
        let (part_events, text_events, place) = kind.events();
        let mut events = String::new();
        if self.open.as_ref().is_none_or(|open| open.kind != kind) {
            events += &self.close();
            let id = id(if kind == Kind::Message { "msg" } else { "rs" });
            events += &self.added(&kind.item(&id, "in_progress", None));
            let members = json!({ place: 0, "part": kind.part("") });
            events += &self.of_item(&format!("{part_events}.added"), &id, members);
            self.open = Some(Open { id, kind, text: String::new() });
        }
        let id = self.open.as_mut().map(|open| {
            open.text.push_str(piece);
            open.id.clone()
        });
        let members = json!({ place: 0, "delta": piece });
        events + &self.of_item(&format!("{text_events}.delta"), &id.unwrap_or_default(), members)
    }

    fn close(&mut self) -> String {
        let Some(Open { id, kind, text }) = self.open.take() else {
            return String::new();
        };
        let (part_events, text_events, place) = kind.events();
        let part = kind.part(&text);
        self.of_item(&format!("{text_events}.done"), &id, json!({ place: 0, "text": text }))
            + &self.of_item(&format!("{part_events}.done"), &id, json!({ place: 0, "part": part }))
            + &self.item_done(kind.item(&id, "completed", Some(part)))
    }

    fn call(&mut self, call: &ToolCall) -> String {
        let mut events = self.close();
        let call_id = id("call");
        if self.local_shells.contains(&call.name) {
            let item = json!({
                "type": "local_shell_call", "id": id("lsh"), "call_id": call_id, "status": "completed", "action": call.input
            });
            events += &self.added(&item);
            return events + &self.item_done(item);
        }
        let custom = self.custom.contains(&call.name);
        let (kind, prefix, member) = if custom {
            ("custom_tool_call", "ctc", "input")
        } else {
            ("function_call", "fc", "arguments")
        };
        let item_id = id(prefix);
        let input = call.input.as_str().map_or_else(|| call.input.to_string(), str::to_owned);
        let mut item = json!({
            "type": kind, "id": item_id, "call_id": call_id, "name": call.name, "status": "in_progress", member: ""
        });
        if let Some((namespace, name)) = call.name.split_once('.') {
            item["namespace"] = json!(namespace);
            item["name"] = json!(name);
        }
        events += &self.added(&item);
        let about = format!("response.{kind}_{member}");
        events += &self.of_item(&format!("{about}.delta"), &item_id, json!({ "delta": input }));
        events += &self.of_item(&format!("{about}.done"), &item_id, json!({ member: input }));
        item["status"] = json!("completed");
        item[member] = json!(input);
        events + &self.item_done(item)
    }

    fn fail(&mut self, kind: Option<&str>) -> String {
        self.failed = true;
        let mut response = self.response("failed");
        let code = kind.unwrap_or("server_error");
        response["error"] = json!({ "code": code, "message": "fake stream error" });
        self.event("response.failed", json!({ "response": response }))
    }
}

impl Encoder for Items {
    fn start(&mut self) -> String {
        let response = self.response("in_progress");
        self.event("response.created", json!({ "response": response }))
            + &self.event("response.in_progress", json!({ "response": response }))
    }

    fn beat(&mut self, beat: &Beat) -> String {
        match beat {
            Beat::Text(text) => self.text(Kind::Message, text),
            Beat::Thinking(text) => self.text(Kind::Reasoning, text),
            Beat::Call(call) => self.call(call),
            Beat::Fail(kind) => self.fail(kind.as_deref()),
            Beat::Wait(_) | Beat::Gate(_) | Beat::Cut => String::new(),
        }
    }

    fn end(&mut self) -> String {
        if self.failed {
            return String::new();
        }
        let events = self.close();
        let response = self.response("completed");
        events + &self.event("response.completed", json!({ "response": response }))
    }
}
