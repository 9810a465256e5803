//! What the real opencode printed when it was recorded, replayed through its adapter without a
//! process.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::fmt::Write as _;
use std::path::Path;

use mia_agents::OpenCode;
use mia_api::{
    Cause, ErrorCode, EventBody, OptionKind, PermissionPolicy, PermissionResolution, ResolvedBy,
};
use mia_plugin::{Call, CliAdapter as _, Exit, Out, SessionRecord, Terminal};
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

fn recording(case: &str) -> Transcript {
    transcripts::opencode().into_iter().find(|transcript| transcript.case == case).unwrap()
}

/// A turn whose prompt was sent, in the session `s`.
fn prompted() -> Reader {
    let mut reader = Reader::of(&recording("answer"));
    for id in [1, 2] {
        let answer = json!({"jsonrpc": "2.0", "id": id, "result": {"sessionId": "s"}});
        reader.line(&answer.to_string(), OptionKind::AllowOnce);
    }
    reader
}

fn updated(update: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s","update":{update}}}}}"#
    )
}

#[test]
fn m_014_half_a_character_costs_neither_text_nor_result() {
    let mut reader = prompted();
    for update in [
        r#"{"sessionUpdate":"agent_message_chunk","messageId":"m","content":{"type":"text","text":"cut \ud83d"}}"#,
        r#"{"sessionUpdate":"tool_call","toolCallId":"1","title":"bash","kind":"execute","status":"in_progress","rawInput":{"command":"echo \ud83d"}}"#,
        r#"{"sessionUpdate":"tool_call_update","toolCallId":"1","status":"completed","content":[{"type":"content","content":{"type":"text","text":"\ude00 cut"}}]}"#,
    ] {
        reader.line(&updated(update), OptionKind::AllowOnce);
    }
    let events: Vec<_> = reader.out.take_events().iter().map(said).collect();
    assert_eq!(
        events,
        [
            "token \"cut \u{fffd}\"",
            "tool_call Execute bash echo \u{fffd} []",
            "tool_result bash ok \"\u{fffd} cut\"",
        ]
    );
    assert_eq!((reader.noise, reader.out.content()), (0, "cut \u{fffd}"));
}

/// A call and a question about it, as they were recorded. The question comes before its call's
/// input now and then.
fn asks(id: u64, tool: &str, input: &Value, said: &Value) -> [String; 3] {
    let call = json!({"sessionUpdate": "tool_call", "toolCallId": id.to_string(), "title": tool,
        "status": "pending", "rawInput": {}});
    let runs = json!({"sessionUpdate": "tool_call_update", "toolCallId": id.to_string(),
        "title": tool, "status": "in_progress", "rawInput": input});
    let options = json!([
        {"optionId": "once", "kind": "allow_once"},
        {"optionId": "always", "kind": "allow_always"},
        {"optionId": "reject", "kind": "reject_once"},
    ]);
    let about = json!({"toolCallId": id.to_string(), "title": "/etc", "rawInput": said});
    let params = json!({"sessionId": "s", "toolCall": about, "options": options});
    let method = "session/request_permission";
    let asks = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    [updated(&call.to_string()), asks.to_string(), updated(&runs.to_string())]
}

#[test]
fn m_026_always_for_a_call_outside_is_for_no_other_call_there() {
    let mut reader = prompted();
    let read = |path: &str| json!({"filePath": path});
    let path = |path: &str| json!({"filepath": path, "parentDir": "/etc"});
    let command = json!({"command": "rm /etc/hosts", "description": "x", "cwd": "/w"});
    let folders =
        json!({"command": "rm /etc/hosts", "directories": ["/etc"], "patterns": ["/etc/*"]});
    for (id, tool, input, said) in [
        (10, "read", read("/etc/hosts"), path("/etc/hosts")),
        (11, "read", read("/etc/hosts"), path("/etc/hosts")),
        (12, "bash", command, folders),
        (13, "read", read("/etc/passwd"), path("/etc/passwd")),
        (14, "write", json!({"filePath": "/etc/hosts", "content": "x"}), path("/etc/hosts")),
        (15, "write", json!({"filePath": "/etc/hosts", "content": "x"}), path("/etc/hosts")),
    ] {
        for line in asks(id, tool, &input, &said) {
            reader.line(&line, OptionKind::AllowAlways);
        }
    }
    let place = "(outside the folder: /etc)";
    assert_eq!(
        reader.asked,
        [
            format!("read /etc/hosts {place}"),
            format!("bash rm /etc/hosts {place}"),
            format!("read /etc/passwd {place}"),
            format!("write /etc/hosts {place}"),
            format!("write /etc/hosts {place}"),
        ]
    );
    let answers = reader.sent.iter().filter_map(|sent| sent.pointer("/result/outcome/optionId"));
    // "Always" is not offered for an edit, so that this answer to it is none.
    assert_eq!(answers.collect::<Vec<_>>(), ["once", "once", "once", "once", "reject", "reject"]);
}

#[test]
fn m_026_questions_that_never_say_what_they_are_about_are_not_kept_without_end() {
    let mut reader = prompted();
    for id in 10..1011 {
        let [call, asks, _] = asks(id, "read", &Value::Null, &json!({}));
        reader.line(&call, OptionKind::AllowOnce);
        reader.line(&asks, OptionKind::AllowOnce);
    }
    let answered =
        reader.sent.iter().filter_map(|sent| Some((sent.get("id")?, sent.get("result")?)));
    let refused = json!({"outcome": {"outcome": "selected", "optionId": "reject"}});
    assert_eq!(answered.collect::<Vec<_>>(), [(&json!(1010), &refused)]);
    assert_eq!(reader.asked, Vec::<String>::new());
}

#[test]
fn m_018_only_a_session_that_is_gone_is_stale() {
    let recorded = recording("stale");
    let stale = received(&recorded).pop().unwrap();
    let unknown = Some((ErrorCode::Unknown, Cause::NoResult));
    for (change, expected) in [
        (json!({}), None),
        (json!({"code": -32000}), Some((ErrorCode::ProviderError, Cause::Authentication))),
        (json!({"data": {"service": "config"}}), unknown),
        (json!({"data": null}), unknown),
        (json!({"code": -32602}), unknown),
        (json!({"data": {"service": "session", "errorName": "UnknownError"}}), unknown),
    ] {
        let mut reader = Reader::of(&recorded);
        let mut line: Value = serde_json::from_str(stale).unwrap();
        let error = line.get_mut("error").and_then(Value::as_object_mut).unwrap();
        error.extend(change.as_object().unwrap().clone());
        for line in received(&recorded).into_iter().filter(|line| *line != stale) {
            reader.line(line, OptionKind::AllowOnce);
        }
        reader.line(&line.to_string(), OptionKind::AllowOnce);
        match (reader.out.terminal(), expected) {
            (Some(Terminal::Failed(error)), Some((code, cause))) => {
                assert_eq!((error.code, error.cause), (code, Some(cause)), "{change}");
                assert!(error.hint.is_some(), "{error:?}");
            }
            (Some(Terminal::StaleSession(_)), None) => {}
            other => panic!("{change}: {other:?}"),
        }
    }
}

#[test]
fn m_007_words_on_stderr_count_only_before_its_first_line() {
    let exit = Exit { code: Some(1), signal: None, stderr: "sqlite: database is locked" };
    let recorded = recording("answer");
    for (lines, expected) in [(0, true), (1, false)] {
        let mut reader = Reader::of(&recorded);
        for line in received(&recorded).into_iter().take(lines) {
            reader.line(line, OptionKind::AllowOnce);
        }
        reader.adapter.on_exit(&exit, &mut reader.out);
        assert_eq!(reader.out.terminal().is_some(), expected, "{lines}");
    }
}
