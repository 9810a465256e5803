//! Every subject of the benchmark does what it says, with small numbers.
#![expect(clippy::unwrap_used, reason = "a test")]

use std::path::Path;
use std::process::Command;

use mia_testkit::fakecli::FakeCli;
use pretty_assertions::assert_eq;
use serde_json::Value;

const DELTA: &str = r#"{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"word "}},"session_id":"s"}"#;
const RESULT: &str =
    r#"{"type":"result","subtype":"success","is_error":false,"session_id":"s","result":"done"}"#;

/// Runs a subject around a child with that script, and returns what it prints.
fn subject(mode: &str, folder: &Path, script: &str, args: &[&str]) -> Value {
    let cli = FakeCli::named(folder, "claude");
    cli.script(script);
    let mut command = Command::new(env!("CARGO_BIN_EXE_mia-bench"));
    let output = command.arg(mode).arg(cli.path()).args(args).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_stream_is_delivered_whole_and_scanned_whole() {
    let script = format!("read-line\nrepeat 100 {DELTA}\nout {RESULT}\n");
    let folder = tempfile::tempdir().unwrap();
    let figures = subject("stream", folder.path(), &script, &[]);
    assert_eq!(figures["outcome"], "ok");
    assert_eq!(figures["text_bytes"], 500);
    let folder = tempfile::tempdir().unwrap();
    let figures = subject("scan", folder.path(), &script, &[]);
    assert_eq!(figures["lines"], 101);
    assert_eq!(figures["bytes"], (DELTA.len() + 1) * 100 + RESULT.len() + 1);
}

#[test]
fn a_stream_through_the_dispatcher_is_delivered_whole_and_is_on_record() {
    let script = format!("read-line\nrepeat 100 {DELTA}\nout {RESULT}\n");
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("mia.db");
    let figures = subject("recorded", folder.path(), &script, &[database.to_str().unwrap()]);
    assert_eq!(figures["outcome"], "ok");
    assert_eq!(figures["text_bytes"], 500);
    assert!(database.metadata().unwrap().len() > 0);
}

#[test]
fn a_failed_stream_tells_its_code() {
    let folder = tempfile::tempdir().unwrap();
    let figures = subject("stream", folder.path(), "exit 3\n", &[]);
    assert_eq!(figures["outcome"], "PROCESS_EXIT");
}

#[test]
fn dispatches_in_a_row_and_their_reference_are_timed() {
    for mode in ["bare", "dispatch"] {
        let folder = tempfile::tempdir().unwrap();
        let figures = subject(mode, folder.path(), &format!("out {RESULT}\n"), &["3"]);
        assert!(figures["median_us"].as_f64().unwrap() > 0.0, "{mode}: {figures}");
    }
}

#[test]
fn dispatches_on_record_are_timed() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("mia.db");
    let args = ["3", database.to_str().unwrap()];
    let figures = subject("recorded-each", folder.path(), &format!("out {RESULT}\n"), &args);
    assert!(figures["median_us"].as_f64().unwrap() > 0.0, "{figures}");
}

#[test]
fn a_record_is_filled() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("mia.db");
    let mut command = Command::new(env!("CARGO_BIN_EXE_mia-bench"));
    let output = command.arg("fill").arg(&database).arg("300").output().unwrap();
    assert!(output.status.success());
    let figures: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(figures["tasks"], 300);
    assert!(database.metadata().unwrap().len() > 300 * 200);
}

#[test]
fn many_at_once_run_until_the_gate_is_opened() {
    for mode in ["many-bare", "many"] {
        let folder = tempfile::tempdir().unwrap();
        let gate = folder.path().join("gate");
        let script = format!("out {DELTA}\nwait-file {}\nout {RESULT}\n", gate.to_str().unwrap());
        let args = ["5", gate.to_str().unwrap()];
        let figures = subject(mode, folder.path(), &script, &args);
        assert!(figures["threads"].as_u64().unwrap() > 0, "{mode}: {figures}");
        assert!(gate.exists());
    }
}
