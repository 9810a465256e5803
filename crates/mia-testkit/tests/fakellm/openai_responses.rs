//! The OpenAI Responses API as codex uses it.

use mia_testkit::fakellm::{FakeLlm, Role};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::client::{Client, body, events};

/// A request as codex makes it.
fn request(prompt: &str, later: &[Value]) -> Value {
    let said = |role: &str, text: &str| json!({ "type": "message", "role": role, "content": [{ "type": "input_text", "text": text }] });
    let mut input = vec![
        said("developer", "be good"),
        said("user", "<environment_context>\n<cwd>/</cwd>\n</environment_context>"),
        said("user", prompt),
    ];
    input.extend(later.iter().cloned());
    let command = json!({ "type": "object", "properties": { "cmd": { "type": "string" } }, "required": ["cmd"] });
    let tools = json!([
        { "type": "function", "name": "exec_command", "parameters": command },
        { "type": "custom", "name": "apply_patch", "format": {} },
        { "type": "namespace", "name": "agents", "tools": [{ "type": "function", "name": "spawn", "parameters": {} }] },
        { "type": "web_search" },
    ]);
    json!({ "model": "m1", "stream": true, "input": input, "tools": tools })
}

async fn asked(prompt: &str) -> Vec<Value> {
    let llm = FakeLlm::start().await;
    events(&Client::post(&llm, "/v1/responses", &request(prompt, &[])).rest().unwrap())
}

fn of_kind<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["type"] == kind).collect()
}

/// The items in the order in which they were done, each as its type and what was written.
fn done(events: &[Value]) -> Vec<(&str, &str)> {
    let items = of_kind(events, "response.output_item.done");
    items
        .iter()
        .map(|event| {
            let item = &event["item"];
            let places = ["/content/0/text", "/summary/0/text", "/arguments", "/input"];
            let text = places.iter().find_map(|place| item.pointer(place)?.as_str());
            (item["type"].as_str().unwrap(), text.unwrap_or_default())
        })
        .collect()
}

#[tokio::test]
async fn reasoning_text_and_calls_are_items_with_deltas() {
    let events =
        asked("USAGE in=10 out=5 cached=2\nTHINK hm so\nPRE look\nPTOOL bash ls\nPTOOL bash pwd")
            .await;
    assert_eq!(
        done(&events),
        [
            ("reasoning", "hm so"),
            ("message", "look"),
            ("function_call", r#"{"cmd":"ls"}"#),
            ("function_call", r#"{"cmd":"pwd"}"#)
        ]
    );
    let kinds: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    let expected = [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.reasoning_summary_part.added",
        "response.reasoning_summary_text.delta",
        "response.reasoning_summary_text.delta",
        "response.reasoning_summary_text.done",
        "response.reasoning_summary_part.done",
        "response.output_item.done",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.output_item.added",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.output_item.done",
    ];
    assert_eq!(kinds[..expected.len()], expected);
    let numbers = events.iter().map(|event| event["sequence_number"].as_u64().unwrap());
    assert!(numbers.eq(0..events.len() as u64), "{events:#?}");
    let ids: Vec<&Value> = of_kind(&events, "response.output_item.done")
        .iter()
        .map(|event| &event["item"]["call_id"])
        .collect();
    assert_ne!(ids[2], ids[3]);
    let response = &events.last().unwrap()["response"];
    assert_eq!(
        (&response["status"], response["output"].as_array().unwrap().len()),
        (&json!("completed"), 4)
    );
    assert_eq!(
        response["usage"],
        json!({
            "input_tokens": 12, "input_tokens_details": { "cached_tokens": 2 },
            "output_tokens": 5, "output_tokens_details": { "reasoning_tokens": 2 }, "total_tokens": 17
        })
    );
}

#[tokio::test]
async fn codexs_own_kinds_of_tools_are_called_in_their_own_way() {
    let patch = "*** Begin Patch\n*** Add File: a\n+b c\n*** End Patch\n";
    let events = asked("TOOL write a b c").await;
    assert_eq!(done(&events), [("custom_tool_call", patch)]);
    assert_eq!(of_kind(&events, "response.custom_tool_call_input.delta")[0]["delta"], patch);
    let escalated = r#"{"cmd":"id","sandbox_permissions":"require_escalated"}"#;
    assert_eq!(
        done(&asked(&format!("TOOL bash {escalated}")).await),
        [("function_call", escalated)]
    );
    assert_eq!(done(&asked("TOOL read a").await), [("function_call", r#"{"cmd":"cat 'a'"}"#)]);
    let events = asked("TOOL agents.spawn {}").await;
    let item = &of_kind(&events, "response.output_item.done")[0]["item"];
    assert_eq!((&item["namespace"], &item["name"]), (&json!("agents"), &json!("spawn")));
}

#[tokio::test]
async fn the_older_local_shell_gets_its_words() {
    let llm = FakeLlm::start().await;
    let request = json!({ "input": "TOOL bash ls -l", "tools": [{ "type": "local_shell" }] });
    let response = Client::post(&llm, "/v1/responses", &request).rest().unwrap();
    let item = &body(&response)["output"][0];
    assert_eq!(item["type"], "local_shell_call");
    assert_eq!(
        item["action"],
        json!({ "type": "exec", "command": ["bash", "-lc", "ls -l"], "env": {} })
    );
}

#[tokio::test]
async fn a_step_follows_when_the_tools_have_returned() {
    let llm = FakeLlm::start().await;
    let call = |id: &str| json!({ "type": "function_call", "call_id": id, "name": "exec_command", "arguments": "{}" });
    let output = |id: &str, text: &str| json!({ "type": "function_call_output", "call_id": id, "output": text });
    let later = [
        json!({ "type": "reasoning", "summary": [] }),
        json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "look" }] }),
        call("1"),
        call("2"),
        output("1", "one"),
        output("2", "two"),
    ];
    let request = request("PTOOL bash a\nPTOOL bash b", &later);
    let response = Client::post(&llm, "/v1/responses", &request).rest().unwrap();
    assert_eq!(done(&events(&response)), [("message", "DONE one | two")]);
    let roles = [Role::System, Role::User, Role::User, Role::Assistant, Role::Tool];
    assert_eq!(llm.requests()[0].roles, roles);
}

#[tokio::test]
async fn failures_are_told_by_status_and_in_the_stream() {
    let llm = FakeLlm::start().await;
    for (line, kind, code) in [
        ("400", "invalid_request_error", Value::Null),
        ("401", "invalid_request_error", json!("invalid_api_key")),
        ("429", "rate_limit_error", json!("rate_limit_exceeded")),
        ("500", "server_error", Value::Null),
        ("429 type=usage_limit_reached", "usage_limit_reached", json!("usage_limit_reached")),
    ] {
        let request = request(&format!("ERROR {line} msg=so"), &[]);
        let response = Client::post(&llm, "/v1/responses", &request).rest().unwrap();
        let error = json!({ "message": "so", "type": kind, "param": null, "code": code });
        assert_eq!(body(&response), json!({ "error": error }));
    }
    let events = asked("STREAMERROR").await;
    let last = events.last().unwrap();
    assert_eq!(last["type"], "response.failed");
    let error = json!({ "code": "server_error", "message": "fake stream error" });
    assert_eq!(
        (&last["response"]["status"], &last["response"]["error"]),
        (&json!("failed"), &error)
    );
}
