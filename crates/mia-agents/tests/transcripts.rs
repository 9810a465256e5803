//! What the real Claude Code printed when it was recorded, replayed through its adapter without a
//! process.
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Mutex;

use mia_agents::ClaudeCode;
use mia_api::{EventBody, NoticeKind};
use mia_host::framing::{LineEvent, LineSplitter};
use mia_plugin::{Call, CliAdapter as _, Exit, Out, SessionRecord, Terminal};
use mia_testkit::transcripts::{self, Transcript, Turn};
use pretty_assertions::assert_eq;
use serde_json::Value;

/// An adapter that has read something.
#[derive(Clone)]
struct Reader {
    adapter: ClaudeCode,
    noise: usize,
}

impl Reader {
    /// For a recording of a fresh session, or of a resumed one.
    fn of(transcript: &Transcript) -> Self {
        let mut adapter = ClaudeCode::default();
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
        Self { adapter, noise: 0 }
    }

    /// Reads a line as the spawn base does: nothing after the last word.
    fn line(&mut self, line: &str, out: &mut Out) {
        if out.terminal().is_none() && self.adapter.parse_output(line, out).is_err() {
            self.noise += 1;
        }
    }
}

fn lines(transcript: &Transcript) -> Vec<&str> {
    std::str::from_utf8(&transcript.stdout).unwrap().lines().collect()
}

fn text(events: &[EventBody]) -> String {
    let texts = events.iter().filter_map(|event| match event {
        EventBody::Token { text, parent_id: None, .. } => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

/// The events as one line each, without what differs from recording to recording.
fn summary(transcript: &Transcript) -> String {
    let (mut reader, mut out) = (Reader::of(transcript), Out::new(ClaudeCode::NAME));
    for line in lines(transcript) {
        reader.line(line, &mut out);
    }
    let mut seen = String::new();
    let short = |text: &str| text.chars().take(70).collect::<String>();
    for event in out.take_events() {
        let line = match &event {
            EventBody::Token { text, parent_id, .. } => {
                format!("{} {text:?}", if parent_id.is_some() { "sub token" } else { "token" })
            }
            EventBody::Thought { text, parent_id, .. } => {
                format!("{} {text:?}", if parent_id.is_some() { "sub thought" } else { "thought" })
            }
            EventBody::ToolCall(call) => {
                let sub = if call.parent_id.is_some() { "sub " } else { "" };
                format!("{sub}tool_call {:?} {}", call.kind, short(&call.title))
            }
            EventBody::ToolResult(result) => {
                let how = if result.is_error { "failed" } else { "ok" };
                format!("tool_result {} {how} {:?}", result.name, short(&result.output))
            }
            EventBody::Usage { tokens: Some(tokens), cost_usd, .. } => {
                format!(
                    "usage {} in, {} out, {cost_usd:?}",
                    tokens.input_tokens, tokens.output_tokens
                )
            }
            EventBody::Notice { kind, message } => format!("notice {kind:?} {}", short(message)),
            other => other.kind().to_owned(),
        };
        writeln!(seen, "{line}").unwrap();
    }
    for question in out.take_questions() {
        writeln!(seen, "question {}", short(&question.title)).unwrap();
    }
    if reader.noise > 0 {
        writeln!(seen, "{} lines of noise", reader.noise).unwrap();
    }
    let end = match out.terminal() {
        Some(Terminal::Failed(error)) => {
            format!("failed {} {:?}: {}", error.code, error.cause, short(&error.message))
        }
        other => format!("{other:?}"),
    };
    writeln!(seen, "content {:?}\nend {end}", out.content()).unwrap();
    seen
}

#[test]
fn m_026_what_the_recordings_say() {
    let mut all = String::new();
    for transcript in transcripts::claude() {
        writeln!(all, "# {}\n{}", transcript.case, summary(&transcript)).unwrap();
    }
    insta::assert_snapshot!("recordings", all);
}

/// Reads a recording cut at each of its bytes, and checks what is true of each cut.
///
/// All cuts within a line share the state before it, so that the whole costs one line for each byte
/// and not one recording. Of long lines only the first of a kind is cut everywhere: the lists of
/// what claude can do are the same in all recordings.
fn cut_everywhere(transcript: &Transcript, known: &Mutex<HashSet<String>>) {
    let case = &transcript.case;
    let (mut reader, mut out) = (Reader::of(transcript), Out::new(ClaudeCode::NAME));
    let mut said = String::new();
    for line in framed_byte_by_byte(&transcript.stdout) {
        let whole: Value = serde_json::from_str(&line).unwrap();
        let kind = format!("{} {}", whole["type"], whole["subtype"]);
        let step = match line.len() {
            ..2000 => 1,
            _ if known.lock().unwrap().insert(kind) => 1,
            _ => 97,
        };
        let cuts = (1..line.len()).step_by(step);
        for part in cuts.filter_map(|at| line.get(..at)) {
            // A part of a line is noise and says nothing, whatever was said before.
            let mut cut = reader.clone();
            let mut nothing = Out::new(ClaudeCode::NAME);
            cut.line(part, &mut nothing);
            let silent = nothing.terminal().is_none()
                && nothing.take_events().is_empty()
                && nothing.take_stdin().is_empty()
                && nothing.take_questions().is_empty();
            assert!(silent && cut.noise == reader.noise + 1, "{case}: {part}");
        }
        reader.line(&line, &mut out);
        let events = out.take_events();
        said.push_str(&text(&events));
        // The answer so far is what was shown, but for what was taken back with a notice.
        let taken_back =
            |event: &EventBody| matches!(event, EventBody::Notice { kind: NoticeKind::Retry, .. });
        if !said.ends_with(out.content()) {
            assert!(events.iter().any(taken_back), "{case}: {said:?}, {:?}", out.content());
        }
        if events.iter().any(taken_back) {
            said = out.content().to_owned();
        }
    }
    assert_eq!(said, out.content(), "{case}");
    let exit = Exit { code: Some(1), signal: None, stderr: "" };
    reader.adapter.on_exit(&exit, &mut out);
}

fn framed_byte_by_byte(bytes: &[u8]) -> Vec<String> {
    let mut splitter = LineSplitter::new(1 << 20);
    let mut lines = Vec::new();
    let mut take = |splitter: &mut LineSplitter| {
        while let Some(event) = splitter.next_line() {
            let LineEvent::Line(line) = event else { panic!("a line over the cap") };
            lines.push(line.to_str_lossy().into_owned());
        }
    };
    for byte in bytes {
        splitter.push(std::slice::from_ref(byte));
        take(&mut splitter);
    }
    splitter.finish();
    take(&mut splitter);
    lines
}

/// What the whole blocks of the main agent say until its first result: what it finally said.
fn finally_said(transcript: &Transcript) -> String {
    let mut said = String::new();
    for line in lines(transcript) {
        let line: Value = serde_json::from_str(line).unwrap();
        if line["type"] == "result" {
            break;
        }
        let main = line["type"] == "assistant" && line["parent_tool_use_id"].is_null();
        if main && line["message"]["model"] != "<synthetic>" {
            let blocks = line["message"]["content"].as_array().unwrap();
            said.extend(blocks.iter().filter_map(|block| block["text"].as_str()));
        }
    }
    said
}

#[test]
fn m_026_the_answer_is_what_claude_finally_said() {
    let mut answers = 0;
    for transcript in transcripts::claude() {
        let (mut reader, mut out) = (Reader::of(&transcript), Out::new(ClaudeCode::NAME));
        for line in lines(&transcript) {
            reader.line(line, &mut out);
        }
        if matches!(out.terminal(), Some(Terminal::Complete(_))) {
            answers += 1;
            // Paragraphs are ours.
            let content = out.content().replace("\n\n", "");
            assert_eq!(content, finally_said(&transcript), "{}", transcript.case);
        }
    }
    assert!(answers > 20, "{answers}");
}

#[test]
fn m_014_every_recording_cut_at_every_byte() {
    let known = Mutex::default();
    let recordings = transcripts::claude();
    let (one, other) = recordings.split_at(recordings.len() / 2);
    std::thread::scope(|scope| {
        for half in [one, other] {
            scope.spawn(|| half.iter().for_each(|transcript| cut_everywhere(transcript, &known)));
        }
    });
}

#[test]
fn m_014_half_a_character_costs_neither_text_nor_result() {
    let (mut adapter, mut out) = (ClaudeCode::default(), Out::new(ClaudeCode::NAME));
    for line in [
        r#"{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"cut \ud83d"}}}"#,
        r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"1","name":"Bash","input":{"command":"echo \ud83d"}}]}}"#,
        r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"1","content":"\ude00 cut"}]}}"#,
        r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"2","content":[{"type":"text","text":"\ude00"}]}]}}"#,
    ] {
        adapter.parse_output(line, &mut out).unwrap();
    }
    let events = out.take_events();
    let results = events.iter().filter_map(|event| match event {
        EventBody::ToolResult(result) => Some(result.output.as_str()),
        _ => None,
    });
    assert_eq!(results.collect::<Vec<_>>(), ["\u{fffd} cut", "\u{fffd}"]);
    assert_eq!(text(&events), "cut \u{fffd}");
    let command = events.iter().find_map(|event| match event {
        EventBody::ToolCall(call) => call.input["command"].as_str(),
        _ => None,
    });
    assert_eq!(command, Some("echo \u{fffd}"));
}

#[test]
fn m_007_words_on_stderr_count_only_before_its_first_line() {
    let start = r#"{"type":"system","subtype":"init","session_id":"s"}"#;
    for stderr in ["Session ID s is already in use", "error: unknown option '--x'"] {
        for (lines, expected) in [(&[][..], true), (&[start][..], false)] {
            let (mut adapter, mut out) = (ClaudeCode::default(), Out::new(ClaudeCode::NAME));
            for line in lines {
                adapter.parse_output(line, &mut out).unwrap();
            }
            adapter.on_exit(&Exit { code: Some(1), signal: None, stderr }, &mut out);
            assert_eq!(out.terminal().is_some(), expected, "{stderr}: {lines:?}");
        }
    }
}
