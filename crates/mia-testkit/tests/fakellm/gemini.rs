//! The Gemini API as Gemini CLI uses it.

use mia_testkit::fakellm::{FakeLlm, Role};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::client::{Client, body, events};

const STREAM: &str = "/v1beta/models/m1:streamGenerateContent?alt=sse";
const WHOLE: &str = "/v1beta/models/m1:generateContent";

fn request(prompt: &str, later: &[Value]) -> Value {
    let context = "<session_context>\nIt is Monday.\n</session_context>";
    let mut contents =
        vec![json!({ "role": "user", "parts": [{ "text": context }, { "text": prompt }] })];
    contents.extend(later.iter().cloned());
    let schema =
        json!({ "type": "object", "properties": { "command": {} }, "required": ["command"] });
    let shell = json!({ "name": "run_shell_command", "parametersJsonSchema": schema });
    let older = json!({ "name": "old", "parameters": { "type": "OBJECT" } });
    json!({
        "contents": contents, "tools": [{ "functionDeclarations": [shell] }, { "functionDeclarations": [older] }],
        "systemInstruction": { "parts": [{ "text": "be good" }] }
    })
}

const SCRIPT: &str =
    "USAGE in=10 out=5 cached=2\nTHINK hm so\nPRE look at\nPTOOL bash ls\nPTOOL bash pwd";

fn usage() -> Value {
    json!({
        "promptTokenCount": 12, "cachedContentTokenCount": 2, "thoughtsTokenCount": 2,
        "candidatesTokenCount": 3, "totalTokenCount": 17
    })
}

fn call(command: &str) -> Value {
    json!({ "functionCall": { "name": "run_shell_command", "args": { "command": command } } })
}

#[tokio::test]
async fn streams_thoughts_text_and_parallel_calls_as_parts() {
    let llm = FakeLlm::start().await;
    let events = events(&Client::post(&llm, STREAM, &request(SCRIPT, &[])).rest().unwrap());
    let parts: Vec<&Value> =
        events.iter().map(|event| &event["candidates"][0]["content"]["parts"][0]).collect();
    let thought = |text: &str| json!({ "text": text, "thought": true });
    let text = |text: &str| json!({ "text": text });
    let expected = [
        thought("hm "),
        thought("so"),
        text("look "),
        text("at"),
        call("ls"),
        call("pwd"),
        text(""),
    ];
    assert_eq!(parts, expected.iter().collect::<Vec<_>>());
    let (last, before) = events.split_last().unwrap();
    assert!(before.iter().all(|event| event["candidates"][0]["finishReason"].is_null()));
    assert_eq!(last["candidates"][0]["finishReason"], "STOP");
    assert_eq!(last["usageMetadata"], usage());
    assert_eq!(llm.requests()[0].tools, ["old", "run_shell_command"]);
}

#[tokio::test]
async fn a_whole_answer_has_the_same_and_tokens_are_counted() {
    let llm = FakeLlm::start().await;
    let answer = body(&Client::post(&llm, WHOLE, &request(SCRIPT, &[])).rest().unwrap());
    let candidate = &answer["candidates"][0];
    assert_eq!(
        candidate["content"]["parts"],
        json!([{ "text": "hm so", "thought": true }, { "text": "look at" }, call("ls"), call("pwd")])
    );
    assert_eq!((&candidate["finishReason"], &answer["usageMetadata"]), (&json!("STOP"), &usage()));
    let path = "/v1beta/models/m1:countTokens";
    let count = body(&Client::post(&llm, path, &request("SAY x", &[])).rest().unwrap());
    assert!(count["totalTokens"].as_u64().unwrap() > 0, "{count}");
    assert_eq!(llm.log().turns().count(), 1, "counting is no turn");
}

#[tokio::test]
async fn a_step_follows_when_the_tools_have_returned() {
    let llm = FakeLlm::start().await;
    let result = |output: &str| json!({ "functionResponse": { "name": "run_shell_command", "response": { "output": output } } });
    let thought = json!({ "text": "SAY a thought", "thought": true });
    let later = [
        json!({ "role": "model", "parts": [thought, call("a"), call("b")] }),
        json!({ "role": "user", "parts": [result("one"), result("two")] }),
    ];
    let request = request("PTOOL bash a\nPTOOL bash b", &later);
    let answer = body(&Client::post(&llm, WHOLE, &request).rest().unwrap());
    assert_eq!(answer["candidates"][0]["content"]["parts"][0]["text"], "DONE one | two");
    assert_eq!(llm.requests()[0].roles, [Role::User, Role::User, Role::Assistant, Role::Tool]);
}

#[tokio::test]
async fn a_router_that_asks_for_json_gets_it() {
    let llm = FakeLlm::start().await;
    let schema = json!({ "type": "OBJECT", "required": ["choice"], "properties": { "choice": { "type": "STRING", "enum": ["flash", "pro"] } } });
    let mut asked = request("TOOL bash ls", &[]);
    asked["tools"] = json!([]);
    for name in ["responseJsonSchema", "responseSchema"] {
        asked["generationConfig"] = json!({ "responseMimeType": "application/json", name: schema });
        let answer = body(&Client::post(&llm, WHOLE, &asked).rest().unwrap());
        let text = &answer["candidates"][0]["content"]["parts"][0]["text"];
        assert_eq!(text, r#"{"choice":"flash"}"#);
    }
    assert!(llm.requests().iter().all(|request| request.auxiliary));
}

#[tokio::test]
async fn failures_are_told_by_status_and_in_the_stream() {
    let llm = FakeLlm::start().await;
    for (code, status) in [
        (400, "INVALID_ARGUMENT"),
        (401, "UNAUTHENTICATED"),
        (429, "RESOURCE_EXHAUSTED"),
        (503, "UNAVAILABLE"),
    ] {
        let request = request(&format!("ERROR {code} msg=so"), &[]);
        let response = Client::post(&llm, STREAM, &request).rest().unwrap();
        let error = json!({ "code": code, "message": "so", "status": status });
        assert_eq!(body(&response), json!({ "error": error }));
    }
    let response = Client::post(&llm, STREAM, &request("STREAMERROR", &[])).rest().unwrap();
    let error = r#"{"error":{"code":503,"message":"fake stream error","status":"UNAVAILABLE"}}"#;
    assert!(response.lines().any(|line| line == error), "bare JSON: {response}");
}
