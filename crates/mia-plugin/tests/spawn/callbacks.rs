//! The page's five callbacks.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mia_api::{DispatchResult, ErrorCode, PluginError, ToolCallInfo, ToolResultInfo};
use mia_plugin::{DispatchCallbacks, dispatch_with_callbacks};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::toy::{DONE, call, result, say, text};
use crate::world::World;

/// Writes down each call, then panics or sleeps.
#[derive(Clone, Default)]
struct Recorder {
    calls: Arc<Mutex<Vec<String>>>,
    panics: bool,
    sleeps: Option<Duration>,
}

impl Recorder {
    fn note(&self, call: String) {
        self.calls.lock().unwrap().push(call);
        if let Some(time) = self.sleeps {
            std::thread::sleep(time);
        }
        assert!(!self.panics, "a callback panics");
    }

    fn calls(&self) -> Vec<String> {
        self.calls.lock().unwrap().clone()
    }
}

impl DispatchCallbacks for Recorder {
    fn on_token(&mut self, token: &str) {
        self.note(format!("token {token}"));
    }
    fn on_tool_call(&mut self, tool: &ToolCallInfo) {
        self.note(format!("call {}", tool.id));
    }
    fn on_tool_result(&mut self, result: &ToolResultInfo) {
        self.note(format!("result {} {}", result.id, result.name));
    }
    fn on_complete(&mut self, result: &DispatchResult) {
        self.note(format!("complete {}", result.content));
    }
    fn on_error(&mut self, error: &PluginError) {
        self.note(format!("error {}", error.code));
    }
}

fn script() -> String {
    let sub = say(&json!({"t": "sub", "p": "1", "x": "of a sub-agent"}));
    [&text("a"), &call("1"), &sub, &result("1", "ok"), &text("b"), DONE].concat()
}

const ALL: [&str; 5] = ["token a", "call 1", "result 1 tool-1", "token b", "complete ab"];

#[tokio::test]
async fn m_005_the_callbacks_are_a_view_of_the_events() {
    let world = World::new(&script()).await;
    let recorder = Recorder::default();
    let outcome =
        dispatch_with_callbacks(&*world.plugin, world.dispatch("x"), recorder.clone()).await;
    assert_eq!(outcome.unwrap().content, "ab");
    assert_eq!(recorder.calls(), ALL);
}

#[tokio::test]
async fn m_005_callbacks_that_panic_or_sleep_change_nothing_else() {
    let world = World::new(&script()).await;
    for recorder in [
        Recorder { panics: true, ..Recorder::default() },
        Recorder { sleeps: Some(Duration::from_millis(20)), ..Recorder::default() },
    ] {
        // Another dispatch at the same time, on the same plugin and the same thread.
        let other = Recorder::default();
        let (first, second) = tokio::join!(
            dispatch_with_callbacks(&*world.plugin, world.dispatch("x"), recorder.clone()),
            dispatch_with_callbacks(&*world.plugin, world.dispatch("y"), other.clone()),
        );
        assert_eq!((first.unwrap().content, second.unwrap().content), ("ab".into(), "ab".into()));
        assert_eq!(recorder.calls(), ALL);
        assert_eq!(other.calls(), ALL);
    }
}

#[tokio::test]
async fn m_005_a_failure_is_told_last_and_once() {
    let world = World::new(&[&text("a"), "exit 3"].concat()).await;
    for panics in [false, true] {
        let recorder = Recorder { panics, ..Recorder::default() };
        let outcome =
            dispatch_with_callbacks(&*world.plugin, world.dispatch("x"), recorder.clone()).await;
        assert_eq!(outcome.unwrap_err().code, ErrorCode::ProcessExit);
        assert_eq!(recorder.calls(), ["token a", "error PROCESS_EXIT"]);
    }
}

#[tokio::test]
async fn m_008_a_plugin_that_panics_is_a_failure_of_its_dispatch() {
    let world = World::new(&[&text("a"), &say(&json!({"t": "panic"})), "hang"].concat()).await;
    let recorder = Recorder::default();
    let outcome =
        dispatch_with_callbacks(&*world.plugin, world.dispatch("x"), recorder.clone()).await;
    assert_eq!(outcome.unwrap_err().cause, Some(mia_api::Cause::Panic));
    assert_eq!(recorder.calls().last().unwrap(), "error UNKNOWN");
    assert_eq!(mia_plugin::CodingPlugin::running_task_count(&*world.plugin), 0);
    world.all_gone().await;
}
