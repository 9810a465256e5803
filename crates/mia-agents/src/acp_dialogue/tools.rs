//! Tool calls, put together from their updates.

use std::collections::{HashMap, HashSet, VecDeque};

use mia_acp::from_update;
use mia_api::{EventBody, ToolCallInfo, ToolContent, ToolStatus};
use serde_json::{Map, Value, json};

/// How many calls may be open.
const OPEN: usize = 10_000;
/// How many calls that have ended are remembered.
const ENDED: usize = 1000;

/// What an update says of its call.
#[derive(Debug, PartialEq)]
pub(crate) enum Told {
    /// The model writes the call: its input is not known yet.
    Announced(String),
    /// It is called.
    Called(ToolCallInfo),
    /// What it has produced so far.
    Output(String, Vec<ToolContent>),
    /// It has ended.
    Ended { id: String, name: String, input: Value, output: String, failed: bool },
}

/// The calls that are open.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tools {
    open: HashMap<String, Call>,
    ended: Ended,
}

/// The ids of the calls that ended last.
#[derive(Debug, Clone, Default)]
struct Ended {
    ids: HashSet<String>,
    order: VecDeque<String>,
}

impl Ended {
    fn insert(&mut self, id: &str) {
        if !self.ids.insert(id.to_owned()) {
            return;
        }
        self.order.push_back(id.to_owned());
        if self.order.len() > ENDED
            && let Some(oldest) = self.order.pop_front()
        {
            self.ids.remove(&oldest);
        }
    }
}

#[derive(Debug, Clone, Default)]
struct Call {
    /// What was said of it so far, later members in the place of earlier ones.
    members: Map<String, Value>,
    called: bool,
}

impl Tools {
    /// Takes an update. A call counts as called when its input is complete: when it is said to run
    /// or to have ended.
    pub(crate) fn update(&mut self, mut update: Map<String, Value>) -> Vec<Told> {
        let mut told = Vec::new();
        let Some(id) = update.get("toolCallId").and_then(Value::as_str).map(str::to_owned) else {
            return told;
        };
        if !self.open.contains_key(&id)
            && (self.open.len() >= OPEN || self.ended.ids.contains(&id) && !begins(&update))
        {
            return told;
        }
        let content = update.remove("content").unwrap_or_default();
        let raw_output = update.remove("rawOutput").unwrap_or_default();
        let is_new = !self.open.contains_key(&id);
        let call = self.open.entry(id.clone()).or_default();
        if is_new && !update.contains_key("name") {
            // ACP has no member for it in version 1; a call that has no input yet is titled by it.
            let name = update.get("title").cloned().unwrap_or_default();
            call.members.insert("name".to_owned(), name);
        }
        call.members.extend(update);
        let status = match call.members.get("status").and_then(Value::as_str) {
            Some("in_progress") => ToolStatus::InProgress,
            Some("completed") => ToolStatus::Completed,
            Some("failed") => ToolStatus::Failed,
            _ => ToolStatus::Pending,
        };
        if status == ToolStatus::Pending {
            if is_new {
                told.push(Told::Announced(id));
            }
            return told;
        }
        if !call.called {
            call.called = true;
            told.push(Told::Called(info(&id, &call.members)));
        } else if status == ToolStatus::InProgress {
            let content = produced(&content);
            if !content.is_empty() {
                told.push(Told::Output(id.clone(), content));
            }
        }
        if matches!(status, ToolStatus::Completed | ToolStatus::Failed) {
            let mut members = self.open.remove(&id).unwrap_or_default().members;
            self.ended.insert(&id);
            let name = members.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
            let input = members.remove("rawInput").unwrap_or_default();
            let output = output(&content, raw_output);
            told.push(Told::Ended {
                id,
                name,
                input,
                output,
                failed: status == ToolStatus::Failed,
            });
        }
        told
    }

    /// The input of an open call, once it is known.
    pub(crate) fn input(&self, id: &str) -> Option<&Value> {
        let call = self.open.get(id).filter(|call| call.called)?;
        call.members.get("rawInput")
    }

    /// The name of an open call's tool.
    pub(crate) fn name(&self, id: &str) -> Option<&str> {
        self.open.get(id)?.members.get("name")?.as_str()
    }
}

/// Whether an update begins a call. Some providers number the calls of each answer from the start
/// again, so an id that has ended may be that of a new call.
fn begins(update: &Map<String, Value>) -> bool {
    let text = |name: &str| update.get(name).and_then(Value::as_str).unwrap_or_default();
    text("sessionUpdate") == "tool_call" && !matches!(text("status"), "completed" | "failed")
}

fn info(id: &str, members: &Map<String, Value>) -> ToolCallInfo {
    let mut whole = members.clone();
    whole.insert("sessionUpdate".to_owned(), "tool_call".into());
    if !whole.get("title").is_some_and(Value::is_string) {
        whole.insert("title".to_owned(), "".into());
    }
    match from_update(&Value::Object(whole)) {
        EventBody::ToolCall(call) => ToolCallInfo { raw: None, ..call },
        _ => ToolCallInfo { id: id.to_owned(), ..ToolCallInfo::default() },
    }
}

/// What an update's `content` holds.
fn produced(content: &Value) -> Vec<ToolContent> {
    let kind = "tool_call_update";
    let update = json!({"sessionUpdate": kind, "toolCallId": "", "content": content});
    match from_update(&update) {
        EventBody::ToolUpdate { content, .. } => content,
        _ => Vec::new(),
    }
}

/// What the tool says that it has done: the texts of its content, else its raw output.
fn output(content: &Value, raw: Value) -> String {
    let blocks = content.as_array().map_or(&[][..], Vec::as_slice);
    let texts = blocks.iter().filter_map(|block| block.pointer("/content/text")?.as_str());
    let text = texts.collect::<Vec<_>>().join("\n");
    match raw {
        Value::String(raw) if text.is_empty() => raw,
        raw @ (Value::Object(_) | Value::Array(_)) if text.is_empty() => raw.to_string(),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use mia_api::ToolKind;
    use pretty_assertions::assert_eq;

    use super::*;

    fn take(tools: &mut Tools, update: Value) -> Vec<Told> {
        let Value::Object(update) = update else { panic!("no object") };
        tools.update(update)
    }

    #[test]
    fn a_call_is_told_with_its_whole_input_and_ends_once() {
        let mut tools = Tools::default();
        let call = json!({"sessionUpdate": "tool_call", "toolCallId": "1", "title": "bash", "kind": "execute", "status": "pending", "rawInput": {}});
        assert_eq!(take(&mut tools, call), [Told::Announced("1".into())]);
        assert_eq!((tools.input("1"), tools.name("1")), (None, Some("bash")));
        let runs = json!({"sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "in_progress", "title": "ls", "rawInput": {"command": "ls"}});
        let expected = ToolCallInfo {
            id: "1".into(),
            name: "bash".into(),
            title: "ls".into(),
            kind: ToolKind::Execute,
            input: json!({"command": "ls"}),
            ..ToolCallInfo::default()
        };
        assert_eq!(take(&mut tools, runs.clone()), [Told::Called(expected)]);
        assert_eq!(take(&mut tools, runs), []);
        let content = json!([{"type": "content", "content": {"type": "text", "text": "a"}}]);
        let ended = json!({"sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "failed", "content": content, "rawOutput": {"x": 1}});
        let told = Told::Ended {
            id: "1".into(),
            name: "bash".into(),
            input: json!({"command": "ls"}),
            output: "a".into(),
            failed: true,
        };
        assert_eq!(take(&mut tools, ended.clone()), [told]);
        assert_eq!(tools.name("1"), None);
        assert_eq!(take(&mut tools, ended), []);
        for late in ["in_progress", "completed"] {
            let late =
                json!({"sessionUpdate": "tool_call_update", "toolCallId": "1", "status": late});
            assert_eq!(take(&mut tools, late), []);
        }
        let again = json!({"sessionUpdate": "tool_call", "toolCallId": "1", "status": "failed"});
        assert_eq!(take(&mut tools, again), []);
    }

    #[test]
    fn a_new_call_may_have_the_id_of_one_that_has_ended() {
        let mut tools = Tools::default();
        for _ in 0..2 {
            let call = json!({"sessionUpdate": "tool_call", "toolCallId": "1", "title": "bash", "status": "pending"});
            assert_eq!(take(&mut tools, call), [Told::Announced("1".into())]);
            let ended = json!({"sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "completed"});
            assert_eq!(take(&mut tools, ended).len(), 2);
        }
    }

    #[test]
    fn no_more_than_so_many_ended_calls_are_remembered() {
        let mut ended = Ended::default();
        (0..ENDED + 7).for_each(|id| ended.insert(&id.to_string()));
        assert_eq!((ended.ids.len(), ended.order.len()), (ENDED, ENDED));
        assert!(ended.ids.contains(&ENDED.to_string()) && !ended.ids.contains("6"));
    }

    #[test]
    fn an_end_without_a_beginning_is_a_call_too() {
        let mut tools = Tools::default();
        let ended = json!({"sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "completed", "title": 7, "rawOutput": "text"});
        let told = take(&mut tools, ended);
        assert_eq!(told.len(), 2, "{told:?}");
        let Told::Ended { output, failed, .. } = &told[1] else { panic!("{told:?}") };
        assert_eq!((output.as_str(), *failed), ("text", false));
        assert_eq!(take(&mut tools, json!({"status": "failed"})), []);
    }
}
