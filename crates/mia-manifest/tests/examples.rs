//! The manifests in `examples/manifests`: what they say of recorded and of made-up agents.
#![expect(clippy::panic, reason = "a test")]

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use mia_api::EventBody;
use mia_host::{Supervisor, SupervisorProgram};
use mia_manifest::{Manifest, ManifestAdapter, Replay};
use mia_plugin::conformance::{Prompt, Subject, check};
use mia_plugin::{Call, CliAdapter as _, Exit, Out, SessionRecord};
use mia_testkit::transcripts;
use serde_json::Value;
use tempfile::TempDir;

fn manifest(name: &str) -> Manifest {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/manifests");
    let file = Path::new(folder).join(name).with_extension("yaml");
    Manifest::read(&file).unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

/// An event in a line.
fn short(event: &EventBody) -> String {
    let cut = |text: &str| text.chars().take(70).collect::<String>();
    match event {
        EventBody::Token { text, .. } => format!("token {text:?}"),
        EventBody::Thought { text, .. } => format!("thought {text:?}"),
        EventBody::ToolCall(call) => format!("tool_call {:?} {}", call.kind, cut(&call.title)),
        EventBody::ToolResult(result) => {
            let how = if result.is_error { "failed" } else { "ok" };
            format!("tool_result {} {how} {:?}", result.name, cut(&result.output))
        }
        EventBody::Usage { tokens: Some(tokens), cost_usd, .. } => {
            format!("usage {} in, {} out, {cost_usd:?}", tokens.input_tokens, tokens.output_tokens)
        }
        EventBody::Complete { result } => format!("complete {:?}", result.content),
        EventBody::Error { error } => {
            format!("error {} {:?}: {}", error.code, error.cause, cut(&error.message))
        }
        other => other.kind().to_owned(),
    }
}

#[test]
fn m_025_what_the_recordings_of_opencode_say_through_its_manifest() {
    let manifest = manifest("opencode-run");
    let mut all = String::new();
    for transcript in transcripts::opencode_run() {
        let mut replay = Replay::new(manifest.clone());
        let mut events = replay.read(&transcript.stdout);
        let replayed = replay.finish("t".parse().unwrap(), "c".parse().unwrap());
        events.extend(replayed.events);
        assert!(replayed.noise.is_empty(), "{}: {:?}", transcript.case, replayed.noise);
        writeln!(all, "# {}", transcript.case).unwrap();
        for event in &events {
            writeln!(all, "{}", short(event)).unwrap();
        }
    }
    insta::assert_snapshot!("opencode", all);
}

#[test]
fn m_018_a_lost_session_of_opencode_is_told_on_stderr() {
    let transcript =
        transcripts::opencode_run().into_iter().find(|t| t.case == "f-bad-session").unwrap();
    let stderr = String::from_utf8(transcript.stderr).unwrap();
    let end = |resumed: bool| {
        let mut adapter = ManifestAdapter::new(manifest("opencode-run"));
        let session = SessionRecord { session_id: "nonsense".to_owned(), state: Value::Null };
        let mut call = Call::new("x", Path::new("/w"));
        call.session = resumed.then_some(&session);
        adapter.build_args(&call).unwrap();
        let mut out = Out::new("opencode-run");
        adapter.on_exit(&Exit { code: Some(1), signal: None, stderr: &stderr }, &mut out);
        format!("{:?}", out.terminal())
    };
    assert_eq!(end(true), r#"Some(StaleSession("Error: Session not found"))"#);
    assert_eq!(end(false), "None", "a fresh one can't be lost");
}

#[tokio::test]
async fn m_001_m_025_a_manifest_of_a_made_up_cli_conforms() {
    let folder = TempDir::new().unwrap();
    let agents = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/custom-plugin/bin");
    let path = format!("{agents}:/usr/bin:/bin");
    let notes = folder.path().to_str().unwrap();
    let subject = Subject {
        answer: Prompt::new("one two three", "3 words"),
        tool: Some("one".to_owned()),
        remember: Some("the word is kiwi".to_owned()),
        recall: Prompt::new("read back", "kiwi"),
        busy: "wait".to_owned(),
        environment: [("PATH", path.as_str()), ("JOT_NOTES", notes)].into_iter().collect(),
        ..Subject::new(
            Box::new(|| Arc::new(ManifestAdapter::plugin(manifest("jot")))),
            Supervisor::new(SupervisorProgram::ThisProgram),
            folder.path().into(),
        )
    };
    check(&subject).await.unwrap();
}
