//! What lines say: text in all its manners, tools, counts, failures, noise.
#![expect(clippy::unwrap_used, reason = "a test")]

use std::path::Path;

use mia_api::{Cause, ErrorCode, EventBody, NoticeKind, StopReason};
use mia_manifest::{Manifest, ManifestAdapter, Replay};
use mia_plugin::{Call, CliAdapter as _, Exit, Noise, Out, SessionRecord, Terminal};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// An adapter that was started, and what it says.
struct Run {
    adapter: ManifestAdapter,
    out: Out,
    noise: Vec<String>,
}

impl Run {
    fn new(text: &str) -> Self {
        Self::resumed(text, None)
    }

    fn resumed(text: &str, state: Option<Value>) -> Self {
        let manifest = Manifest::parse(Path::new("jot.yaml"), text).unwrap();
        let mut adapter = ManifestAdapter::new(manifest);
        let session = state.map(|state| SessionRecord { session_id: "s-1".to_owned(), state });
        let mut call = Call::new("x", Path::new("/w"));
        call.session = session.as_ref();
        adapter.build_args(&call).unwrap();
        Self { adapter, out: Out::new("jot"), noise: Vec::new() }
    }

    fn line(&mut self, line: Value) -> &mut Self {
        self.raw(&line.to_string())
    }

    fn raw(&mut self, line: &str) -> &mut Self {
        match self.adapter.parse_output(line, &mut self.out) {
            Ok(()) => {}
            Err(Noise::NotJson(_)) => self.noise.push("no object".to_owned()),
            Err(Noise::UnknownType(kind)) => self.noise.push(kind),
        }
        self
    }

    fn exit(&mut self, code: i32, stderr: &str) -> &mut Self {
        self.adapter.on_exit(&Exit { code: Some(code), signal: None, stderr }, &mut self.out);
        self
    }

    fn failed(&self) -> mia_api::PluginError {
        match self.out.terminal() {
            Some(Terminal::Failed(error)) => *error.clone(),
            other => unreachable!("{other:?}"),
        }
    }
}

const END: &str = "  - {when: {t: end}, complete: end_turn}\n";

fn events(rules: &str) -> String {
    format!("events:\n{rules}{END}")
}

#[test]
fn m_025_text_in_pieces_so_far_and_whole() {
    let text = events(
        "  - {when: {t: piece}, text: x}\n  - {when: {t: far}, text_so_far: x}\n  - {when: {t: whole}, text_whole: x}\n",
    );
    let content = |lines: &[(&str, &str)]| {
        let mut run = Run::new(&text);
        for (t, x) in lines {
            run.line(json!({"t": t, "x": x}));
        }
        run.out.content().to_owned()
    };
    assert_eq!(content(&[("piece", "a"), ("piece", "b")]), "ab");
    assert_eq!(content(&[("far", "a"), ("far", "ab"), ("far", "abc")]), "abc");
    assert_eq!(content(&[("far", "a"), ("far", "ab"), ("far", "x")]), "ab\n\nx");
    assert_eq!(content(&[("piece", "a"), ("piece", "b"), ("whole", "abc")]), "abc");
    assert_eq!(content(&[("whole", "a"), ("whole", "b")]), "a\n\nb");
    assert_eq!(content(&[("piece", "that"), ("whole", "this")]), "this", "the whole one counts");
}

#[test]
fn m_025_messages_are_paragraphs() {
    let text = events("  - {when: {t: x}, message: m, text: x}\n");
    let mut run = Run::new(&text);
    for (m, x) in [(1, "a"), (1, "b"), (2, "c"), (2, "d\n"), (3, "e")] {
        run.line(json!({"t": "x", "m": m, "x": x}));
    }
    assert_eq!(run.out.content(), "ab\n\ncd\ne");
    let text = events(
        "  - {when: {t: x}, text: x}\n  - {when: {t: tool}, tool_call: {name: n}, tool_result: {output: o}}\n",
    );
    let mut run = Run::new(&text);
    run.line(json!({"t": "x", "x": "a"})).line(json!({"t": "tool", "n": "ls"}));
    run.line(json!({"t": "x", "x": "b"}));
    assert_eq!(run.out.content(), "a\n\nb", "what is said after a tool is another message");
}

#[test]
fn m_009_calls_without_ids_are_numbered_and_paired() {
    let text = events(
        "  - {when: {t: call}, tool_call: {name: n, input: i, files: i.path}}\n  - {when: {t: done}, tool_result: {output: o, failed: {ok: false}}}\n  - {when: {t: x}, text: x}\n",
    );
    let text = format!("tools: {{write: edit}}\n{text}");
    let mut run = Run::new(&text);
    run.line(json!({"t": "call", "n": "ls", "i": "{\"command\": \"ls -la\"}"}));
    run.line(json!({"t": "call", "n": "write", "i": {"path": "/a", "text": "no {json"}}));
    run.line(json!({"t": "done", "o": {"lines": 2}}));
    run.line(json!({"t": "done", "o": "a\nb", "ok": false}));
    run.line(json!({"t": "done"}));
    let seen: Vec<_> = run
        .out
        .take_events()
        .into_iter()
        .map(|event| match event {
            EventBody::ToolCall(call) => {
                format!("{} {:?} {} {}", call.id, call.kind, call.title, call.input)
            }
            EventBody::ToolResult(r) => format!("{} {} {} {}", r.id, r.name, r.output, r.is_error),
            other => other.kind().to_owned(),
        })
        .collect();
    assert_eq!(
        seen,
        [
            r#"call-1 Other ls ls -la {"command":"ls -la"}"#,
            r#"call-2 Edit write /a {"path":"/a","text":"no {json"}"#,
            r#"call-2 write {"lines":2} false"#,
            "call-1 ls a\nb true",
            "   false",
        ]
    );
    let result = run.out.result("t".parse().unwrap(), "c".parse().unwrap());
    assert_eq!(result.files_changed, ["/a"]);
}

#[test]
fn m_006_counts_are_of_this_run_whatever_is_counted() {
    let usage = |per: &str| {
        format!(
            "args: [\"--resume={{session}}\"]\n{}",
            events(&format!(
                "  - {{when: {{t: x}}, session: id, text: x, usage: {{input: i, output: o, cache_read: c, cost: d, per: {per}, input_has_cache: true}}}}\n"
            ))
        )
    };
    let counted = |run: &Run| {
        let result = run.out.result("t".parse().unwrap(), "c".parse().unwrap());
        let usage = result.usage.unwrap();
        (usage.input_tokens, usage.output_tokens, usage.cache_read, result.cost_usd)
    };
    let line =
        |i: u64, o: u64, d: f64| json!({"t": "x", "id": "s-1", "i": i, "o": o, "c": 4, "d": d});
    let mut run = Run::new(&usage("step"));
    run.line(line(10, 1, 0.5)).line(line(20, 2, 0.25));
    assert_eq!(counted(&run), (22, 3, Some(8), Some(0.75)));
    let mut run = Run::new(&usage("run"));
    run.line(line(10, 1, 0.5)).line(line(20, 2, 0.75)).line(json!({"t": "x"}));
    assert_eq!(counted(&run), (16, 2, Some(4), Some(0.75)));
    let earlier = json!({"counted": {"input": 6, "output": 1, "cache_read": 4, "cost": 0.5}});
    let mut run = Run::resumed(&usage("session"), Some(earlier.clone()));
    run.line(line(20, 3, 0.75));
    assert_eq!(counted(&run), (10, 2, Some(0), Some(0.25)));
    let mut run = Run::resumed(&usage("session"), Some(earlier));
    run.line(line(5, 1, 0.25));
    assert_eq!(counted(&run), (1, 1, Some(4), Some(0.25)), "the counters began again");
}

#[test]
fn m_016_what_no_rule_fits_is_noise_by_its_type() {
    let mut run =
        Run::new(&events("  - {when: {t: x}, text: x}\n  - {when: {t: known}, ignore: true}\n"));
    run.line(json!({"t": "known"})).line(json!({"t": "new"})).line(json!({"n": 1}));
    run.line(json!({"t": 5})).raw("[1]").raw("no json").raw("{\"t\": \"x\"");
    assert_eq!(run.noise, ["new", "(no t)", "5", "no object", "no object", "no object"]);
    // Of a member of the wrong type only that is lost.
    run.line(json!({"t": "x", "x": {"not": "text"}})).line(json!({"t": "x", "x": "text"}));
    assert_eq!(run.out.content(), "text");
}

#[test]
fn m_025_failures_by_text_cause_and_status() {
    let text = format!(
        "errors:\n  - {{text: [quota, limit], cause: rate_limited, hint: wait}}\n{}",
        events(
            "  - {when: {t: e}, error: {message: m, text: \"it failed ({code})\", status: s}}\n  - {when: {t: x}, text: x}\n  - {when: {t: key}, error: {message: m, cause: authentication, hint: log in}}\n"
        )
    );
    let failed = |line: Value| {
        let mut run = Run::new(&text);
        run.line(line);
        let error = run.failed();
        (error.code, error.cause, error.message, error.hint)
    };
    let (code, cause, message, hint) = failed(json!({"t": "e", "m": "QUOTA is used up", "s": 500}));
    assert_eq!((code, cause), (ErrorCode::ProviderError, Some(Cause::RateLimited)));
    assert_eq!((message.as_str(), hint.as_deref()), ("QUOTA is used up", Some("wait")));
    assert_eq!(failed(json!({"t": "e", "m": "x", "s": 401})).1, Some(Cause::Authentication));
    assert_eq!(failed(json!({"t": "e", "m": "x", "s": "odd"})).0, ErrorCode::Unknown);
    assert_eq!(failed(json!({"t": "e", "code": 7})).2, "it failed (7)");
    assert_eq!(failed(json!({"t": "key", "s": 500})).1, Some(Cause::Authentication));
    assert_eq!(failed(json!({"t": "key"})).2, "jot failed and did not say why");
}

#[test]
fn m_023_an_exit_is_the_last_word_only_where_none_came() {
    let text = "exit: {0: complete, 41: {cause: authentication, hint: log in}, 3: {message: it broke}}\nerrors: [{text: no network, cause: connection}]\nevents:\n  - {when: {t: x}, text: x}\n";
    let end = |said: bool, code: i32, stderr: &str| {
        let mut run = Run::new(text);
        if said {
            run.line(json!({"t": "x", "x": "hi"}));
        }
        run.exit(code, stderr);
        match run.out.terminal() {
            Some(Terminal::Complete(StopReason::EndTurn)) => "complete".to_owned(),
            Some(Terminal::Failed(e)) => format!("{} {:?} {}", e.code, e.cause, e.message),
            other => format!("{other:?}"),
        }
    };
    assert_eq!(end(true, 0, "warning: no network"), "complete");
    assert_eq!(end(false, 0, ""), "None", "an exit without a word is no answer");
    assert_eq!(end(true, 1, ""), "None");
    assert_eq!(end(true, 41, ""), "PROVIDER_ERROR Some(Authentication) jot exited with status 41");
    assert_eq!(end(true, 3, ""), "PROCESS_EXIT Some(NoResult) it broke");
    assert_eq!(
        end(true, 1, "x\n\u{1b}[31mError: No Network\u{1b}[0m\n"),
        "PROVIDER_ERROR Some(Connection) Error: No Network"
    );
}

#[test]
fn m_017_a_session_that_can_not_be_resumed_is_not_told() {
    let told = |args: &str| {
        let rules = events("  - {when: {t: x}, session: id, text: x}\n");
        let mut run = Run::new(&format!("{args}\n{rules}"));
        run.line(json!({"t": "x", "id": "s-9"}));
        run.out.result("t".parse().unwrap(), "c".parse().unwrap()).session_id
    };
    assert_eq!(told("args: [\"--resume={session}\"]").as_deref(), Some("s-9"));
    assert_eq!(told("args: []"), None, "each turn is told what was said before instead");
}

#[test]
fn m_018_a_lost_session_is_known_by_its_text() {
    let text = format!(
        "args: [\"--resume={{session}}\"]\nsession: {{id: id, lost: [unknown session]}}\n{}",
        events("  - {when: {t: e}, error: {message: m}}\n  - {when: {t: x}, text: x}\n")
    );
    let end = |state: Option<Value>| {
        let mut run = Run::resumed(&text, state);
        run.line(json!({"t": "e", "m": "unknown session s-1"}));
        matches!(run.out.terminal(), Some(Terminal::StaleSession(_)))
    };
    assert!(end(Some(Value::Null)) && !end(None));
    let text = text.replace("unknown session", "UNKNOWN Session");
    let mut run = Run::resumed(&text, Some(Value::Null));
    run.exit(1, "Error: unknown SESSION s-1\n");
    let told = Terminal::StaleSession("Error: unknown SESSION s-1".to_owned());
    assert_eq!(run.out.terminal(), Some(&told), "upper and lower case alike");
}

#[test]
fn m_025_elements_sub_agents_notices_and_the_reason() {
    let text = "events:\n  - when: {t: list}\n    parent: by\n    each: parts\n    events:\n      - {when: {k: text}, text_whole: x}\n      - {when: {k: deep}, each: parts, events: [{thought: $.why}]}\n  - {when: {t: note}, notice: {kind: denied, text: \"{{{who.name}}} and {who}\"}, warning: \"no {who.name}\"}\n  - {when: {t: end}, complete: {text: answer, stop_reason: why}}\n";
    let mut run = Run::new(text);
    run.line(
        json!({"t": "list", "by": "t-1", "parts": [{"k": "text", "x": "sub"}, 5, {"k": "other"}]}),
    );
    run.line(json!({"t": "list", "why": "hm", "parts": [{"k": "deep", "parts": [1]}, {"k": "text", "x": "main"}]}));
    run.line(json!({"t": "note", "who": {"name": "rm"}}));
    run.line(json!({"t": "end", "answer": "unused", "why": "length"}));
    let note = EventBody::notice(NoticeKind::Denied, "{rm} and {\"name\":\"rm\"}");
    let (text, parent_id) = ("sub".to_owned(), Some("t-1".to_owned()));
    assert_eq!(
        run.out.take_events(),
        [
            EventBody::Token { text, parent_id, raw: None },
            EventBody::Thought { text: "hm".to_owned(), parent_id: None, raw: None },
            EventBody::token("main"),
            note,
        ]
    );
    assert_eq!(run.out.terminal(), Some(&Terminal::Complete(StopReason::MaxTokens)));
    assert_eq!(run.out.content(), "main");
    assert_eq!(run.out.result("t".parse().unwrap(), "c".parse().unwrap()).warnings, ["no rm"]);
}

#[test]
fn m_025_a_replay_tells_what_was_not_understood_and_what_was_of_no_use() {
    let text = "session: {id: sid}\nevents:\n  - when: {type: text}\n    text: part.txt\n  - when: {type: never}\n    text: x\n  - when: {type: list}\n    each: parts\n    events:\n      - when: {k: a}\n        text: nowhere\n      - when: {k: b}\n        text: x\n  - when: {type: end}\n    complete: end_turn\n";
    let manifest = Manifest::parse(Path::new("jot.yaml"), text).unwrap();
    let recording = b"\xef\xbb\xbf{\"type\":\"text\",\"part\":{\"text\":\"hi\"}}\r\n\n{\"type\":\"new\"}\n{\"type\":\"new\"}\nplain\n{\"type\":\"list\",\"parts\":[{\"k\":\"a\",\"q\":1,\"z\":2}]}\n{\"type\":\"end\"}\n{\"type\":\"late\"}";
    for cut in [1, 7, recording.len()] {
        let mut replay = Replay::new(manifest.clone());
        let mut events = Vec::new();
        for bytes in recording.chunks(cut) {
            events.extend(replay.read(bytes));
        }
        let replayed = replay.finish("t".parse().unwrap(), "c".parse().unwrap());
        events.extend(replayed.events);
        assert_eq!(events.len(), 1, "{events:?}");
        assert_eq!((replayed.lines, replayed.unread), (7, 1));
        let noise: Vec<_> = replayed.noise.into_iter().collect();
        assert_eq!(noise, [("(no JSON object)".to_owned(), 1), ("new".to_owned(), 2)]);
        let remarks: Vec<_> = replayed.remarks.iter().map(ToString::to_string).collect();
        assert_eq!(
            remarks,
            [
                "jot.yaml:1:15: session.id: never there, though looked for 5 times (there was type, part)",
                "jot.yaml:4:11: text: never there, though looked for once (did you mean part.text?)",
                "jot.yaml:5:5: nothing fits this rule",
                "jot.yaml:11:15: text: never there, though looked for once (there was k, q, z)",
                "jot.yaml:12:9: nothing fits this rule",
            ]
        );
    }
}

#[test]
fn m_017_a_session_that_can_be_no_argument_is_not_recorded() {
    let told = |args: &str, id: &str, resumed: bool| {
        let rules = events("  - {when: {t: x}, session: id, text: x}\n");
        let text = format!("{args}\n{rules}");
        let mut run = Run::resumed(&text, resumed.then_some(Value::Null));
        run.line(json!({"t": "x", "id": id, "x": "a"}));
        run.line(json!({"t": "x", "id": id, "x": "b"}));
        let stale = matches!(run.out.terminal(), Some(Terminal::StaleSession(_)));
        let notices: Vec<_> = run
            .out
            .take_events()
            .into_iter()
            .filter_map(|event| match event {
                EventBody::Notice { message, .. } => Some(message),
                _ => None,
            })
            .collect();
        let result = run.out.result("t".parse().unwrap(), "c".parse().unwrap());
        (result.session_id, notices, stale)
    };
    let joined = "args: [\"--resume={session}\"]";
    let alone = "args: [[--resume, \"{session}\"]]";
    let in_json = "stdin: {p: \"{prompt}\", s: \"{session}\"}";
    let long = "x".repeat(200_000);
    for (args, id) in
        [(alone, "--evil"), (joined, "a\0b"), (joined, &long), (in_json, "a\0b"), (in_json, &long)]
    {
        let (recorded, notices, stale) = told(args, id, false);
        assert_eq!((recorded, notices.len(), stale), (None, 1, false), "{notices:?}");
        assert!(notices[0].contains("can't be resumed"), "{notices:?}");
        assert!(notices[0].len() < 300);
        assert!(told(args, id, true).2, "the session that was resumed is not that one");
    }
    for (args, id) in
        [(joined, "--evil"), ("args: [--, \"{session}\"]", "--evil"), (in_json, "--evil")]
    {
        assert_eq!(told(args, id, false), (Some(id.to_owned()), Vec::new(), false));
    }
}

#[test]
fn m_016_what_json_has_no_word_for_loses_no_line() {
    let rules = events("  - {when: {t: x}, text: x, usage: {input: n, output: o}}\n");
    let mut run = Run::new(&rules);
    run.raw(r#"{"t":"x","x":"Hi \ud83d"}"#).raw(r#"{"t":"x","x":"\ude00 there"}"#);
    run.raw(r#"{"t":"x","x":"NaN","n":NaN,"m":-Infinity}"#);
    run.raw(r#"{"t":"x","x":"!","n":1e400,"o":7}"#);
    assert_eq!(run.noise, [""; 0]);
    assert_eq!(run.out.content(), "Hi \u{fffd}\u{fffd} thereNaN!");
    let result = run.out.result("t".parse().unwrap(), "c".parse().unwrap());
    assert_eq!(result.usage.unwrap().output_tokens, 7);
}

#[test]
fn m_025_a_text_so_far_that_shrinks_begins_again() {
    let text = events("  - {when: {t: x}, message: m, text_so_far: x, thought_so_far: y}\n");
    let shrinks = ["Hello wor", "Hello", "Hello there"];
    let mut run = Run::new(&text);
    run.line(json!({"t": "x", "m": 1, "x": "First."}));
    for x in shrinks {
        run.line(json!({"t": "x", "m": 2, "x": x}));
    }
    assert_eq!(run.out.content(), "First.\n\nHello there");
    let mut run = Run::new(&text);
    run.line(json!({"t": "x", "x": "Hello wor", "m": 1}))
        .line(json!({"t": "x", "x": "Hello", "m": 1}));
    run.line(json!({"t": "end"}));
    assert_eq!(run.out.content(), "Hello");

    let mut run = Run::new(&text);
    for y in shrinks.iter().chain(&["Hello there!"]) {
        run.line(json!({"t": "x", "m": 1, "y": y}));
    }
    let thoughts: String = run
        .out
        .take_events()
        .into_iter()
        .filter_map(|event| match event {
            EventBody::Thought { text, .. } => Some(text),
            _ => None,
        })
        .collect();
    assert_eq!(thoughts, "Hello wor\nHello there!");
}

#[test]
fn m_006_counts_of_a_session_are_told_in_parts_and_not_lost() {
    let text = format!(
        "args: [\"--resume={{session}}\"]\n{}",
        events(
            "  - {when: {t: tokens}, session: id, usage: {input: i, output: o, per: session}}\n  - {when: {t: cost}, usage: {cost: d, per: session}}\n  - {when: {t: x}, session: id, text: x}\n"
        )
    );
    let earlier = json!({"counted": {"input": 1000, "output": 10, "cost": 0.5}});
    let mut run = Run::resumed(&text, Some(earlier.clone()));
    run.line(json!({"t": "tokens", "i": 1500, "o": 15})).line(json!({"t": "cost", "d": 0.75}));
    let result = run.out.result("t".parse().unwrap(), "c".parse().unwrap());
    let usage = result.usage.unwrap();
    assert_eq!((usage.input_tokens, usage.output_tokens), (500, 5));
    assert_eq!(result.cost_usd, Some(0.25));
    assert_eq!(result.session_id.as_deref(), Some("s-1"), "its counts are of the resumed one");
}

#[test]
fn m_025_a_replay_counts_a_line_that_is_too_long() {
    let manifest = Manifest::parse(
        Path::new("jot.yaml"),
        "events:\n  - {when: {x: {exists: true}}, text: x}\nexit: {0: complete}\n",
    )
    .unwrap();
    let mut replay = Replay::new(manifest);
    for _ in 0..33 {
        replay.read(&[b'x'; 1024 * 1024]);
    }
    replay.read(b"\n{\"x\":\"a\"}\n");
    let replayed = replay.finish("t".parse().unwrap(), "c".parse().unwrap());
    assert_eq!((replayed.lines, replayed.noise.values().sum()), (2, 1));
}
