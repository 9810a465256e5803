//! What the real Codex printed when it was recorded, replayed through its adapter without a
//! process.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::fmt::Write as _;
use std::path::Path;

use mia_agents::Codex;
use mia_api::{
    Cause, ErrorCode, EventBody, PermissionPolicy, PermissionResolution, ResolvedBy, StopReason,
};
use mia_plugin::{Call, CliAdapter as _, Exit, Interrupt, Out, SessionRecord, Terminal};
use mia_testkit::transcripts::{self, Transcript, Turn};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// An adapter in a dialogue, and all that came of it.
#[derive(Clone)]
struct Replay {
    adapter: Codex,
    /// What it wrote.
    written: Vec<Value>,
    noise: usize,
}

fn lines(bytes: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(bytes).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

impl Replay {
    /// Begins as the recorded run did.
    fn of(transcript: &Transcript) -> Self {
        let Some(Turn::Remark(remark)) = transcript.dialogue.first() else { panic!("no remark") };
        let mut words = remark.split(' ').skip(1);
        let policy = match words.next().unwrap() {
            "own" => None,
            "read-only" => Some(PermissionPolicy::ReadOnly),
            "edit" => Some(PermissionPolicy::Edit),
            "full" => Some(PermissionPolicy::Full),
            odd => panic!("{odd}"),
        };
        let session = words.nth(1).map(|id| SessionRecord {
            session_id: id.to_owned(),
            state: json!({"policy": "full"}),
        });
        let sent = |member: &str| {
            let found = transcript.dialogue.iter().find_map(|turn| match turn {
                Turn::Sent(line) => {
                    let line: Value = serde_json::from_str(line).unwrap();
                    line.pointer(member).cloned()
                }
                _ => None,
            });
            found.and_then(|value| value.as_str().map(str::to_owned))
        };
        let prompt = sent("/params/input/0/text").unwrap_or_default();
        let model = sent("/params/model");
        let mut call = Call::new(&prompt, Path::new("/w"));
        call.permissions = policy;
        call.session = session.as_ref();
        call.model = model.as_deref();
        let mut adapter = Codex::default();
        let launch = adapter.build_args(&call).unwrap();
        assert!(launch.dialogue);
        Self { adapter, written: lines(&launch.stdin), noise: 0 }
    }

    /// Reads a line as the spawn base does: nothing after the last word.
    fn line(&mut self, line: &str, out: &mut Out) {
        if out.terminal().is_none() && self.adapter.parse_output(line, out).is_err() {
            self.noise += 1;
        }
        self.written.extend(lines(&out.take_stdin()));
    }

    /// Replays all of it, with the answers that were recorded.
    fn all(transcript: &Transcript, out: &mut Out) -> Self {
        let mut replay = Self::of(transcript);
        for turn in &transcript.dialogue {
            match turn {
                Turn::Received(line) => replay.line(line, out),
                Turn::Sent(line) if line.contains("turn/interrupt") => {
                    assert_eq!(replay.adapter.interrupt(out), Interrupt::Written);
                    replay.written.extend(lines(&out.take_stdin()));
                }
                Turn::Sent(line) => {
                    let yes = line.contains(r#""accept""#);
                    for question in out.take_questions() {
                        let option_id = yes.then(|| "allow_once".to_owned());
                        let (id, by) = (question.id, ResolvedBy::Client);
                        let resolution = PermissionResolution { id, option_id, by };
                        replay.adapter.on_permission(&resolution, out);
                        replay.written.extend(lines(&out.take_stdin()));
                    }
                }
                Turn::Remark(_) => {}
            }
        }
        replay
    }
}

fn recorded() -> Vec<Transcript> {
    let all = transcripts::codex();
    assert!(all.len() > 30, "{}", all.len());
    all
}

/// The events as one line each, without what differs from recording to recording.
fn summary(transcript: &Transcript) -> String {
    let mut out = Out::new(Codex::NAME);
    let replay = Replay::all(transcript, &mut out);
    let mut seen = String::new();
    let short = |text: &str| text.chars().take(90).collect::<String>();
    for event in out.take_events() {
        let line = match &event {
            EventBody::Token { text, parent_id, .. } => {
                format!("{}token {text:?}", if parent_id.is_some() { "sub " } else { "" })
            }
            EventBody::Thought { text, parent_id, .. } => {
                format!("{}thought {text:?}", if parent_id.is_some() { "sub " } else { "" })
            }
            EventBody::ToolCall(call) => {
                let sub = if call.parent_id.is_some() { "sub " } else { "" };
                format!("{sub}tool_call {} {:?} {}", call.name, call.kind, short(&call.title))
            }
            EventBody::ToolResult(result) => {
                let how = if result.is_error { "failed" } else { "ok" };
                format!("tool_result {} {how} {:?}", result.name, short(&result.output))
            }
            EventBody::Usage { tokens: Some(tokens), .. } => format!(
                "usage {} in, {} out, {:?} read",
                tokens.input_tokens, tokens.output_tokens, tokens.cache_read
            ),
            EventBody::Usage { .. } => continue,
            EventBody::Notice { kind, message } => format!("notice {kind:?} {}", short(message)),
            other => other.kind().to_owned(),
        };
        writeln!(seen, "{line}").unwrap();
    }
    if replay.noise > 0 {
        writeln!(seen, "{} lines of noise", replay.noise).unwrap();
    }
    let end = match out.terminal() {
        Some(Terminal::Failed(error)) => {
            let hint = error.hint.as_deref().unwrap_or_default();
            format!("failed {} {:?}: {}; {hint}", error.code, error.cause, short(&error.message))
        }
        other => format!("{other:?}"),
    };
    writeln!(seen, "content {:?}\nend {end}", out.content()).unwrap();
    seen
}

#[test]
fn m_026_what_the_recordings_say() {
    let mut all = String::new();
    for transcript in recorded() {
        writeln!(all, "# {}\n{}", transcript.case, summary(&transcript)).unwrap();
    }
    insta::assert_snapshot!("codex", all);
}

/// The recorder wrote what the adapter writes, so what codex said is its answer to the adapter.
#[test]
fn m_026_every_line_that_was_sent_is_what_the_adapter_writes() {
    for transcript in recorded() {
        let mut out = Out::new(Codex::NAME);
        let replay = Replay::all(&transcript, &mut out);
        let sent = transcript.dialogue.iter().filter_map(|turn| match turn {
            Turn::Sent(line) => Some(serde_json::from_str::<Value>(line).unwrap()),
            _ => None,
        });
        // In any order: a question may be answered while the next line is read.
        let sorted = |lines: Vec<Value>| {
            let mut lines: Vec<String> = lines.iter().map(Value::to_string).collect();
            lines.sort();
            lines
        };
        assert_eq!(sorted(replay.written), sorted(sent.collect()), "{}", transcript.case);
    }
}

/// Whatever one member of a line is, the adapter lives on, and an answer that came is not lost.
#[test]
fn m_016_no_odd_member_ends_it_and_the_text_stays() {
    fn odd_versions(value: &Value) -> Vec<Value> {
        let mut all = Vec::new();
        let odd = [Value::Null, json!(-1), json!("odd"), json!([[]]), json!({"a": {}})];
        match value {
            Value::Object(object) => {
                for (name, member) in object {
                    for inner in odd_versions(member).into_iter().chain(odd.clone()) {
                        let mut changed = object.clone();
                        changed.insert(name.clone(), inner);
                        all.push(Value::Object(changed));
                    }
                    let mut without = object.clone();
                    without.remove(name);
                    all.push(Value::Object(without));
                }
            }
            Value::Array(list) => {
                for (at, element) in list.iter().enumerate() {
                    for inner in odd_versions(element).into_iter().chain(odd.clone()) {
                        let mut changed = list.clone();
                        changed[at] = inner;
                        all.push(Value::Array(changed));
                    }
                }
            }
            _ => {}
        }
        all
    }
    let chosen = ["tools", "read-only-declined", "sub-agent-v2", "mcp-own-accept", "error-401"];
    for transcript in recorded().iter().filter(|t| chosen.contains(&t.case.as_str())) {
        let (mut replay, mut out) = (Replay::of(transcript), Out::new(Codex::NAME));
        for turn in &transcript.dialogue {
            let Turn::Received(line) = turn else { continue };
            let value: Value = serde_json::from_str(line).unwrap();
            for odd in odd_versions(&value) {
                let mut said = Out::new(Codex::NAME);
                replay.clone().line(&odd.to_string(), &mut said);
            }
            for part in (1..line.len()).step_by(7).filter_map(|end| line.get(..end)) {
                let (mut cut, mut nothing) = (replay.clone(), Out::new(Codex::NAME));
                cut.line(part, &mut nothing);
                assert_eq!(cut.noise, replay.noise + 1, "{}: {part}", transcript.case);
                assert!(nothing.take_events().is_empty() && nothing.terminal().is_none());
            }
            replay.line(line, &mut out);
        }
    }
    // A text whose other members are odd is still told, where its thread is known.
    let simple = recorded().into_iter().find(|t| t.case == "simple").unwrap();
    let (mut replay, mut out) = (Replay::of(&simple), Out::new(Codex::NAME));
    for turn in &simple.dialogue {
        let Turn::Received(line) = turn else { continue };
        let line = if line.contains("agentMessage/delta") {
            let mut value: Value = serde_json::from_str(line).unwrap();
            value["params"]["itemId"] = json!(["odd"]);
            value["params"]["turnId"] = json!(7);
            value["emittedAtMs"] = json!({});
            value.to_string()
        } else {
            line.clone()
        };
        if !line.contains(r#""type":"agentMessage""#) || line.contains("turn/completed") {
            replay.line(&line, &mut out);
        }
    }
    assert_eq!(out.content(), "hello there");
}

/// An adapter whose turn runs, in thread `t`.
fn in_a_turn(policy: Option<PermissionPolicy>) -> (Codex, Out) {
    let (mut adapter, mut out) = (Codex::default(), Out::new(Codex::NAME));
    let mut call = Call::new("x", Path::new("/w"));
    call.permissions = policy;
    adapter.build_args(&call).unwrap();
    for line in [
        json!({"id": 2, "result": {"config": {"model_provider": "own"}}}),
        json!({"id": 3, "result": {}}),
        json!({"id": 5, "result": {"thread": {"id": "t"}}}),
        json!({"method": "turn/started", "params": {"threadId": "t", "turn": {"id": "u"}}}),
    ] {
        adapter.parse_output(&line.to_string(), &mut out).unwrap();
    }
    out.take_stdin();
    (adapter, out)
}

#[test]
fn m_026_what_the_last_turn_was_allowed_is_never_gone_on_with() {
    let state = json!({"policy": "full"});
    let session = SessionRecord { session_id: "t".to_owned(), state };
    let mut call = Call::new("x", Path::new("/w"));
    call.session = Some(&session);
    for own in [json!({}), json!({"approvalPolicy": "never"}), json!({"sandbox": null})] {
        let (mut adapter, mut out) = (Codex::default(), Out::new(Codex::NAME));
        adapter.build_args(&call).unwrap();
        for line in [
            json!({"id": 2, "result": {"config": {}}}),
            json!({"id": 3, "error": {"code": -32601}}),
            json!({"id": 4, "result": own}),
        ] {
            adapter.parse_output(&line.to_string(), &mut out).unwrap();
        }
        assert!(matches!(out.terminal(), Some(Terminal::Failed(_))), "{own}");
        let written = lines(&out.take_stdin());
        assert!(written.iter().all(|line| line["method"] != "thread/resume"), "{written:?}");
    }
}

/// Servers whose names are not known can't be switched off, so no thread begins with them.
#[test]
fn m_026_nothing_begins_where_servers_can_not_be_switched_off() {
    let state = json!({"policy": "full"});
    let session = SessionRecord { session_id: "t".to_owned(), state };
    let config = |config: Value| json!({"id": 2, "result": {"config": config}});
    let refused = |message: &str| json!({"id": 2, "error": {"code": -1, "message": message}});
    for (policy, session) in
        [(Some(PermissionPolicy::ReadOnly), None), (None, Some(&session)), (None, None)]
    {
        let threads = |answer: &Value| {
            let (mut adapter, mut out) = (Codex::default(), Out::new(Codex::NAME));
            let mut call = Call::new("x", Path::new("/w"));
            (call.permissions, call.session) = (policy, session);
            adapter.build_args(&call).unwrap();
            for line in [answer, &json!({"id": 3, "result": {}})] {
                adapter.parse_output(&line.to_string(), &mut out).unwrap();
            }
            (lines(&out.take_stdin()), out.terminal().cloned())
        };
        let needs_them_off = policy.is_some() || session.is_some();
        for (answer, cause, hint) in [
            (refused("failed to read configuration layers: x"), None, "config.toml"),
            (refused("unknown method"), Some(Cause::NotExecutable), "mia plugin upgrade codex"),
            (refused(""), Some(Cause::NotExecutable), "mia plugin upgrade codex"),
            (config(Value::Null), Some(Cause::NotExecutable), "mia plugin upgrade codex"),
            (config(json!({"mcp_servers": ["s"]})), Some(Cause::NotExecutable), "mia plugin"),
        ] {
            let (written, end) = threads(&answer);
            if needs_them_off {
                assert_eq!(written, Vec::<Value>::new(), "{answer}");
                let Some(Terminal::Failed(error)) = end else { panic!("{answer}") };
                assert_eq!((error.code, error.cause), (ErrorCode::SpawnFailure, cause), "{answer}");
                assert!(error.hint.as_ref().is_some_and(|text| text.contains(hint)), "{error:?}");
            } else {
                assert_eq!((written.len(), end), (1, None), "{answer}");
            }
        }
        let servers = json!({"one": {"command": "x"}, "two": {}});
        for servers in [servers, json!({}), Value::Null] {
            let (written, end) = threads(&config(json!({"mcp_servers": servers})));
            assert_eq!((written.len(), end), (1, None));
            let off = &written[0]["params"]["config"]["mcp_servers"];
            for name in servers.as_object().into_iter().flatten().map(|(name, _)| name) {
                assert_eq!(off[name] == json!({"enabled": false}), needs_them_off, "{written:?}");
            }
        }
    }
}

#[test]
fn m_026_a_working_directory_that_json_can_not_tell_is_refused() {
    use std::os::unix::ffi::OsStrExt as _;
    let odd = Path::new(std::ffi::OsStr::from_bytes(b"/w/\xff"));
    let error = Codex::default().build_args(&Call::new("x", odd)).unwrap_err();
    let expected = (ErrorCode::SpawnFailure, Some(Cause::WorkingDirectory));
    assert_eq!((error.code, error.cause), expected, "{error:?}");
}

#[test]
fn m_026_words_on_stderr_tell_of_an_old_program_only_where_it_said_nothing() {
    let stderr = "error: unexpected argument '--nope' found\n";
    let end = |line: Option<&str>, code: Option<i32>| {
        let (mut adapter, mut out) = (Codex::default(), Out::new(Codex::NAME));
        if let Some(line) = line {
            let _ = adapter.parse_output(line, &mut out);
        }
        adapter.on_exit(&Exit { code, signal: None, stderr }, &mut out);
        out.terminal().cloned()
    };
    let Some(Terminal::Failed(error)) = end(None, Some(2)) else { panic!("no error") };
    assert_eq!(error.cause, Some(Cause::NotExecutable));
    let hint = error.hint.unwrap();
    assert!(hint.contains("mia plugin upgrade codex"), "{hint}");
    assert!(end(Some("no JSON"), Some(2)).is_some());
    let line = r#"{"method":"item/started","params":{}}"#;
    for (line, code) in [(Some(line), Some(2)), (None, Some(1)), (None, None)] {
        assert_eq!(end(line, code), None, "{line:?} {code:?}");
    }
}

#[test]
fn m_026_a_change_of_many_files_has_a_short_title_and_a_whole_question() {
    let (mut adapter, mut out) = in_a_turn(None);
    let change = |path: String| json!({"path": path, "kind": {"type": "add"}, "diff": ""});
    let change_of = |id: &str, paths: Vec<String>| {
        let changes: Vec<Value> = paths.into_iter().map(change).collect();
        let item = json!({"type": "fileChange", "id": id, "changes": changes});
        json!({"method": "item/started", "params": {"threadId": "t", "item": item}})
    };
    let mut shown = |id: &str, paths: Vec<String>| {
        adapter.parse_output(&change_of(id, paths).to_string(), &mut out).unwrap();
        let title = out.take_events().into_iter().find_map(|event| match event {
            EventBody::ToolCall(call) => Some(call.title),
            _ => None,
        });
        let ask = json!({"id": id, "method": "item/fileChange/requestApproval",
            "params": {"threadId": "t", "itemId": id}});
        adapter.parse_output(&ask.to_string(), &mut out).unwrap();
        (title.unwrap(), out.take_questions().remove(0).title)
    };
    let (title, question) = shown("a", (10..60).map(|n| format!("/w/{n}.txt")).collect());
    assert!(title.starts_with("Write 10.txt, write 11.txt, "), "{title}");
    assert!(title.ends_with(", write 23.txt and 36 more"), "{title}");
    assert!(question.ends_with(", write 59.txt"), "{question}");
    // What fits into neither is counted in both.
    let (title, question) = shown("b", (1000..9000).map(|n| format!("/w/{n}.txt")).collect());
    assert!(title.len() < 230 && title.ends_with(" more"), "{title}");
    assert!(question.len() < 8100 && question.ends_with(" more"), "{}", question.len());
    let (title, _) = shown("c", vec![format!("/w/{}", "é".repeat(5000)), "/w/b".to_owned()]);
    assert_eq!(title, format!("Write {}… and 1 more", "é".repeat(194)));
}

/// However many questions wait, codex gets its answer to each.
#[test]
fn m_026_questions_without_end_are_declined() {
    let (mut adapter, mut out) = in_a_turn(None);
    let ask = |id: u32| {
        let params = json!({"threadId": "t", "itemId": "i", "command": "ls"});
        json!({"id": id, "method": "item/commandExecution/requestApproval", "params": params})
    };
    for id in 0..1000 {
        adapter.parse_output(&ask(id).to_string(), &mut out).unwrap();
    }
    assert_eq!((out.take_questions().len(), out.take_stdin().len()), (1000, 0));
    adapter.parse_output(&ask(1000).to_string(), &mut out).unwrap();
    assert!(out.take_questions().is_empty());
    let no = json!({"id": 1000, "result": {"decision": "decline"}});
    assert_eq!(lines(&out.take_stdin()), [no]);
    let answer = PermissionResolution {
        id: "7".to_owned(),
        option_id: Some("allow_once".to_owned()),
        by: ResolvedBy::Client,
    };
    adapter.on_permission(&answer, &mut out);
    assert_eq!(lines(&out.take_stdin())[0]["result"]["decision"], "accept");
    adapter.parse_output(&ask(1001).to_string(), &mut out).unwrap();
    assert_eq!(out.take_questions().len(), 1, "there is room again");
}

#[test]
fn m_026_a_request_that_it_does_not_know_is_answered() {
    for policy in [None, Some(PermissionPolicy::ReadOnly), Some(PermissionPolicy::Full)] {
        let (mut adapter, mut out) = in_a_turn(policy);
        for (id, method) in [
            (json!(7), "item/tool/requestUserInput"),
            (json!("eight"), "something/new"),
            (json!(9), "account/chatgptAuthTokens/refresh"),
        ] {
            let request = json!({"id": id, "method": method, "params": {"threadId": "t"}});
            adapter.parse_output(&request.to_string(), &mut out).unwrap();
            let answer = &lines(&out.take_stdin())[0];
            assert_eq!(answer["id"], id);
            assert_eq!(answer["error"]["code"], -32601);
            assert!(out.take_questions().is_empty());
        }
        // A form of an MCP server is declined, not filled in.
        let form = json!({"id": 1, "method": "mcpServer/elicitation/request",
            "params": {"threadId": "t", "serverName": "s", "mode": "form", "message": "Name?"}});
        adapter.parse_output(&form.to_string(), &mut out).unwrap();
        assert_eq!(lines(&out.take_stdin())[0]["result"]["action"], "decline");
    }
}

#[test]
fn m_026_always_is_offered_for_the_same_command_only() {
    let (mut adapter, mut out) = in_a_turn(None);
    let ask = |method: &str, more: Value| {
        let mut params = json!({"threadId": "t", "itemId": "i", "command": "/bin/sh -c ls"});
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"id": 4, "method": method, "params": params}).to_string()
    };
    let command = "item/commandExecution/requestApproval";
    for (method, more, always) in [
        (command, json!({"kind": "command"}), true),
        (command, json!({}), true),
        (command, json!({"kind": "writeStdin"}), false),
        (command, json!({"networkApprovalContext": {"host": "example.org"}}), false),
        ("item/fileChange/requestApproval", json!({}), false),
        ("item/permissions/requestApproval", json!({"permissions": {"network": {}}}), false),
    ] {
        adapter.parse_output(&ask(method, more), &mut out).unwrap();
        let question = out.take_questions().remove(0);
        let offered = question.options.iter().any(|option| option.id == "allow_always");
        assert_eq!(offered, always, "{question:?}");
        // An answer that was not offered is a no.
        let option_id = Some("allow_always".to_owned());
        let resolution =
            PermissionResolution { id: question.id, option_id, by: ResolvedBy::Client };
        adapter.on_permission(&resolution, &mut out);
        let result = lines(&out.take_stdin()).remove(0)["result"].clone();
        let expected = match (always, method) {
            (true, _) => json!({"decision": "acceptForSession"}),
            (false, "item/permissions/requestApproval") => {
                json!({"permissions": {}, "scope": "turn"})
            }
            _ => json!({"decision": "decline"}),
        };
        assert_eq!(result, expected);
    }
}

#[test]
fn m_026_a_question_shows_all_that_would_be_done() {
    let (mut adapter, mut out) = in_a_turn(Some(PermissionPolicy::Edit));
    let mut asked = |method: &str, params: Value| {
        let line = json!({"id": 4, "method": method, "params": params});
        adapter.parse_output(&line.to_string(), &mut out).unwrap();
        out.take_stdin();
        let asked = out.take_questions().pop();
        out.withdraw("4");
        asked.map(|question| question.title)
    };
    let command = "item/commandExecution/requestApproval";
    let long = format!("/bin/bash -lc 'echo {}; touch pwned'", "A".repeat(300));
    let title = asked(command, json!({"threadId": "t", "command": long, "cwd": "/w"}));
    assert!(title.unwrap().ends_with("; touch pwned"));
    let title = asked(
        command,
        json!({"threadId": "t", "command": "/bin/bash -lc 'ls\nrm x'", "cwd": "/etc",
            "reason": "harmless", "additionalPermissions": {"network": true}}),
    );
    assert_eq!(
        title.unwrap(),
        r#"Run ls ⏎ rm x in /etc with the permissions {"network":true} (harmless)"#
    );
    // No file that is known: nothing that an edit may be.
    let title = asked("item/fileChange/requestApproval", json!({"threadId": "t", "itemId": "?"}));
    assert_eq!(title.unwrap(), "Change files");
}

#[test]
fn m_006_a_total_that_is_known_is_no_new_request() {
    let (mut adapter, mut out) = in_a_turn(None);
    // What the last turn took, again at an interrupt, a request of this one, twice the same.
    for (turn, total, input) in [("before", 5, 5), ("u", 5, 5), ("u", 12, 7), ("u", 12, 7)] {
        let last = json!({"inputTokens": input, "cachedInputTokens": 2, "outputTokens": 1});
        let usage = json!({"total": {"inputTokens": total}, "last": last});
        let line = json!({"method": "thread/tokenUsage/updated",
            "params": {"threadId": "t", "turnId": turn, "tokenUsage": usage}});
        adapter.parse_output(&line.to_string(), &mut out).unwrap();
    }
    let told = out.take_events().into_iter().filter_map(|event| match event {
        EventBody::Usage { tokens: Some(tokens), .. } => {
            Some((tokens.input_tokens, tokens.cache_read, tokens.output_tokens))
        }
        _ => None,
    });
    assert_eq!(told.collect::<Vec<_>>(), [(5, Some(2), 1)]);
}

#[test]
fn m_026_a_plan_is_shown() {
    let (mut adapter, mut out) = in_a_turn(None);
    let plan = json!({"method": "turn/plan/updated", "params": {"threadId": "t", "turnId": "u",
    "explanation": null, "plan": [
        {"step": "look", "status": "completed"},
        {"step": "do", "status": "inProgress"},
        {"step": 7},
    ]}});
    adapter.parse_output(&plan.to_string(), &mut out).unwrap();
    let events = out.take_events();
    let Some(EventBody::Plan { entries, .. }) = events.last() else { panic!("{events:?}") };
    let entries: Vec<_> = entries.iter().map(|e| (e.content.as_str(), e.status.as_str())).collect();
    assert_eq!(entries, [("look", "completed"), ("do", "in_progress"), ("", "")]);
}

#[test]
fn m_026_a_refusal_is_no_error_and_other_ends_have_their_cause() {
    let end = |info: Value, message: &str| {
        let (mut adapter, mut out) = in_a_turn(None);
        let line = json!({"method": "turn/completed", "params": {"threadId": "t", "turn": {
            "id": "u", "status": "failed",
            "error": {"message": message, "codexErrorInfo": info}}}});
        adapter.parse_output(&line.to_string(), &mut out).unwrap();
        out
    };
    let out = end(json!("cyberPolicy"), "no");
    assert_eq!(out.terminal(), Some(&Terminal::Complete(StopReason::Refusal)));
    for (info, message, code, cause) in [
        (json!("unauthorized"), "x", ErrorCode::ProviderError, Cause::Authentication),
        (json!("usageLimitExceeded"), "x", ErrorCode::ProviderError, Cause::RateLimited),
        (json!("serverOverloaded"), "x", ErrorCode::ProviderError, Cause::Overloaded),
        (
            json!({"httpConnectionFailed": {"httpStatusCode": 502}}),
            "x",
            ErrorCode::ProviderError,
            Cause::Server,
        ),
        (
            json!({"httpConnectionFailed": {"httpStatusCode": null}}),
            "x",
            ErrorCode::ProviderError,
            Cause::Connection,
        ),
        (
            json!("other"),
            "exceeded retry limit, last status: 429 Too Many Requests",
            ErrorCode::ProviderError,
            Cause::RateLimited,
        ),
        (
            json!("other"),
            "unexpected status 404 Not Found: x",
            ErrorCode::ProviderError,
            Cause::InvalidRequest,
        ),
        (json!("somethingNew"), "it broke", ErrorCode::Unknown, Cause::NoResult),
        (json!([1]), "", ErrorCode::Unknown, Cause::NoResult),
    ] {
        let out = end(info.clone(), message);
        let Some(Terminal::Failed(error)) = out.terminal() else { panic!("{info}") };
        assert_eq!((error.code, error.cause), (code, Some(cause)), "{info} {message}");
        assert!(!error.message.is_empty());
    }
}
