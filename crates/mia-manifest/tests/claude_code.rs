//! Claude Code as a manifest says the same as its adapter in Rust, on what the real one printed.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::path::Path;

use mia_agents::ClaudeCode;
use mia_api::{DispatchResult, EventBody, PermissionRequest, PluginError};
use mia_manifest::{Manifest, ManifestAdapter};
use mia_plugin::{Call, CliAdapter, Exit, Out, SessionRecord, Terminal};
use mia_testkit::transcripts::{self, Transcript, Turn};
use pretty_assertions::assert_eq;
use serde_json::Value;

/// The recordings of which a manifest does not say all.
const MORE_IN_RUST: [(&str, &str); 11] = [
    ("i-cut-after-tool", "a stream that breaks, and the message begins again"),
    ("i-stream-error-recovers", "a stream that breaks, and the message begins again"),
    ("i-eof-ask", "a question"),
    ("i-interrupt-ask", "a question"),
    ("i-parallel-tools", "a question"),
    ("i-permission-allow", "a question"),
    ("i-permission-deny", "a question"),
    ("i-permission-deny-interrupt", "a question"),
    ("i-permission-write", "a question"),
    ("i-subagent-ask", "a question"),
    ("i-tool-fails", "a question"),
];

fn manifest() -> Manifest {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/manifests/claude-code.yaml");
    Manifest::read(&file).unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

/// All that comes of a recording.
#[derive(Debug, PartialEq)]
struct Said {
    events: Vec<EventBody>,
    content: String,
    stale: Option<String>,
    error: Option<PluginError>,
    result: DispatchResult,
    questions: Vec<PermissionRequest>,
    noise: usize,
}

fn said(mut adapter: impl CliAdapter, transcript: &Transcript) -> Said {
    let command = match transcript.dialogue.first() {
        Some(Turn::Remark(command)) => command,
        _ => &transcript.meta,
    };
    let resumed = command.split_once("--resume ").map(|(_, rest)| SessionRecord {
        session_id: rest.split_whitespace().next().unwrap().to_owned(),
        state: Value::Null,
    });
    let mut call = Call::new("x", Path::new("/w"));
    call.session = resumed.as_ref();
    adapter.build_args(&call).unwrap();
    let mut out = Out::new(ClaudeCode::NAME);
    let mut noise = 0;
    for line in std::str::from_utf8(&transcript.stdout).unwrap().lines() {
        // As the spawn base does: nothing after the last word.
        if out.terminal().is_none() && adapter.parse_output(line, &mut out).is_err() {
            noise += 1;
        }
    }
    if out.terminal().is_none() {
        let exit = Exit { code: Some(1), signal: None, stderr: "" };
        adapter.on_exit(&exit, &mut out);
    }
    let mut events = out.take_events();
    for event in &mut events {
        if let EventBody::ToolResult(result) = event {
            result.duration_ms = 0;
        }
    }
    let (stale, error) = match out.terminal() {
        Some(Terminal::StaleSession(message)) => (Some(message.clone()), None),
        Some(Terminal::Failed(error)) => (None, Some(*error.clone())),
        _ => (None, None),
    };
    let result = out.result("t".parse().unwrap(), "c".parse().unwrap());
    let (content, questions) = (out.content().to_owned(), out.take_questions());
    Said { events, content, stale, error, result, questions, noise }
}

#[test]
fn m_025_a_recorded_agent_as_a_manifest_gives_the_same_events_as_its_adapter() {
    let manifest = manifest();
    let mut same = 0;
    for transcript in transcripts::claude() {
        let expected = said(ClaudeCode::default(), &transcript);
        let found = said(ManifestAdapter::new(manifest.clone()), &transcript);
        match MORE_IN_RUST.iter().find(|(case, _)| *case == transcript.case) {
            Some((case, why)) => assert!(expected != found, "{case} is the same now: {why}"),
            None => {
                assert_eq!(expected, found, "{}", transcript.case);
                same += 1;
            }
        }
    }
    assert!(same > 50, "{same}");
}
