//! The OpenAI Chat Completions API as opencode and qwen use it.

use mia_testkit::fakellm::{FakeLlm, Role};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::client::{Client, body, events};

const PATH: &str = "/v1/chat/completions";

fn request(prompt: &str, stream: bool, later: &[Value]) -> Value {
    let reminder = "<system-reminder>\nIt is Monday.\n</system-reminder>";
    let texts = [reminder, prompt].map(|text| json!({ "type": "text", "text": text }));
    let mut messages = vec![
        json!({ "role": "system", "content": "be good" }),
        json!({ "role": "user", "content": texts }),
    ];
    messages.extend(later.iter().cloned());
    let schema =
        json!({ "type": "object", "properties": { "command": {} }, "required": ["command"] });
    let bash = json!({ "type": "function", "function": { "name": "bash", "parameters": schema } });
    json!({ "model": "m1", "stream": stream, "stream_options": { "include_usage": true }, "tools": [bash], "messages": messages })
}

async fn whole(request: &Value) -> Value {
    let llm = FakeLlm::start().await;
    body(&Client::post(&llm, PATH, request).rest().unwrap())
}

const SCRIPT: &str =
    "USAGE in=10 out=5 cached=2\nTHINK hm so\nPRE look\nPTOOL bash ls\nPTOOL bash pwd";

fn usage() -> Value {
    json!({
        "prompt_tokens": 12, "completion_tokens": 5, "total_tokens": 17,
        "prompt_tokens_details": { "cached_tokens": 2 }, "completion_tokens_details": { "reasoning_tokens": 2 }
    })
}

#[tokio::test]
async fn streams_reasoning_text_and_parallel_calls() {
    let llm = FakeLlm::start().await;
    let response = Client::post(&llm, PATH, &request(SCRIPT, true, &[])).rest().unwrap();
    assert!(response.contains("data: [DONE]\n\n"), "{response}");
    let events = events(&response);
    let delta = |event: &Value| event["choices"][0]["delta"].clone();
    let joined = |member: &str| -> String {
        events.iter().filter_map(|event| delta(event)[member].as_str().map(str::to_owned)).collect()
    };
    assert_eq!(
        (joined("reasoning_content").as_str(), joined("content").as_str()),
        ("hm so", "look")
    );
    let calls: Vec<Value> = events
        .iter()
        .map(|event| delta(event)["tool_calls"][0].clone())
        .filter(|call| !call.is_null())
        .collect();
    let arguments = |index: u64| -> String {
        let mine = calls.iter().filter(|call| call["index"] == index);
        mine.filter_map(|call| call["function"]["arguments"].as_str()).collect()
    };
    assert_eq!([arguments(0), arguments(1)], [r#"{"command":"ls"}"#, r#"{"command":"pwd"}"#]);
    let finish: Vec<&str> =
        events.iter().filter_map(|event| event["choices"][0]["finish_reason"].as_str()).collect();
    assert_eq!(finish, ["tool_calls"]);
    let last = events.last().unwrap();
    assert_eq!((&last["choices"], &last["usage"]), (&json!([]), &usage()));
}

#[tokio::test]
async fn a_stream_tells_its_usage_only_if_asked() {
    let llm = FakeLlm::start().await;
    let mut request = request("SAY x", true, &[]);
    request["stream_options"] = Value::Null;
    let response = Client::post(&llm, PATH, &request).rest().unwrap();
    assert!(response.contains("[DONE]") && !response.contains("usage"), "{response}");
}

#[tokio::test]
async fn a_whole_answer_has_the_same_in_one_message() {
    let answer = whole(&request(SCRIPT, false, &[])).await;
    let choice = &answer["choices"][0];
    let message = &choice["message"];
    assert_eq!((&choice["finish_reason"], &answer["usage"]), (&json!("tool_calls"), &usage()));
    assert_eq!(
        (&message["content"], &message["reasoning_content"]),
        (&json!("look"), &json!("hm so"))
    );
    let arguments: Vec<&Value> = message["tool_calls"]
        .as_array()
        .unwrap()
        .iter()
        .map(|call| &call["function"]["arguments"])
        .collect();
    assert_eq!(arguments, [r#"{"command":"ls"}"#, r#"{"command":"pwd"}"#]);
}

#[tokio::test]
async fn a_step_follows_when_the_tools_have_returned() {
    let llm = FakeLlm::start().await;
    let calls = json!([{ "id": "1" }, { "id": "2" }]);
    let result =
        |id: &str, text: &str| json!({ "role": "tool", "tool_call_id": id, "content": text });
    let later = [
        json!({ "role": "assistant", "content": null, "tool_calls": calls }),
        result("1", "one"),
        result("2", "two"),
    ];
    let request = request("PTOOL bash a\nPTOOL bash b", false, &later);
    let response = Client::post(&llm, PATH, &request).rest().unwrap();
    assert_eq!(body(&response)["choices"][0]["message"]["content"], "DONE one | two");
    assert_eq!(llm.requests()[0].roles, [Role::User, Role::User, Role::Assistant, Role::Tool]);
}

#[tokio::test]
async fn reminders_are_not_the_prompt_and_side_work_is_known() {
    let mut request = request("hello", false, &[]);
    request["messages"][1]["content"].as_array_mut().unwrap().reverse();
    assert_eq!(whole(&request).await["choices"][0]["message"]["content"], "You said: hello");
    let title = json!({ "messages": [
        { "role": "system", "content": "You are a title generator." },
        { "role": "user", "content": "TOOL bash rm x" }
    ] });
    assert_eq!(whole(&title).await["choices"][0]["message"]["content"], "Fake title");
}

#[tokio::test]
async fn failures_are_told_by_status_and_in_the_stream() {
    let error = whole(&request("ERROR 401 msg=so", true, &[])).await;
    let expected = json!({ "message": "so", "type": "invalid_request_error", "param": null, "code": "invalid_api_key" });
    assert_eq!(error, json!({ "error": expected }));
    let llm = FakeLlm::start().await;
    let response = Client::post(&llm, PATH, &request("STREAMERROR", true, &[])).rest().unwrap();
    let expected = json!({ "message": "fake stream error", "type": "server_error", "param": null, "code": "server_error" });
    assert_eq!(events(&response).last().unwrap(), &json!({ "error": expected }));
}
