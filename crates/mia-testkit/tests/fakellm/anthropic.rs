//! The Anthropic Messages API; by it also what the server does whatever the API.

use std::net::TcpStream;

use mia_testkit::fakellm::{FakeLlm, Happening, Options};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::client::{Client, body, events};

fn message(prompt: &str, stream: bool) -> Value {
    let bash = json!({ "name": "Bash", "input_schema": { "properties": { "command": {} }, "required": ["command"] } });
    json!({ "model": "m1", "stream": stream, "tools": [bash], "messages": [{ "role": "user", "content": prompt }] })
}

fn ask(llm: &FakeLlm, prompt: &str) -> Client {
    Client::post(llm, "/v1/messages?beta=true", &message(prompt, true))
}

fn kinds(response: &str) -> Vec<String> {
    let kind = |event: Value| event["type"].as_str().unwrap().to_owned();
    events(response).into_iter().map(kind).collect()
}

#[tokio::test]
async fn streams_thinking_text_and_tools_as_blocks() {
    let llm = FakeLlm::start().await;
    let response =
        ask(&llm, "USAGE in=10 out=5 cached=2\nTHINK hm\nPRE look\nTOOL bash ls").rest().unwrap();
    assert!(response.starts_with("HTTP/1.1 200 OK"), "{response}");
    let events = events(&response);
    let blocks: Vec<&Value> = events
        .iter()
        .filter(|event| event["type"] == "content_block_start")
        .map(|event| &event["content_block"]["type"])
        .collect();
    assert_eq!(blocks, ["thinking", "text", "tool_use"]);
    let input: String =
        events.iter().filter_map(|event| event["delta"]["partial_json"].as_str()).collect();
    assert_eq!(input, r#"{"command":"ls"}"#);
    let end = events.iter().find(|event| event["type"] == "message_delta").unwrap();
    assert_eq!(end["delta"]["stop_reason"], "tool_use");
    assert_eq!(
        end["usage"],
        json!({ "input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 2, "cache_creation_input_tokens": 0 })
    );
    assert_eq!(events.last().unwrap()["type"], "message_stop");
}

#[tokio::test]
async fn answers_whole_and_counts_tokens() {
    let llm = FakeLlm::start().await;
    let response = Client::post(&llm, "/v1/messages", &message("THINK hm\nSAY hello you", false))
        .rest()
        .unwrap();
    assert_eq!(
        body(&response)["content"],
        json!([{ "type": "thinking", "thinking": "hm", "signature": "ZmFrZQ==" }, { "type": "text", "text": "hello you" }])
    );
    let response =
        Client::post(&llm, "/v1/messages/count_tokens", &message("SAY x", false)).rest().unwrap();
    assert!(response.contains("{\"input_tokens\":"), "{response}");
    assert_eq!(llm.log().turns().count(), 1, "counting is no turn");
}

#[tokio::test(start_paused = true)]
async fn a_gate_holds_the_answer_until_it_is_opened_whatever_the_clock_says() {
    let llm = FakeLlm::start().await;
    let mut client = ask(&llm, "PRE before\nGATE g\nSAY after");
    llm.reached("g").await;
    let seen = client.until("before");
    assert!(!seen.contains("after"));
    assert_eq!(llm.requests()[0].happening, Happening::Open);
    llm.open("g");
    assert!(client.rest().unwrap().contains("after"));
    assert_eq!(llm.requests()[0].happening, Happening::Answered);
}

#[tokio::test]
async fn a_cut_breaks_the_connection_after_the_words() {
    let llm = FakeLlm::start().await;
    let mut client = ask(&llm, "CUT some words");
    client.until("words");
    let rest = client.rest().unwrap_or_default();
    assert!(!rest.contains("message_stop") && !rest.ends_with("0\r\n\r\n"), "{rest}");
    llm.wait_for("the cut", |log| log.requests[0].happening == Happening::Cut).await;
}

#[tokio::test]
async fn a_client_that_leaves_is_noticed_in_a_stream_and_in_a_hang() {
    let llm = FakeLlm::start().await;
    let mut client = ask(&llm, "STALL");
    client.until("stalling");
    drop(client);
    llm.wait_for("the first to go", |log| log.requests[0].happening == Happening::Gone).await;
    let client = ask(&llm, "HANG");
    llm.wait_for("the second", |log| log.total == 2).await;
    drop(client);
    llm.wait_for("the second to go", |log| log.requests[1].happening == Happening::Gone).await;
}

#[tokio::test]
async fn errors_have_their_status_kind_and_header() {
    let llm = FakeLlm::start().await;
    for (status, kind) in [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (429, "rate_limit_error"),
        (500, "api_error"),
        (529, "overloaded_error"),
    ] {
        let response =
            ask(&llm, &format!("ERROR {status} retry-after=9 msg=so it is")).rest().unwrap();
        assert!(response.starts_with(&format!("HTTP/1.1 {status} ")), "{response}");
        assert!(response.contains("retry-after: 9\r\n"), "{response}");
        assert_eq!(body(&response)["error"], json!({ "type": kind, "message": "so it is" }));
    }
    let response = ask(&llm, "STREAMERROR type=api_error").rest().unwrap();
    assert_eq!(kinds(&response).last().unwrap(), "error");
    assert!(response.starts_with("HTTP/1.1 200 "));
}

#[tokio::test]
async fn only_the_right_key_is_let_in_where_one_is_required() {
    let require = |key: &str| {
        FakeLlm::with(Options { require_key: Some(key.to_owned()), ..Options::default() }).unwrap()
    };
    assert!(ask(&require("k2"), "SAY x").rest().unwrap().starts_with("HTTP/1.1 401 "));
    assert!(ask(&require("k1"), "SAY x").rest().unwrap().starts_with("HTTP/1.1 200 "));
}

#[tokio::test]
async fn hostile_and_lost_requests_get_an_answer() {
    let llm = FakeLlm::start().await;
    let status = |path: &str, body: Value| {
        Client::post(&llm, path, &body).rest().unwrap().lines().next().unwrap().to_owned()
    };
    assert_eq!(status("/v1/nowhere", json!({})), "HTTP/1.1 404 Not Found");
    for body in [
        json!([]),
        json!("x"),
        json!({ "messages": 5, "tools": {} }),
        json!({ "messages": [{ "content": 1 }, null] }),
    ] {
        assert_eq!(status("/v1/messages", body), "HTTP/1.1 200 OK");
    }
    assert!(ask(&llm, "SLOW 1@0 x\nSAY").rest().is_ok());
}

#[tokio::test]
async fn dropping_it_ends_its_connections() {
    let llm = FakeLlm::start().await;
    let mut client = ask(&llm, "STALL");
    client.until("stalling");
    let address = llm.url().strip_prefix("http://").unwrap().to_owned();
    drop(llm);
    let rest = client.rest().unwrap_or_default();
    assert!(!rest.contains("message_stop"));
    assert!(TcpStream::connect(address).is_err(), "the port is free again");
}
