//! What the real Gemini CLI printed when it was recorded, replayed through its adapter without a
//! process.
#![expect(clippy::unwrap_used, reason = "a test")]

use std::fmt::Write as _;
use std::path::Path;

use mia_agents::Gemini;
use mia_api::{Cause, EventBody, NoticeKind};
use mia_plugin::{Call, CliAdapter as _, Exit, Out, SessionRecord, Terminal};
use mia_testkit::transcripts::{self, Transcript};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// The adapter of a fresh session or of a resumed one, with a policy or without.
fn adapter(transcript: &Transcript) -> Gemini {
    let mut adapter = Gemini::default();
    let resumed = transcript.meta.split_once("--resume=").map(|(_, rest)| SessionRecord {
        session_id: rest.split_whitespace().next().unwrap().to_owned(),
        state: Value::Null,
    });
    let mut call = Call::new("x", Path::new("/w"));
    call.session = resumed.as_ref();
    if transcript.meta.contains("--approval-mode") {
        call.permissions = Some(mia_api::PermissionPolicy::Full);
    }
    adapter.build_args(&call).unwrap();
    adapter
}

fn lines(transcript: &Transcript) -> Vec<&str> {
    std::str::from_utf8(&transcript.stdout).unwrap().lines().collect()
}

/// Replays a recording as the spawn base does: nothing after the last word, and its exit where
/// there is none.
fn replay(transcript: &Transcript) -> (Out, usize) {
    let (mut adapter, mut out) = (adapter(transcript), Out::new(Gemini::NAME));
    let mut noise = 0;
    for line in lines(transcript) {
        if out.terminal().is_none() && adapter.parse_output(line, &mut out).is_err() {
            noise += 1;
        }
    }
    if out.terminal().is_none() {
        let (_, rc) = transcript.meta.split_once("\nrc: ").unwrap();
        let code = rc.lines().next().unwrap().parse().ok();
        let stderr = std::str::from_utf8(&transcript.stderr).unwrap();
        adapter.on_exit(&Exit { code, signal: None, stderr }, &mut out);
    }
    (out, noise)
}

/// The events as one line each, without what differs from recording to recording.
fn summary(transcript: &Transcript) -> String {
    let (mut out, noise) = replay(transcript);
    let mut seen = String::new();
    let short = |text: &str| text.chars().take(90).collect::<String>();
    for event in out.take_events() {
        let line = match &event {
            EventBody::Token { text, .. } => format!("token {text:?}"),
            EventBody::ToolCall(call) => {
                format!("tool_call {:?} {}", call.kind, short(&call.title))
            }
            EventBody::ToolResult(result) => {
                let how = if result.is_error { "failed" } else { "ok" };
                format!("tool_result {} {how} {:?}", result.name, short(&result.output))
            }
            EventBody::Usage { tokens: Some(tokens), .. } => {
                let (input, output) = (tokens.input_tokens, tokens.output_tokens);
                format!("usage {input} in, {output} out, {:?} cached", tokens.cache_read)
            }
            EventBody::Plan { entries, .. } => format!("plan {entries:?}"),
            EventBody::Notice { kind, message } => format!("notice {kind:?} {}", short(message)),
            other => other.kind().to_owned(),
        };
        writeln!(seen, "{line}").unwrap();
    }
    if noise > 0 {
        writeln!(seen, "{noise} lines of noise").unwrap();
    }
    let end = match out.terminal() {
        Some(Terminal::Failed(error)) => format!(
            "failed {} {:?}: {}\nhint {:?}",
            error.code,
            error.cause,
            short(&error.message),
            error.hint
        ),
        other => format!("{other:?}"),
    };
    writeln!(seen, "content {:?}\nend {end}", out.content()).unwrap();
    seen
}

#[test]
fn m_026_what_the_recordings_say() {
    let mut all = String::new();
    for transcript in transcripts::gemini() {
        writeln!(all, "# {}\n{}", transcript.case, summary(&transcript)).unwrap();
    }
    insta::assert_snapshot!("gemini", all);
}

#[test]
fn m_006_a_message_that_is_told_again_is_in_the_answer_once() {
    let whole = "the whole answer, in words that are long enough ";
    let mut seen = 0;
    for transcript in transcripts::gemini() {
        if matches!(transcript.case.as_str(), "d-cut-once" | "d-cut-twice") {
            seen += 1;
            let (mut out, _) = replay(&transcript);
            assert_eq!(out.content(), whole, "{}", transcript.case);
            let events = out.take_events();
            let retries = events
                .iter()
                .filter(|event| matches!(event, EventBody::Notice { kind: NoticeKind::Retry, .. }));
            assert!(retries.count() > 0, "{}", transcript.case);
        }
    }
    assert_eq!(seen, 2);
}

#[test]
fn m_014_a_part_of_a_line_is_noise_and_says_nothing() {
    for transcript in transcripts::gemini() {
        let (mut reader, mut out) = (adapter(&transcript), Out::new(Gemini::NAME));
        for line in lines(&transcript) {
            for part in (1..line.len()).filter_map(|at| line.get(..at)) {
                let (mut cut, mut nothing) = (reader.clone(), Out::new(Gemini::NAME));
                assert!(cut.parse_output(part, &mut nothing).is_err(), "{part}");
                assert!(nothing.terminal().is_none() && nothing.take_events().is_empty(), "{part}");
            }
            reader.parse_output(line, &mut out).unwrap();
        }
    }
}

#[test]
fn m_026_words_on_stderr_tell_of_its_start_only_where_it_said_nothing() {
    let end = |line: Option<&str>, code: i32, stderr: &str| {
        let (mut adapter, mut out) = (Gemini::default(), Out::new(Gemini::NAME));
        let session = SessionRecord { session_id: "s".to_owned(), state: Value::Null };
        let mut call = Call::new("x", Path::new("/w"));
        call.session = Some(&session);
        adapter.build_args(&call).unwrap();
        if let Some(line) = line {
            adapter.parse_output(line, &mut out).unwrap();
        }
        adapter.on_exit(&Exit { code: Some(code), signal: None, stderr }, &mut out);
        out.terminal().cloned()
    };
    let init = r#"{"type":"init","session_id":"s","model":"m"}"#;
    let Some(Terminal::Failed(error)) = end(None, 1, "Unknown argument: nope") else {
        unreachable!("an old program");
    };
    assert_eq!(error.cause, Some(Cause::NotExecutable));
    let hint = error.hint.unwrap();
    assert!(hint.contains("mia plugin upgrade gemini"), "{hint}");
    assert_eq!(end(Some(init), 1, "Unknown argument: nope"), None);
    assert_eq!(end(Some(init), 1, "Invalid values:"), None);
    // A session that is gone is begun afresh, which must not be done to one that has worked.
    let stale = "Error resuming session: none";
    assert!(matches!(end(None, 42, stale), Some(Terminal::StaleSession(_))));
    assert!(matches!(end(Some(init), 42, stale), Some(Terminal::Failed(_))));
}

/// Every member of every line, one after the other, missing or of another type.
#[test]
fn m_014_a_member_of_an_odd_type_does_not_lose_its_line() {
    let odd = [json!(null), json!(-5.5), json!([1]), json!({"type": 1}), json!("x"), json!(true)];
    for transcript in transcripts::gemini() {
        let (mut reader, mut out) = (adapter(&transcript), Out::new(Gemini::NAME));
        for line in lines(&transcript) {
            let whole: Value = serde_json::from_str(line).unwrap();
            for member in whole.as_object().unwrap().keys().filter(|member| *member != "type") {
                let mut missing = whole.clone();
                missing.as_object_mut().unwrap().remove(member);
                let others = odd.iter().map(|value| {
                    let mut other = whole.clone();
                    other.as_object_mut().unwrap().insert(member.clone(), value.clone());
                    other
                });
                for changed in others.chain([missing]) {
                    let (mut read, mut said) = (reader.clone(), Out::new(Gemini::NAME));
                    let read = read.parse_output(&changed.to_string(), &mut said);
                    assert!(read.is_ok(), "{changed}");
                }
            }
            reader.parse_output(line, &mut out).unwrap();
        }
    }
}
