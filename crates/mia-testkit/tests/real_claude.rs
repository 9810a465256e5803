//! The real Claude Code against the fake model: proof that the fakes are what the real program accepts.

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::Duration;

use mia_testkit::agents::{self, RealHome};
use mia_testkit::fakellm::{FakeLlm, Happening, Options};
use mia_testkit::proc;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

const DIALOGUE: [&str; 9] = [
    "-p",
    "--input-format",
    "stream-json",
    "--output-format",
    "stream-json",
    "--verbose",
    "--include-partial-messages",
    "--permission-prompt-tool",
    "stdio",
];

/// A running Claude Code; killed when dropped.
struct Claude {
    child: Child,
    input: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Claude {
    fn start(program: &Path, home: &RealHome, arguments: &[&str]) -> Self {
        let mut command = home.command(program);
        command.args(DIALOGUE).args(arguments).env("MIA_TEST_MARK", home.home());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { input: child.stdin.take(), child, lines }
    }

    fn send(&mut self, line: &Value) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    fn prompt(&mut self, text: &str) {
        self.send(&json!({ "type": "user", "message": { "role": "user", "content": [{ "type": "text", "text": text }] } }));
    }

    /// Lines up to the first of that type.
    fn until(&mut self, kind: &str) -> Vec<Value> {
        let mut seen: Vec<Value> = Vec::new();
        while seen.last().is_none_or(|last| last["type"] != kind) {
            let line =
                self.lines.next().unwrap_or_else(|| panic!("no {kind} after {seen:#?}")).unwrap();
            seen.push(serde_json::from_str(&line).unwrap());
        }
        seen
    }

    /// Closes stdin and returns the exit code.
    fn end(mut self) -> Option<i32> {
        self.input = None;
        self.child.wait().unwrap().code()
    }
}

impl Drop for Claude {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn deltas(lines: &[Value]) -> String {
    lines.iter().filter_map(|line| line["event"]["delta"]["text"].as_str()).collect()
}

#[tokio::test]
async fn says_what_the_model_says_with_its_usage() {
    let Some(program) = agents::claude() else {
        return agents::skip_or_fail("claude");
    };
    let llm = FakeLlm::with(Options { bodies: true, ..Options::default() }).unwrap();
    let home = RealHome::new(&llm);
    let mut claude = Claude::start(&program, &home, &[]);
    claude.prompt("USAGE in=1000 out=100 cached=10\nTHINK hm\nSAY hello from the model");
    let lines = claude.until("result");
    assert_eq!(deltas(&lines), "hello from the model");
    let result = lines.last().unwrap();
    assert_eq!(result["result"], "hello from the model");
    assert_eq!([&result["usage"]["input_tokens"], &result["usage"]["output_tokens"]], [1000, 100]);
    assert_eq!(claude.end(), Some(0));
    let requests = llm.requests();
    let [request] = requests.as_slice() else { panic!("one request: {requests:#?}") };
    assert_eq!(
        (request.verb.as_str(), request.key.as_str(), request.api),
        ("SAY", "dummy", "anthropic")
    );
    assert_eq!((request.happening, request.stream), (Happening::Answered, true));
    assert!(request.tools.iter().any(|tool| tool == "Bash"), "{:?}", request.tools);
    assert!(request.body.as_ref().unwrap()["messages"].is_array());
}

#[tokio::test]
async fn runs_parallel_tools_in_its_directory() {
    let Some(program) = agents::claude() else {
        return agents::skip_or_fail("claude");
    };
    let llm = FakeLlm::start().await;
    let home = RealHome::new(&llm);
    let mut claude = Claude::start(&program, &home, &["--permission-mode", "bypassPermissions"]);
    claude.prompt("PTOOL bash echo one > a\nPTOOL bash echo two > b\nSAY both done");
    let lines = claude.until("result");
    assert_eq!(lines.last().unwrap()["result"], "both done");
    let content = |name: &str| std::fs::read_to_string(home.work().join(name)).unwrap();
    assert_eq!((content("a").as_str(), content("b").as_str()), ("one\n", "two\n"));
    assert_eq!(claude.end(), Some(0));
    assert_eq!(
        llm.log().turns().map(|request| request.verb.as_str()).collect::<Vec<_>>(),
        ["TOOL", "SAY"]
    );
}

#[tokio::test]
async fn an_interrupt_at_a_gate_ends_the_turn_and_the_request() {
    let Some(program) = agents::claude() else {
        return agents::skip_or_fail("claude");
    };
    let llm = FakeLlm::start().await;
    let home = RealHome::new(&llm);
    let mut claude = Claude::start(&program, &home, &[]);
    claude.prompt("PRE half an\nGATE never\nSAY answer");
    llm.reached("never").await;
    claude.send(&json!({ "type": "control_request", "request_id": "i1", "request": { "subtype": "interrupt" } }));
    let lines = claude.until("result");
    assert_eq!(lines.last().unwrap()["terminal_reason"], "aborted_streaming");
    llm.wait_for("the request to be given up", |log| log.requests[0].happening == Happening::Gone)
        .await;
    assert_eq!(claude.end(), Some(1));
    let left = proc::with_env("MIA_TEST_MARK", &home.home().to_string_lossy());
    proc::wait_until_gone(&left, Duration::from_secs(10)).await.unwrap();
}

#[tokio::test]
async fn sees_a_retry_and_then_the_answer() {
    let Some(program) = agents::claude() else {
        return agents::skip_or_fail("claude");
    };
    let llm = FakeLlm::start().await;
    let home = RealHome::new(&llm);
    let mut claude = Claude::start(&program, &home, &[]);
    claude.prompt("ERROR 529 times=1\nSAY recovered");
    let lines = claude.until("result");
    assert!(lines.iter().any(|line| line["subtype"] == "api_retry" && line["error_status"] == 529));
    assert_eq!(lines.last().unwrap()["result"], "recovered");
    assert_eq!(claude.end(), Some(0));
}
