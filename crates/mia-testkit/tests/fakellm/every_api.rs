//! What holds in each API alike: the script, and the key that is asked for.

use mia_testkit::fakellm::{FakeLlm, Happening, Options, Role};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::client::{Client, body, events};

/// How one API puts things.
struct Dialect {
    name: &'static str,
    /// The path of a request that streams, and of one that doesn't.
    paths: [&'static str; 2],
    key: &'static str,
    /// A request with these messages: what the user and the assistant said in turns.
    request: fn(turns: &[&str], stream: bool) -> Value,
    /// The text in an event of a stream.
    delta: fn(&Value) -> &Value,
    /// The text of a whole answer.
    text: fn(&Value) -> &Value,
    /// What a stream that came to its end has in it.
    end: &'static str,
}

fn roles<'a>(
    turns: &'a [&str],
    model: &'static str,
) -> impl Iterator<Item = (&'static str, &'a str)> {
    turns.iter().enumerate().map(move |(index, text)| (["user", model][index % 2], *text))
}

fn messages(turns: &[&str], stream: bool, list: &str) -> Value {
    let turns =
        roles(turns, "assistant").map(|(role, text)| json!({ "role": role, "content": text }));
    json!({ "model": "m1", "stream": stream, list: turns.collect::<Vec<_>>() })
}

fn contents(turns: &[&str]) -> Value {
    let turns = roles(turns, "model")
        .map(|(role, text)| json!({ "role": role, "parts": [{ "text": text }] }));
    json!({ "contents": turns.collect::<Vec<_>>() })
}

const DIALECTS: [Dialect; 4] = [
    Dialect {
        name: "anthropic",
        paths: ["/v1/messages"; 2],
        key: "x-api-key: k1",
        request: |turns, stream| messages(turns, stream, "messages"),
        delta: |event| &event["delta"]["text"],
        text: |body| &body["content"][0]["text"],
        end: "message_stop",
    },
    Dialect {
        name: "openai-responses",
        paths: ["/v1/responses"; 2],
        key: "authorization: Bearer k1",
        request: |turns, stream| messages(turns, stream, "input"),
        delta: |event| match event["type"] == "response.output_text.delta" {
            true => &event["delta"],
            false => &Value::Null,
        },
        text: |body| &body["output"][0]["content"][0]["text"],
        end: "response.completed",
    },
    Dialect {
        name: "openai-chat",
        paths: ["/v1/chat/completions"; 2],
        key: "Authorization: Bearer k1",
        request: |turns, stream| messages(turns, stream, "messages"),
        delta: |event| &event["choices"][0]["delta"]["content"],
        text: |body| &body["choices"][0]["message"]["content"],
        end: "[DONE]",
    },
    Dialect {
        name: "gemini",
        paths: [
            "/v1beta/models/m1:streamGenerateContent?alt=sse",
            "/v1beta/models/m1:generateContent",
        ],
        key: "x-goog-api-key: k1",
        request: |turns, _| contents(turns),
        delta: |event| &event["candidates"][0]["content"]["parts"][0]["text"],
        text: |body| &body["candidates"][0]["content"]["parts"][0]["text"],
        end: "STOP",
    },
];

impl Dialect {
    fn send(&self, llm: &FakeLlm, turns: &[&str], stream: bool) -> Client {
        let path = self.paths[usize::from(!stream)];
        let request = (self.request)(turns, stream).to_string();
        Client::send(llm, "POST", path, self.key, &request)
    }

    fn ask(&self, llm: &FakeLlm, prompt: &str) -> Client {
        self.send(llm, &[prompt], true)
    }

    /// All text of a streamed answer.
    fn said(&self, response: &str) -> String {
        let events = events(response);
        events.iter().filter_map(|event| (self.delta)(event).as_str()).collect()
    }
}

#[tokio::test]
async fn the_same_script_gives_the_same_words_streamed_and_whole() {
    for dialect in &DIALECTS {
        let llm = FakeLlm::start().await;
        for (turns, words) in [
            (vec!["SAY one  two"], "one  two"),
            (vec!["no directive"], "You said: no directive"),
            (vec!["LONG 3"], "word0 word1 word2 "),
            (vec!["SLOW 2@0 x"], "x0 x1 "),
            (vec!["DELAY 0\nPRE see \nSAY it"], "seeit"),
            (vec!["REMEMBER fox", "OK", "RECALL"], "The word is fox"),
            (vec!["COUNT", "a", "COUNT"], r#"counts {"assistant":1,"user":2}"#),
            (vec!["SAY a\nSAY b", "a"], "b"),
            (vec!["ECHO it"], "ECHO it"),
        ] {
            let streamed = dialect.send(&llm, &turns, true).rest().unwrap();
            assert_eq!(dialect.said(&streamed), words, "{}", dialect.name);
            assert!(streamed.contains(dialect.end), "{streamed}");
            let whole = dialect.send(&llm, &turns, false).rest().unwrap();
            assert_eq!((dialect.text)(&body(&whole)), words, "{}", dialect.name);
        }
        let requests = llm.requests();
        assert_eq!((requests[0].api, requests[0].model.as_str()), (dialect.name, "m1"));
        assert_eq!((requests[0].stream, requests[1].stream), (true, false));
        assert_eq!(
            (requests[0].key.as_str(), requests[0].roles.as_slice()),
            ("k1", &[Role::User][..])
        );
    }
}

#[tokio::test]
async fn a_gate_holds_and_a_cut_breaks_each_apis_stream() {
    for dialect in &DIALECTS {
        let llm = FakeLlm::start().await;
        let mut client = dialect.ask(&llm, "PRE before\nGATE g\nSAY after");
        llm.reached("g").await;
        assert!(!client.until("before").contains("after"));
        llm.open("g");
        assert!(client.rest().unwrap().contains("after"));
        let mut client = dialect.ask(&llm, "CUT some words");
        client.until("words");
        let rest = client.rest().unwrap_or_default();
        assert!(!rest.contains(dialect.end) && !rest.ends_with("0\r\n\r\n"), "{rest}");
        llm.wait_for("the cut", |log| log.requests[1].happening == Happening::Cut).await;
        for silent in ["STALL", "HANG"] {
            let before = llm.log().requests.len();
            let client = dialect.ask(&llm, silent);
            llm.wait_for("the request", |log| log.requests.len() > before).await;
            drop(client);
            llm.wait_for("it to go", |log| log.requests[before].happening == Happening::Gone).await;
        }
    }
}

#[tokio::test]
async fn errors_have_the_status_and_the_words_and_a_stream_can_fail() {
    for dialect in &DIALECTS {
        let llm = FakeLlm::start().await;
        for stream in [true, false] {
            let client = dialect.send(&llm, &["ERROR 429 retry-after=9 msg=slow down"], stream);
            let response = client.rest().unwrap();
            assert!(response.starts_with("HTTP/1.1 429 "), "{response}");
            assert!(response.contains("retry-after: 9\r\n"), "{response}");
            assert_eq!(body(&response)["error"]["message"], "slow down");
        }
        let response = dialect.ask(&llm, "STREAMERROR type=odd").rest().unwrap();
        assert!(response.starts_with("HTTP/1.1 200 ") && response.contains("fake stream error"));
        assert!(response.contains("\"odd\"") && !response.contains(dialect.end), "{response}");
        let response = dialect.send(&llm, &["STREAMERROR"], false).rest().unwrap();
        assert!(response.starts_with("HTTP/1.1 500 "), "{response}");
    }
}

#[tokio::test]
async fn each_api_brings_its_key_and_only_the_right_one_is_let_in() {
    let require = |key: &str| {
        FakeLlm::with(Options { require_key: Some(key.to_owned()), ..Options::default() }).unwrap()
    };
    let (right, wrong) = (require("k1"), require("k2"));
    for dialect in &DIALECTS {
        let response = dialect.ask(&right, "SAY x").rest().unwrap();
        assert!(response.starts_with("HTTP/1.1 200 "), "{}: {response}", dialect.name);
        let response = dialect.ask(&wrong, "SAY x").rest().unwrap();
        assert!(response.starts_with("HTTP/1.1 401 "), "{}: {response}", dialect.name);
        assert_eq!(body(&response)["error"]["message"], "invalid API key");
    }
    for path in ["/v1/models", "/v1beta/models"] {
        let list =
            |llm: &FakeLlm| Client::send(llm, "GET", path, "x-api-key: k1", "").rest().unwrap();
        assert!(list(&wrong).starts_with("HTTP/1.1 401 "));
        assert!(list(&right).contains("fake-model"));
    }
    let query = "/v1beta/models/m1:generateContent?alt=json&key=k1";
    let request = contents(&["SAY x"]).to_string();
    let response = Client::send(&right, "POST", query, "x: y", &request).rest().unwrap();
    assert!(response.starts_with("HTTP/1.1 200 "), "{response}");
    let count = "/v1beta/models/m1:countTokens";
    let response = Client::send(&wrong, "POST", count, "x: y", &request).rest().unwrap();
    assert!(response.starts_with("HTTP/1.1 401 "), "{response}");
}

#[tokio::test]
async fn hostile_requests_get_an_answer() {
    let llm = FakeLlm::start().await;
    for dialect in &DIALECTS {
        for hostile in [
            json!([]),
            json!("x"),
            json!({ "messages": 5, "input": 5, "contents": 5, "tools": {}, "text": 1 }),
            json!({ "tools": [null, 5, { "function": 1 }, { "functionDeclarations": [null] }, { "type": "namespace" }] }),
            json!({ "messages": [null, { "content": 1 }], "input": [null, { "type": 5 }], "contents": [null, { "parts": [5] }] }),
        ] {
            let path = dialect.paths[1];
            let response = Client::post(&llm, path, &hostile).rest().unwrap();
            assert!(response.starts_with("HTTP/1.1 200 "), "{path} {hostile}: {response}");
        }
    }
}
