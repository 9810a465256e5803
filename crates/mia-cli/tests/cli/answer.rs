//! `mia ask`: what it asks, and what comes out.

use std::fs::File;
use std::io::Read;
use std::process::{Command, Stdio};

use mia_testkit::proc::{block_until, block_until_gone, descendants};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::claude::{answer, begin, call, end, go_on_saying, outcome, say};
use crate::daemon::SOON;
use crate::person::{Person, Ran};

/// The text of the prompt that the scripted agent was given.
fn asked(claude: &mia_testkit::fakecli::FakeCli) -> String {
    let line = std::fs::read_to_string(claude.beside("prompt")).unwrap();
    let line: Value = serde_json::from_str(&line).unwrap();
    line["message"]["content"][0]["text"].as_str().unwrap().to_owned()
}

#[test]
fn words_are_joined_by_blanks() {
    let person = Person::new();
    let claude = person.claude(&answer("yes"));
    person.run(&["ask", "explain", "this  repo", "--", "--now"]).code(0);
    assert_eq!(asked(&claude), "explain this  repo --now");
}

#[test]
fn without_words_stdin_is_the_prompt() {
    let person = Person::new();
    let claude = person.claude(&answer("yes"));
    person.pipe("first\nsecond\n", &["ask"]).code(0);
    assert_eq!(asked(&claude), "first\nsecond\n");
}

#[test]
fn a_dash_among_the_words_stands_for_stdin() {
    let person = Person::new();
    let claude = person.claude(&answer("yes"));
    person.pipe("+added\n-gone\n", &["ask", "review:", "-"]).code(0);
    assert_eq!(asked(&claude), "review:\n\n+added\n-gone\n");
    std::fs::remove_file(claude.beside("prompt")).unwrap();
    person.pipe("only this", &["ask", "-"]).code(0);
    assert_eq!(asked(&claude), "only this");
}

#[test]
fn nothing_but_the_answer_goes_to_stdout() {
    let person = Person::new();
    let input = json!({"command": "ls"});
    person.claude(
        &(begin()
            + &say("Let me look.\n")
            + &call("t1", "Bash", &input)
            + &outcome("t1", "a\nb", false)
            + "err a warning of the agent\n"
            + &say("Two files: ä\t\u{1b}[1mb\u{1b}[0m\r\n")
            + &end("unused")),
    );
    let ran = person.run(&["ask", "what is here?"]);
    let out = "Let me look.\nTwo files: ä\t\u{1b}[1mb\u{1b}[0m\r\n".to_owned();
    assert_eq!(ran, Ran { code: Some(0), out, err: String::new() });
}

#[test]
fn an_answer_without_a_line_end_gets_one() {
    let person = Person::new();
    person.claude(&answer("yes"));
    let ran = person.run(&["ask", "is it?"]);
    assert_eq!(ran, Ran { code: Some(0), out: "yes\n".to_owned(), err: String::new() });
}

#[test]
fn quiet_says_nothing_but_errors() {
    let person = Person::new();
    let claude = person.claude(&(begin() + "err oh\nout not json\n" + &say("yes") + &end("yes")));
    let ran = person.run(&["ask", "--quiet", "is it?"]);
    assert_eq!(ran, Ran { code: Some(0), out: "yes\n".to_owned(), err: String::new() });
    claude.script(&(begin() + "exit 1\n"));
    person.run(&["ask", "--quiet", "is it?"]).code(1).says(&["error: claude-code: "]);
}

#[test]
fn an_agent_that_fails_is_status_1_and_its_last_words_are_told() {
    let person = Person::new();
    person.claude(&(begin() + &say("So far") + "err it broke badly\nexit 7\n"));
    let ran = person.run(&["ask", "do it"]).code(1);
    let ran = ran.says(&["error: claude-code: ", "it broke badly"]);
    assert_eq!(ran.out, "So far\n", "what was said is not lost");
}

#[test]
fn a_failed_start_is_status_3() {
    let person = Person::new();
    person.configure("plugins:\n  claude-code:\n    binary: /nowhere/claude\n");
    person.run(&["ask", "--plugin", "claude-code", "do it"]).code(3).says(&["/nowhere/claude"]);
}

#[test]
fn no_agent_is_status_3_with_all_that_helps() {
    let ran = Person::new().run(&["ask", "do it"]).code(3);
    assert_eq!(
        ran.err,
        "error: no coding agent is installed
  Mia knows these agents:
    claude-code   install it with: mia plugin install claude-code
    codex         install it with: mia plugin install codex
    gemini        install it with: mia plugin install gemini
    opencode      install it with: mia plugin install opencode
    qwen          install it with: mia plugin install qwen
  To try Mia without an agent:
    mia ask --plugin guide \"what is this repository?\"\n"
    );
}

#[test]
fn a_time_limit_ends_it() {
    let person = Person::new();
    person.claude(&(begin() + "read-line\n"));
    let child = person.start(&["--no-daemon", "ask", "--timeout", "300ms", "do it"]);
    let mia = child.id();
    let below = block_until("the agent", SOON, || Some(descendants(mia)).filter(|d| d.len() > 1));
    let ran: Ran = child.wait_with_output().unwrap().into();
    ran.code(1).says(&["error: claude-code: "]);
    assert_eq!(block_until_gone(&below, SOON), Ok(()));
    assert_eq!(person.log()[0]["error"]["code"], "TIMEOUT");
}

#[test]
fn the_reader_that_goes_ends_the_agent() {
    let person = Person::new();
    person.claude(&(begin() + &say("first\n") + "read-line\n"));
    let mut child = person.start(&["--no-daemon", "ask", "do it"]);
    let mut first = [0; 6];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let below = descendants(child.id());
    assert_eq!((&first, below.is_empty()), (b"first\n", false));
    // The other end of the pipe is closed now.
    let ran: Ran = child.wait_with_output().unwrap().into();
    assert_eq!((ran.code, ran.err.as_str()), (Some(1), ""), "no panic, no noise");
    assert_eq!(block_until_gone(&below, SOON), Ok(()));
    assert_eq!(person.log()[0]["error"]["code"], "ABORTED");
}

#[test]
fn a_pipe_to_head_ends_soon() {
    let person = Person::new();
    let text = format!("{}\n", "x".repeat(99));
    person.claude(&(begin() + &go_on_saying(100_000, &text) + &end("")));
    let script = format!(
        "{} ask much | {{ IFS= read -r line; echo got ${{#line}}; }}",
        env!("CARGO_BIN_EXE_mia")
    );
    let mut shell = Command::new("/bin/sh");
    person.surround(shell.arg("-c").arg(script));
    let ran: Ran = shell.output().unwrap().into();
    assert_eq!(ran.err, "");
    assert!(ran.out.starts_with("got "), "{ran:?}");
}

#[test]
fn a_full_disk_under_stdout_is_told() {
    let person = Person::new();
    let claude = person.claude(&answer("yes\n"));
    for args in [&["ask", "do it"][..], &["ask", "--json", "do it"]] {
        claude.script(&answer("yes\n"));
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = person.mia(args).stdout(full).output().unwrap();
        Ran::from(output).code(1).says(&["can't write the answer to stdout", "No space left"]);
    }
}

#[test]
fn a_closed_stdout_is_no_panic() {
    let person = Person::new();
    person.claude(&answer("yes"));
    let script = format!("{} ask do it >&- 2>&-", env!("CARGO_BIN_EXE_mia"));
    let mut shell = Command::new("/bin/sh");
    person.surround(shell.arg("-c").arg(script).stdin(Stdio::null()));
    Ran::from(shell.output().unwrap()).code(0);
}

#[test]
fn what_is_asked_can_be_as_large_as_a_diff_gets() {
    let person = Person::new();
    let claude = person.claude(&answer("yes"));
    let text = "0123456789".repeat(100_000);
    person.pipe(&text, &["ask"]).code(0);
    assert_eq!(asked(&claude), text);
}
