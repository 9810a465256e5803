//! What a person sees.

use std::process::Stdio;

use pretty_assertions::assert_eq;
use serde_json::json;

use crate::claude::{begin, call, end, outcome, say};
use crate::person::Person;
use crate::terminal::{Setting, Terminal};

/// The screen with times made the same.
fn timeless(screen: &str) -> String {
    let mut text = String::new();
    for line in screen.lines() {
        let words = line.split(' ').collect::<Vec<_>>();
        let mut words = words.into_iter().peekable();
        while let Some(word) = words.next() {
            let is_time = word.parse::<f64>().is_ok() && words.peek() == Some(&"s");
            text.push_str(if is_time { "N" } else { word });
            text.push(' ');
        }
        text.truncate(text.trim_end_matches(' ').len());
        text.push('\n');
    }
    text
}

fn tools() -> String {
    let bash = |command: &str| json!({"command": command});
    begin()
        + &say("Let me look.")
        + &call("t1", "Read", &json!({"file_path": "src/main.rs"}))
        + &outcome("t1", "fn main() {}", false)
        + &call(
            "t2",
            "Bash",
            &bash("cargo test --workspace --all-features -- --nocapture some::very::long::name"),
        )
        + &outcome("t2", "failed", true)
        + &say("It **works**.\n")
        + &end("")
}

#[test]
fn tools_are_a_line_each_and_the_answer_is_not_disturbed() {
    let person = Person::new();
    person.claude(&tools());
    let (code, screen) = Terminal::start(&person, &["ask", "does it work?"]).end();
    assert_eq!(code, Some(0));
    insta::assert_snapshot!(timeless(&screen));
}

#[test]
fn a_narrow_terminal_wraps_nothing_of_ours() {
    let person = Person::new();
    person.claude(&tools());
    let setting = Setting { columns: 40, ..Setting::default() };
    let (_, screen) = Terminal::with(&person, &["ask", "does it work?"], setting).end();
    insta::assert_snapshot!(timeless(&screen));
}

#[test]
fn a_dumb_terminal_and_no_colour_get_plain_lines() {
    let person = Person::new();
    let cli = person.claude(&tools());
    let setting = Setting { env: &[("TERM", "dumb")], ..Setting::default() };
    let terminal = Terminal::with(&person, &["ask", "does it work?"], setting);
    terminal.wait_for("claude-code · fake-model");
    assert!(!terminal.raw().contains('\u{1b}'), "{:?}", terminal.raw());
    assert!(terminal.screen().contains("✓ Read src/main.rs"), "{}", terminal.screen());
    terminal.end();
    cli.script(&tools());
    let setting = Setting { env: &[("NO_COLOR", "1")], ..Setting::default() };
    let terminal = Terminal::with(&person, &["ask", "does it work?"], setting);
    terminal.wait_for("claude-code · fake-model");
    let raw = terminal.raw();
    assert!(!raw.contains("\u{1b}[2m") && !raw.contains("\u{1b}[31m"), "{raw:?}");
    terminal.end();
}

#[test]
fn a_tool_that_takes_its_time_is_shown_and_never_on_stdout() {
    let person = Person::new();
    let input = json!({"command": "sleep 9"});
    person.claude(
        &(begin()
            + &say("Let me wait.")
            + &call("t1", "Bash", &input)
            + "wait-file go\n"
            + &outcome("t1", "", false)
            + &say("Done.")
            + &end("")),
    );
    let out = person.folder().join("out");
    for stdout in [None, Some(Stdio::from(std::fs::File::create(&out).unwrap()))] {
        let to_file = stdout.is_some();
        let setting = Setting { stdout, ..Setting::default() };
        let terminal = Terminal::with(&person, &["ask", "wait"], setting);
        terminal.wait_for(" Bash sleep 9  0.");
        let go = person.folder().join("bin/go");
        std::fs::write(&go, "").unwrap();
        let (code, screen) = terminal.end();
        std::fs::remove_file(go).unwrap();
        assert_eq!(code, Some(0));
        let wanted = if to_file {
            assert_eq!(std::fs::read_to_string(&out).unwrap(), "Let me wait.\n\nDone.\n");
            "✓ Bash sleep 9  N s\nclaude-code · fake-model · N s · 1.2k in, 34 out · $0.0123\n"
        } else {
            "Let me wait.\n✓ Bash sleep 9  N s\nDone.\nclaude-code · fake-model · N s · 1.2k in, 34 out · $0.0123\n"
        };
        assert_eq!(timeless(&screen), wanted);
    }
}

#[test]
fn an_answer_cannot_take_the_terminal_over() {
    let person = Person::new();
    person.claude(&(begin() + &say("a\u{1b}]0;title\u{7}b\u{1b}[2J\u{202e}c\r\nd\te") + &end("")));
    let terminal = Terminal::start(&person, &["ask", "x"]);
    terminal.wait_for("claude-code ·");
    let raw = terminal.raw();
    assert!(!raw.contains("\u{1b}]0;") && !raw.contains("\u{1b}[2J") && !raw.contains('\u{7}'));
    assert!(raw.starts_with("a␛]0;title\u{fffd}b␛[2J\u{fffd}c\r\nd\te\r\n"), "{raw:?}");
    terminal.end();
}

#[test]
fn a_mistake_is_shown_in_its_line() {
    let person = Person::new();
    person.configure("limits:\n  concurent: 3\n");
    let (code, screen) = Terminal::start(&person, &["config", "get", "limits"]).end();
    assert_eq!(code, Some(2));
    let place = person.mia_home().join("config.yaml").display().to_string();
    insta::assert_snapshot!(screen.replace('\n', "¶").replace(&place, "CONFIG").replace('¶', "\n"));
}

#[test]
fn without_a_prompt_on_a_terminal_it_does_not_wait() {
    let person = Person::new();
    let (code, screen) = Terminal::start(&person, &["ask"]).end();
    assert_eq!(code, Some(2));
    assert_eq!(
        screen,
        "error: there is nothing to ask\n  Pipe the prompt in, or say it:\n    mia ask \"explain this repo\""
    );
}

#[test]
fn it_says_that_it_is_stopping_and_ends_at_once_when_asked_again() {
    let person = Person::new();
    person.claude(&(begin() + &say("Working on it.") + "ignore TERM\nhang\n"));
    let mut terminal = Terminal::start(&person, &["ask", "work"]);
    terminal.wait_for("Working on it.");
    terminal.keys("\x03");
    terminal.wait_for("stopping (Ctrl-C again to end it at once)");
    terminal.keys("\x03");
    let (code, screen) = terminal.end();
    assert_eq!(code, Some(130));
    let lines: Vec<_> = screen.lines().collect();
    assert_eq!(lines[0], "Working on it.^C", "{screen}");
    assert!(lines[1].contains("stopping") && lines.len() == 2, "{screen}");
}

#[test]
fn the_error_stands_below_what_was_said() {
    let person = Person::new();
    person.claude(&(begin() + &say("So far") + "exit 7\n"));
    let (code, screen) = Terminal::start(&person, &["ask", "work"]).end();
    assert_eq!(code, Some(1));
    let lines: Vec<_> = screen.lines().collect();
    assert_eq!(lines[0], "So far");
    assert!(lines[1].starts_with("error: claude-code: "), "{screen}");
}
