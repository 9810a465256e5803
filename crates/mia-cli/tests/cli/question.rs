//! An agent's questions on a terminal.

use std::time::Duration;

use mia_testkit::fakecli::FakeCli;
use mia_testkit::proc::{block_until_gone, descendants};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::claude::{begin, call, end, may_i, outcome, say};
use crate::person::Person;
use crate::terminal::Terminal;

fn asking(person: &Person) -> FakeCli {
    let input = json!({"command": "touch x"});
    person.claude(
        &(begin()
            + &say("I'll make it.\n")
            + &call("t1", "Bash", &input)
            + &may_i("t1", "touch x")
            + &outcome("t1", "", false)
            + &say("Well.")
            + &end("")),
    )
}

/// What the agent was told.
fn told(claude: &FakeCli) -> String {
    let line = std::fs::read_to_string(claude.beside("answer")).unwrap();
    let line: Value = serde_json::from_str(&line).unwrap();
    line["response"]["response"]["behavior"].as_str().unwrap().to_owned()
}

#[test]
fn a_question_is_answered_with_a_key() {
    for (key, meaning) in [("y", "allow"), ("n", "deny")] {
        let person = Person::new();
        let claude = asking(&person);
        let mut terminal = Terminal::start(&person, &["ask", "make x"]);
        terminal.wait_for("? Bash touch x\n  y: Allow · n: Deny ›");
        terminal.keys("what?\r");
        terminal.wait_for("what?\n  y: Allow · n: Deny ›");
        terminal.keys(key);
        terminal.keys("\r");
        let (code, screen) = terminal.end();
        assert_eq!((code, told(&claude).as_str()), (Some(0), meaning), "{screen}");
        assert!(screen.contains("\nWell.\n"), "{screen}");
    }
}

#[test]
fn what_was_typed_before_a_question_does_not_answer_it() {
    let person = Person::new();
    let input = json!({"command": "touch x"});
    let claude = person.claude(
        &(begin()
            + &say("I'll make it.\n")
            + "wait-file go\n"
            + &call("t1", "Bash", &input)
            + &may_i("t1", "touch x")
            + &end("")),
    );
    let mut terminal = Terminal::start(&person, &["ask", "make x"]);
    terminal.wait_for("I'll make it.");
    // Whole lines, and one that its end would complete.
    terminal.keys("y\ry\ry");
    terminal.wait_for("y\ny\ny");
    std::fs::write(claude.beside("go"), "").unwrap();
    terminal.wait_for("n: Deny ›");
    terminal.keys("n\r");
    let (code, screen) = terminal.end();
    assert_eq!((code, told(&claude).as_str()), (Some(0), "deny"), "{screen}");
}

#[test]
fn one_answer_answers_one_question() {
    let person = Person::new();
    let ask = |tool: &str, command: &str| {
        let may_i = may_i(tool, command);
        call(tool, "Bash", &json!({ "command": command }))
            + may_i.trim_end_matches("read-line answer\n")
    };
    // Both are asked before either is answered.
    let claude = person.claude(
        &(begin()
            + &ask("t1", "touch x")
            + &ask("t2", "touch y")
            + "read-line first\nread-line answer\n"
            + &end("")),
    );
    let mut terminal = Terminal::start(&person, &["ask", "make both"]);
    terminal.wait_for("? Bash touch x\n  y: Allow · n: Deny ›");
    terminal.keys("y\ry\r");
    terminal.wait_for("? Bash touch y\n  y: Allow · n: Deny ›");
    terminal.keys("n\r");
    let (code, screen) = terminal.end();
    assert_eq!(code, Some(0), "{screen}");
    let first = std::fs::read_to_string(claude.beside("first")).unwrap();
    assert!(first.contains("ask-t1") && first.contains("\"allow\""), "{first}");
    let second = std::fs::read_to_string(claude.beside("answer")).unwrap();
    assert!(second.contains("ask-t2") && second.contains("\"deny\""), "{second}");
}

#[test]
fn the_end_of_input_refuses() {
    let person = Person::new();
    let claude = asking(&person);
    let mut terminal = Terminal::start(&person, &["ask", "make x"]);
    terminal.wait_for("n: Deny ›");
    terminal.keys("\x04");
    let (code, screen) = terminal.end();
    assert_eq!((code, told(&claude).as_str()), (Some(0), "deny"), "{screen}");
}

#[test]
fn ctrl_c_withdraws_the_question() {
    let person = Person::new();
    asking(&person);
    let mut terminal = Terminal::start(&person, &["--no-daemon", "ask", "make x"]);
    terminal.wait_for("n: Deny ›");
    let processes = descendants(terminal.process().pid());
    terminal.keys("\x03");
    let (code, screen) = terminal.end();
    assert_eq!(code, Some(130), "{screen}");
    let last = screen.lines().last().unwrap();
    assert!(last.starts_with("error: claude-code: "), "on a line of its own:\n{screen}");
    assert_eq!(block_until_gone(&processes, Duration::from_secs(6)), Ok(()));
}

#[test]
fn without_a_terminal_it_is_denied_at_once() {
    let person = Person::new();
    let claude = asking(&person);
    let ran = person.run(&["ask", "make x"]).code(0);
    assert_eq!(told(&claude), "deny");
    assert_eq!(ran.out, "I'll make it.\nWell.\n");
}

#[test]
fn full_permissions_ask_nobody() {
    let person = Person::new();
    let claude = asking(&person);
    let terminal = Terminal::start(&person, &["ask", "--permissions", "full", "make x"]);
    let (code, screen) = terminal.end();
    assert_eq!((code, told(&claude).as_str()), (Some(0), "allow"), "{screen}");
    assert!(!screen.contains('›'), "{screen}");
}

#[test]
fn the_title_of_a_question_cannot_take_the_terminal_over() {
    let person = Person::new();
    let input = json!({"command": "rm -rf /\u{1b}[2K\rls"});
    person.claude(
        &(begin()
            + &call("t1", "Bash", &input)
            + &may_i("t1", "rm -rf /\u{1b}[2K\rls")
            + &end("x")),
    );
    let mut terminal = Terminal::start(&person, &["ask", "list"]);
    terminal.wait_for("n: Deny ›");
    assert!(terminal.screen().contains("? Bash rm -rf /"), "{}", terminal.screen());
    terminal.keys("n\r");
    assert_eq!(terminal.end().0, Some(0));
}
