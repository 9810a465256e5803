//! What the real opencode printed when it was recorded, replayed through its adapter without a
//! process.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::fmt::Write as _;
use std::path::Path;

use mia_agents::OpenCode;
use mia_api::{EventBody, OptionKind, PermissionPolicy, PermissionResolution, ResolvedBy};
use mia_plugin::{Call, CliAdapter as _, Out, SessionRecord, Terminal};
use mia_testkit::transcripts::{self, Transcript, Turn};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// An adapter and what it was told.
struct Reader {
    adapter: OpenCode,
    out: Out,
    /// What it sent.
    sent: Vec<Value>,
    asked: Vec<String>,
    noise: usize,
}

impl Reader {
    /// For the recording of a turn that began like this.
    fn of(transcript: &Transcript) -> Self {
        let Some(Turn::Remark(command)) = transcript.dialogue.first() else {
            panic!("{}: no command line", transcript.case)
        };
        let resumed = command.split_once("--resume ").map(|(_, rest)| SessionRecord {
            session_id: rest.split_whitespace().next().unwrap().to_owned(),
            state: json!({"cost_usd": 0.0001}),
        });
        let slash = transcript.case == "unknown-command";
        let mut call = Call::new(if slash { "/nosuch thing" } else { "x" }, Path::new("/w"));
        call.session = resumed.as_ref();
        call.model = command.contains("--model").then_some("fake/nosuch");
        call.permissions = command.ends_with(" --mode").then_some(PermissionPolicy::Edit);
        let mut adapter = OpenCode::default();
        let launch = adapter.build_args(&call).unwrap();
        let sent = vec![serde_json::from_slice(&launch.stdin).unwrap()];
        Self { adapter, out: Out::new(OpenCode::NAME), sent, asked: Vec::new(), noise: 0 }
    }

    /// Reads a line as the spawn base does: nothing after the last word. Questions get the answer
    /// that was recorded.
    fn line(&mut self, line: &str, answer: OptionKind) {
        if self.out.terminal().is_some() {
            return;
        }
        self.noise += usize::from(self.adapter.parse_output(line, &mut self.out).is_err());
        for question in self.out.take_questions() {
            let option_id = question.option(answer).map(str::to_owned);
            self.asked.push(question.title);
            let by = ResolvedBy::Client;
            let resolution = PermissionResolution { id: question.id, option_id, by };
            self.adapter.on_permission(&resolution, &mut self.out);
        }
        let written = String::from_utf8(self.out.take_stdin()).unwrap();
        self.sent.extend(written.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()));
    }
}

fn received(transcript: &Transcript) -> Vec<&str> {
    std::str::from_utf8(&transcript.stdout).unwrap().lines().collect()
}

fn answer(transcript: &Transcript) -> OptionKind {
    if transcript.case == "denied" { OptionKind::RejectOnce } else { OptionKind::AllowOnce }
}

fn short(text: &str) -> String {
    text.chars().take(70).collect()
}

fn said(event: &EventBody) -> String {
    match event {
        EventBody::Token { text, .. } => format!("token {text:?}"),
        EventBody::Thought { text, .. } => format!("thought {text:?}"),
        EventBody::ToolCall(call) => {
            let files: Vec<_> = call.locations.iter().map(|l| l.path.as_str()).collect();
            format!("tool_call {:?} {} {files:?}", call.kind, short(&call.title))
        }
        EventBody::ToolResult(result) => {
            let how = if result.is_error { "failed" } else { "ok" };
            format!("tool_result {} {how} {:?}", result.name, short(&result.output))
        }
        EventBody::Usage { tokens: Some(tokens), cost_usd, .. } => format!(
            "usage {} in, {} out, {:?} cached, {cost_usd:.5?}",
            tokens.input_tokens, tokens.output_tokens, tokens.cache_read
        ),
        EventBody::Usage { context: Some(context), cost_usd, .. } => {
            format!("context of {}, {cost_usd:.5?}", context.size)
        }
        EventBody::Plan { entries, .. } => {
            let steps: Vec<_> = entries.iter().map(|e| (&e.content, &e.status)).collect();
            format!("plan {steps:?}")
        }
        EventBody::Notice { kind, message } => format!("notice {kind:?} {}", short(message)),
        other => other.kind().to_owned(),
    }
}

/// What came of a recording, one line each, without what differs from recording to recording.
fn summary(transcript: &Transcript) -> String {
    let mut reader = Reader::of(transcript);
    for line in received(transcript) {
        reader.line(line, answer(transcript));
    }
    let mut seen = String::new();
    for event in reader.out.take_events() {
        writeln!(seen, "{}", said(&event)).unwrap();
    }
    for title in &reader.asked {
        writeln!(seen, "question {title}").unwrap();
    }
    if reader.noise > 0 {
        writeln!(seen, "{} lines of noise", reader.noise).unwrap();
    }
    let end = match reader.out.terminal() {
        Some(Terminal::Failed(error)) => {
            format!("failed {} {:?}: {}", error.code, error.cause, short(&error.message))
        }
        other => format!("{other:?}"),
    };
    writeln!(seen, "content {:?}\nend {end}", reader.out.content()).unwrap();
    seen
}

#[test]
fn m_026_what_the_recordings_say() {
    let mut all = String::new();
    for transcript in transcripts::opencode() {
        writeln!(all, "# {}\n{}", transcript.case, summary(&transcript)).unwrap();
    }
    insta::assert_snapshot!("opencode_recordings", all);
}

/// What a message of ours asks for or answers, without what is random or differs on purpose.
fn essence(message: &Value) -> (Value, Value, Value) {
    let member = |name: &str| message.get(name).cloned().unwrap_or_default();
    (member("id"), member("method"), member("result"))
}

#[test]
fn m_026_it_sends_what_was_sent_when_it_was_recorded() {
    for transcript in transcripts::opencode() {
        let mut reader = Reader::of(&transcript);
        for line in received(&transcript) {
            reader.line(line, answer(&transcript));
        }
        let recorded = transcript.dialogue.iter().filter_map(|turn| match turn {
            Turn::Sent(line) => Some(serde_json::from_str::<Value>(line).unwrap()),
            _ => None,
        });
        let recorded: Vec<_> = recorded
            .filter(|message| message.get("method") != Some(&"session/cancel".into()))
            .map(|message| essence(&message))
            .collect();
        let sent: Vec<_> = reader.sent.iter().map(essence).collect();
        assert_eq!(sent, recorded, "{}", transcript.case);
    }
}

#[test]
fn m_014_a_part_of_a_line_is_noise_and_says_nothing() {
    for transcript in transcripts::opencode() {
        let mut reader = Reader::of(&transcript);
        for line in received(&transcript) {
            // Of the long lists of what it can do, every 97th.
            let step = if line.len() < 1500 { 1 } else { 97 };
            for part in (1..line.len()).step_by(step).filter_map(|at| line.get(..at)) {
                let mut nothing = Out::new(OpenCode::NAME);
                let read = reader.adapter.clone().parse_output(part, &mut nothing);
                let silent = nothing.terminal().is_none()
                    && nothing.take_events().is_empty()
                    && nothing.take_stdin().is_empty()
                    && nothing.take_questions().is_empty();
                assert!(read.is_err() && silent, "{}: {part}", transcript.case);
            }
            reader.line(line, answer(&transcript));
        }
    }
}

/// Every member of an object, in turn, of another type.
fn with_odd_members(value: &Value) -> Vec<Value> {
    let mut all = vec![json!(7), json!("x"), json!(null), json!([]), json!({})];
    let members: Vec<(String, &Value)> = match value {
        Value::Object(members) => members.iter().map(|(k, v)| (k.clone(), v)).collect(),
        _ => return all,
    };
    for (name, member) in members {
        for odd in with_odd_members(member) {
            let mut changed = value.clone();
            if let Some(object) = changed.as_object_mut() {
                object.insert(name.clone(), odd);
            }
            all.push(changed);
        }
    }
    all
}

#[test]
fn m_016_members_of_wrong_types_break_nothing() {
    for transcript in transcripts::opencode() {
        let mut reader = Reader::of(&transcript);
        for line in received(&transcript) {
            let whole: Value = serde_json::from_str(line).unwrap();
            if line.len() < 3000 {
                for odd in with_odd_members(&whole) {
                    let mut out = Out::new(OpenCode::NAME);
                    let mut adapter = reader.adapter.clone();
                    let _ = adapter.parse_output(&odd.to_string(), &mut out);
                    let _ = adapter.parse_output(line, &mut out);
                }
            }
            reader.line(line, answer(&transcript));
        }
    }
}
