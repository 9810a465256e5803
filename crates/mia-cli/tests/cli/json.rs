//! `--json`: its shapes are documented in docs/events.md and docs/cli.md.

use std::collections::BTreeSet;
use std::path::Path;

use mia_api::Event;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::claude::{begin, call, end, may_i, outcome, say, think};
use crate::person::{Person, Ran};

/// Events with what differs from run to run replaced.
fn redacted(person: &Person, lines: &str) -> String {
    let first: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    let id = |name: &str| first[name].as_str().unwrap().to_owned();
    let text = lines
        .replace(&id("task_id"), "TASK")
        .replace(&id("conversation_id"), "CONVERSATION")
        .replace(person.folder().to_str().unwrap(), "/w");
    let mark = "\"duration_ms\":";
    let mut pieces = text.split(mark);
    let mut redacted = pieces.next().unwrap().to_owned();
    for piece in pieces {
        let rest = piece.trim_start_matches(|c: char| c.is_ascii_digit());
        redacted.push_str(&format!("{mark}0{rest}"));
    }
    redacted
}

fn assert_events(ran: &Ran) {
    let mut seq = 0;
    for line in ran.out.lines() {
        let value: Value = serde_json::from_str(line).unwrap();
        seq += 1;
        assert_eq!(value["seq"], seq, "{line}");
        assert!(value["type"].is_string() && value["task_id"].is_string(), "{line}");
    }
    assert!(ran.out.ends_with("}\n"));
}

#[test]
fn an_answer_is_one_object_a_line() {
    let person = Person::new();
    let todos =
        json!({"todos": [{"content": "look", "status": "in_progress", "activeForm": "looking"}]});
    person.claude(
        &(begin()
            + &think("hm")
            + &say("Let me look.\n")
            + &call("t0", "TodoWrite", &todos)
            + &outcome("t0", "ok", false)
            + &call("t1", "Bash", &json!({"command": "ls"}))
            + &may_i("t1", "ls")
            + &outcome("t1", "not allowed", true)
            + "out {\"type\":\"brand_new\",\"x\":1}\n"
            + &say("I may not.")
            + &end("")),
    );
    let ran = person.run(&["ask", "--json", "what is here?"]).code(0);
    assert_eq!(ran.err, "");
    assert_events(&ran);
    insta::assert_snapshot!(redacted(&person, &ran.out));
}

#[test]
fn an_error_is_the_last_object() {
    let person = Person::new();
    person.claude(&(begin() + &say("So far") + "err it broke\nexit 7\n"));
    let ran = person.run(&["ask", "--json", "x"]).code(1);
    assert_eq!(ran.err, "");
    assert_events(&ran);
    insta::assert_snapshot!(redacted(&person, &ran.out));
}

#[test]
fn the_guide_speaks_the_same_language() {
    let person = Person::new();
    let ran = person.ask_guide(&["--json", "help"]).code(0);
    assert_events(&ran);
    let text: String = ran
        .out
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|event| event["type"] == "token")
        .map(|event| event["text"].as_str().unwrap().to_owned())
        .collect();
    let plain = person.ask_guide(&["help"]).code(0);
    assert_eq!(plain.out.trim_end(), text.trim_end());
}

#[test]
fn a_refusal_prints_no_object() {
    let ran = Person::new().run(&["ask", "--json", "x"]).code(3);
    assert_eq!(ran.out, "");
}

/// Every example of a document, in order.
fn examples(document: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(document);
    let text = std::fs::read_to_string(path).unwrap();
    let blocks = text.split("```json\n").skip(1);
    blocks.flat_map(|block| block.split("```").next().unwrap().lines().map(str::to_owned)).collect()
}

#[test]
fn every_kind_of_event_is_documented_as_it_is() {
    let mut kinds = BTreeSet::new();
    for line in examples("events.md") {
        let event: Event = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line}"));
        kinds.insert(event.body.kind());
        assert_eq!(serde_json::to_string(&event).unwrap(), line);
    }
    let all = [
        "accepted",
        "attempt",
        "complete",
        "error",
        "notice",
        "other",
        "permission",
        "permission_resolved",
        "plan",
        "thought",
        "token",
        "tool_call",
        "tool_result",
        "tool_update",
        "usage",
    ];
    assert_eq!(kinds, BTreeSet::from(all));
}
