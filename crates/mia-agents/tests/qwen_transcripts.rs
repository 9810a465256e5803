//! What the real Qwen Code printed when it was recorded, replayed through its adapter without a
//! process.
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

use std::fmt::Write as _;
use std::path::Path;

use mia_agents::Qwen;
use mia_api::{EventBody, NoticeKind, PermissionResolution, ResolvedBy};
use mia_plugin::{Call, CliAdapter as _, Exit, Interrupt, Out, SessionRecord, Terminal};
use mia_testkit::transcripts::{self, Transcript, Turn};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// An adapter that has read something, and what it said.
#[derive(Clone)]
struct Reader {
    adapter: Qwen,
    noise: usize,
    questions: Vec<String>,
}

impl Reader {
    /// For a recording of a fresh session, or of a resumed one.
    fn of(transcript: &Transcript, state: Value) -> Self {
        let Some(Turn::Remark(command)) = transcript.dialogue.first() else {
            panic!("{}: no command", transcript.case);
        };
        let session = command.split_once("--resume=").map(|(_, rest)| SessionRecord {
            session_id: rest.split_whitespace().next().unwrap().to_owned(),
            state,
        });
        let mut adapter = Qwen::default();
        let mut call = Call::new("x", Path::new("/w"));
        call.session = session.as_ref();
        adapter.build_args(&call).unwrap();
        Self { adapter, noise: 0, questions: Vec::new() }
    }

    /// Reads a line as the spawn base does: nothing after the last word.
    fn line(&mut self, line: &str, out: &mut Out) {
        if out.terminal().is_none() && self.adapter.parse_output(line, out).is_err() {
            self.noise += 1;
        }
    }

    /// Takes the whole dialogue: who answered then answers now.
    fn dialogue(&mut self, transcript: &Transcript, out: &mut Out) {
        for turn in &transcript.dialogue {
            match turn {
                Turn::Received(line) => self.line(line, out),
                Turn::Sent(line) => self.answer(&serde_json::from_str(line).unwrap(), out),
                Turn::Remark(_) => {}
            }
            let asked = out.take_questions();
            self.questions.extend(asked.into_iter().map(|question| question.title));
        }
        let is_of_stderr = |turn: &Turn| match turn {
            Turn::Remark(remark) => remark.strip_prefix("stderr ").map(str::to_owned),
            _ => None,
        };
        let stderr: Vec<_> = transcript.dialogue.iter().filter_map(is_of_stderr).collect();
        if out.terminal().is_none() {
            let exit = Exit { code: Some(1), signal: None, stderr: &stderr.join("\n") };
            self.adapter.on_exit(&exit, out);
        }
    }

    fn answer(&mut self, sent: &Value, out: &mut Out) {
        if sent["type"] != "control_response" {
            return;
        }
        let response = &sent["response"];
        let allowed = response["response"]["behavior"] == "allow";
        let option = if allowed { "allow_once" } else { "reject_once" };
        let resolution = PermissionResolution {
            id: response["request_id"].as_str().unwrap().to_owned(),
            option_id: Some(option.to_owned()),
            by: ResolvedBy::Client,
        };
        out.take_stdin();
        self.adapter.on_permission(&resolution, out);
        let said: Value = serde_json::from_slice(&out.take_stdin()).unwrap();
        assert_eq!(said, *sent, "what qwen understood then it is told now");
    }
}

fn lines(transcript: &Transcript) -> Vec<&str> {
    std::str::from_utf8(&transcript.stdout).unwrap().lines().collect()
}

fn short(text: &str) -> String {
    text.chars().take(70).collect()
}

/// An event as one line, without what differs from recording to recording.
fn told(event: &EventBody) -> String {
    let sub = |parent: &Option<String>| if parent.is_some() { "sub " } else { "" };
    match event {
        EventBody::Token { text, parent_id, .. } => {
            format!("{}token {:?}", sub(parent_id), short(text))
        }
        EventBody::Thought { text, parent_id, .. } => format!("{}thought {text:?}", sub(parent_id)),
        EventBody::ToolCall(call) => {
            format!("{}tool_call {:?} {}", sub(&call.parent_id), call.kind, short(&call.title))
        }
        EventBody::ToolResult(result) => {
            let how = if result.is_error { "failed" } else { "ok" };
            format!("tool_result {} {how} {:?}", result.name, short(&result.output))
        }
        EventBody::Usage { tokens: Some(tokens), .. } => {
            format!(
                "usage {} in, {} out, {:?} cached",
                tokens.input_tokens, tokens.output_tokens, tokens.cache_read
            )
        }
        EventBody::Notice { kind, message } => format!("notice {kind:?} {}", short(message)),
        other => other.kind().to_owned(),
    }
}

fn summary(transcript: &Transcript) -> String {
    let (mut reader, mut out) = (Reader::of(transcript, Value::Null), Out::new(Qwen::NAME));
    reader.dialogue(transcript, &mut out);
    let mut seen: String = out.take_events().iter().map(|event| told(event) + "\n").collect();
    for question in reader.questions {
        writeln!(seen, "question {}", short(&question)).unwrap();
    }
    if reader.noise > 0 {
        writeln!(seen, "{} lines of noise", reader.noise).unwrap();
    }
    let end = match out.terminal() {
        Some(Terminal::Failed(error)) => {
            let hint = if error.hint.is_some() { ", with a hint" } else { "" };
            format!("failed {} {:?}: {}{hint}", error.code, error.cause, short(&error.message))
        }
        other => format!("{other:?}"),
    };
    writeln!(seen, "content {:?}\nend {end}", short(out.content())).unwrap();
    seen
}

#[test]
fn m_026_what_the_recordings_say() {
    let mut all = String::new();
    for transcript in transcripts::qwen() {
        writeln!(all, "# {}\n{}", transcript.case, summary(&transcript)).unwrap();
    }
    insta::assert_snapshot!("recordings", all);
}

fn recording(case: &str) -> Transcript {
    transcripts::qwen().into_iter().find(|transcript| transcript.case == case).unwrap()
}

fn tokens(events: &[EventBody]) -> Vec<u64> {
    let tokens = events.iter().filter_map(|event| match event {
        EventBody::Usage { tokens: Some(tokens), .. } => Some(tokens.input_tokens),
        _ => None,
    });
    tokens.collect()
}

/// The tokens in the last line of a recording, which are those of the whole session.
fn of_the_session(transcript: &Transcript) -> (u64, Value) {
    let lines = lines(transcript);
    let line: Value = serde_json::from_str(lines.last().unwrap()).unwrap();
    let usage = &line["usage"];
    let number = |key: &str| usage[key].as_u64().unwrap();
    let state = json!({
        "input": number("input_tokens"),
        "output": number("output_tokens"),
        "cached": number("cache_read_input_tokens"),
    });
    (number("input_tokens"), state)
}

#[test]
fn m_006_a_turn_counts_what_the_session_had_not_used_before() {
    let [first, second, third] =
        ["session-1", "session-2-resume", "session-3-resume"].map(recording);
    let (one, state_one) = of_the_session(&first);
    let (two, state_two) = of_the_session(&second);
    let (three, _) = of_the_session(&third);
    assert!(one < two && two < three, "it is cumulative");
    for (transcript, state, expected) in [
        (&first, Value::Null, one),
        (&second, state_one, two - one),
        (&third, state_two, three - two),
    ] {
        let (mut reader, mut out) = (Reader::of(transcript, state), Out::new(Qwen::NAME));
        reader.dialogue(transcript, &mut out);
        assert_eq!(tokens(&out.take_events()), [expected], "{}", transcript.case);
    }
    // Nothing is remembered: then what the messages told, and not the whole session.
    for odd in [Value::Null, json!({"input": "x"}), json!({"input": u64::MAX, "output": 0})] {
        let (mut reader, mut out) = (Reader::of(&third, odd), Out::new(Qwen::NAME));
        reader.dialogue(&third, &mut out);
        assert_eq!(tokens(&out.take_events()), [19236]);
    }
}

#[test]
fn m_014_no_member_of_an_odd_type_costs_a_line_or_more() {
    let odd = [json!(null), json!(7), json!(-1.5), json!("x"), json!([1]), json!({"a": [{}]})];
    for transcript in transcripts::qwen() {
        for line in lines(&transcript) {
            let whole: Value = serde_json::from_str(line).unwrap();
            let members: Vec<String> = whole.as_object().unwrap().keys().cloned().collect();
            for member in members.iter().filter(|member| *member != "type") {
                for value in &odd {
                    let mut line = whole.clone();
                    line[member.as_str()] = value.clone();
                    let (mut reader, mut out) =
                        (Reader::of(&transcript, Value::Null), Out::new(Qwen::NAME));
                    reader.line(&line.to_string(), &mut out);
                    // A question that can't be understood is noise; nothing else is.
                    let question = line["type"] == "control_request" && member == "request";
                    assert!(reader.noise == 0 || question, "{}: {line}", transcript.case);
                }
            }
            let missing: Vec<Value> = members
                .iter()
                .filter(|member| *member != "type")
                .map(|member| {
                    let mut line = whole.clone();
                    line.as_object_mut().unwrap().remove(member);
                    line
                })
                .collect();
            for line in missing {
                let (mut reader, mut out) =
                    (Reader::of(&transcript, Value::Null), Out::new(Qwen::NAME));
                reader.line(&line.to_string(), &mut out);
                assert_eq!(reader.noise, 0, "{}: {line}", transcript.case);
            }
        }
    }
}

/// A line of the stream with this text.
fn delta(text: &str) -> String {
    let delta = json!({"type": "text_delta", "text": text});
    stream(&json!({"type": "content_block_delta", "index": 0, "delta": delta}))
}

fn stream(event: &Value) -> String {
    json!({"type": "stream_event", "session_id": "s", "parent_tool_use_id": null, "event": event})
        .to_string()
}

fn retry(preserve: bool) -> String {
    let data = json!({"reason": "retry", "discardedToolCalls": 0, "preserveText": preserve});
    json!({"type": "system", "subtype": "retry", "data": data}).to_string()
}

fn result(error: Option<&str>) -> String {
    match error {
        Some(error) => {
            json!({"type": "result", "subtype": "error_during_execution", "is_error": true,
            "duration_ms": 5, "num_turns": 1, "session_id": "s", "error": {"message": error}})
        }
        None => json!({"type": "result", "subtype": "success", "is_error": false, "duration_ms": 5,
            "num_turns": 1, "session_id": "s", "result": ""}),
    }
    .to_string()
}

/// What the events said as text, and what the answer is.
fn replayed(lines: &[String]) -> (String, String, Out) {
    let mut adapter = Qwen::default();
    adapter.build_args(&Call::new("x", Path::new("/w"))).unwrap();
    let mut out = Out::new(Qwen::NAME);
    for line in lines {
        adapter.parse_output(line, &mut out).unwrap();
    }
    let texts = out.take_events().into_iter().filter_map(|event| match event {
        EventBody::Token { text, .. } => Some(text),
        _ => None,
    });
    (texts.collect(), out.content().to_owned(), out)
}

#[test]
fn m_006_text_after_a_cut_is_told_once_whether_the_model_goes_on_or_not() {
    let start = stream(&json!({"type": "message_start", "message": {"id": "m"}}));
    let cases: [(&[&str], &[&str], &str); 5] = [
        (&["the whole "], &["answer"], "the whole answer"),
        (&["the whole "], &["the ", "whole answer"], "the whole answer"),
        (&["the whole "], &["the end"], "the whole the end"),
        // Short words may well be said twice.
        (&["ha "], &["ha ha"], "ha ha ha"),
        // It ends in the middle of what was said before: so it was no repetition.
        (&["the whole "], &["the"], "the whole the"),
    ];
    for (before, after, expected) in cases {
        let mut lines = vec![start.clone()];
        lines.extend(before.iter().map(|text| delta(text)));
        lines.push(retry(true));
        lines.extend(after.iter().map(|text| delta(text)));
        lines.push(result(None));
        let (said, content, _) = replayed(&lines);
        assert_eq!((said.as_str(), content.as_str()), (expected, expected));
    }
    // Begun again: other words replace the first ones in the result.
    let again = [
        start.clone(),
        delta("one two"),
        retry(false),
        retry(false),
        start,
        delta("one three"),
        result(None),
    ];
    let (said, content, _) = replayed(&again);
    assert_eq!((said.as_str(), content.as_str()), ("one two\none three", "one three"));
}

#[test]
fn m_034_an_error_of_the_provider_is_no_visible_output() {
    let error = "[API Error: 500 broken]";
    let (said, content, out) = replayed(&[delta(error), result(Some(error))]);
    assert_eq!((said.as_str(), content.as_str()), ("", ""));
    let Some(Terminal::Failed(failed)) = out.terminal() else { panic!("{out:?}") };
    assert_eq!(failed.message, error);
    // A model that says such words says them.
    for lines in [vec![delta(error), result(None)], vec![delta(error), result(Some("other"))]] {
        assert_eq!(replayed(&lines).0, error);
    }
}

#[test]
fn m_026_retries_are_told_once_each() {
    let transcript = recording("error-429");
    let (mut reader, mut out) = (Reader::of(&transcript, Value::Null), Out::new(Qwen::NAME));
    reader.dialogue(&transcript, &mut out);
    let notices: Vec<String> = out
        .take_events()
        .into_iter()
        .filter_map(|event| match event {
            EventBody::Notice { kind: NoticeKind::Retry, message } => Some(message),
            _ => None,
        })
        .collect();
    assert_eq!(
        notices,
        [
            "the provider failed; qwen tries again in 60 s (retry 1 of 10)",
            "the provider failed; qwen tries again in 120 s (retry 2 of 10)",
            "the provider failed; qwen tries again in 240 s (retry 3 of 10)",
        ]
    );
}

#[test]
fn m_026_an_answer_that_comes_too_late_is_told_to_nobody() {
    let transcript = recording("ask-timeout");
    let (mut reader, mut out) = (Reader::of(&transcript, Value::Null), Out::new(Qwen::NAME));
    let (mut asked, mut answered) = (None, None);
    for line in lines(&transcript) {
        reader.line(line, &mut out);
        asked = out.take_questions().pop().map(|question| question.id).or(asked);
        if line.contains("Control request timeout") {
            let (option_id, by) = (Some("allow_once".to_owned()), ResolvedBy::Client);
            let id = asked.clone().unwrap();
            out.take_stdin();
            reader.adapter.on_permission(&PermissionResolution { id, option_id, by }, &mut out);
            answered = Some(out.take_stdin());
        }
    }
    assert_eq!(answered, Some(Vec::new()));
}

#[test]
fn m_014_half_a_character_costs_neither_text_nor_result() {
    let lines = [
        r#"{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"cut \ud83d"}}}"#,
        r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"1","name":"run_shell_command","input":{"command":"echo \ud83d"}}]}}"#,
        r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"1","content":"\ude00 cut"}]}}"#,
        r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"2","content":[{"type":"text","text":"\ude00"}]}]}}"#,
    ];
    let (mut adapter, mut out) = (Qwen::default(), Out::new(Qwen::NAME));
    for line in lines {
        adapter.parse_output(line, &mut out).unwrap();
    }
    let events: Vec<_> = out.take_events().iter().map(told).collect();
    assert_eq!(
        events,
        [
            "token \"cut \u{fffd}\"",
            "tool_call Execute run_shell_command echo \u{fffd}",
            "tool_result run_shell_command ok \"\u{fffd} cut\"",
            "tool_result  ok \"\u{fffd}\"",
        ]
    );
}

#[test]
fn m_007_words_on_stderr_count_only_before_its_first_line() {
    let start = r#"{"type":"system","subtype":"init","session_id":"s"}"#;
    for stderr in ["No saved session found with 1", "Unknown argument: x", "env: node: not found"] {
        for (lines, expected) in [(&[][..], true), (&[start][..], false)] {
            let (mut adapter, mut out) = (Qwen::default(), Out::new(Qwen::NAME));
            for line in lines {
                adapter.parse_output(line, &mut out).unwrap();
            }
            adapter.on_exit(&Exit { code: Some(127), signal: None, stderr }, &mut out);
            assert_eq!(out.terminal().is_some(), expected, "{stderr}: {lines:?}");
        }
    }
}

#[test]
fn m_026_a_failed_sub_agent_is_known_after_any_number_of_others() {
    // Only the ids of those that work are kept.
    let mut lines = Vec::new();
    for id in 0..1005 {
        let call = json!({"type": "tool_use", "id": id.to_string(), "name": "agent", "input": {}});
        lines.push(json!({"type": "assistant", "message": {"content": [call]}}).to_string());
        if id < 1004 {
            let ended = json!({"type": "tool_result", "tool_use_id": id.to_string()});
            lines.push(json!({"type": "user", "message": {"content": [ended]}}).to_string());
        }
    }
    let failed = json!({"type": "result", "is_error": true, "duration_ms": 0, "num_turns": 0});
    lines.push(failed.to_string());
    assert!(replayed(&lines).2.terminal().is_none(), "a sub-agent's failure is not the turn's");
}

#[test]
fn m_024_it_is_asked_to_stop_only_once_it_takes_requests() {
    let (mut reader, mut out) = (Reader::of(&recording("session-1"), Value::Null), Out::new("q"));
    assert_eq!(reader.adapter.interrupt(&mut out), Interrupt::None);
    assert!(out.take_stdin().is_empty());
    reader.line(r#"{"type":"control_response","response":{"subtype":"success"}}"#, &mut out);
    assert_eq!(reader.adapter.interrupt(&mut out), Interrupt::Written);
    assert!(!out.take_stdin().is_empty());
}
