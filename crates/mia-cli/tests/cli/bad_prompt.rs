//! Prompts that nobody can answer.

use crate::claude::answer;
use crate::person::Person;

/// Runs it with an agent that must not be asked.
fn refused(input: &[u8], args: &[&str], says: &[&str]) {
    let person = Person::new();
    let claude = person.claude(&format!("touch asked\n{}", answer("yes")));
    person.pipe(input, args).code(2).says(says);
    assert!(!claude.beside("asked").exists());
    assert_eq!(person.log(), serde_json::json!([]));
}

#[test]
fn nothing_to_ask_is_refused() {
    refused(b"", &["ask"], &["error: the prompt is empty", "say what is to be done"]);
    refused(b"", &["ask", ""], &["the prompt is empty"]);
    refused(b" \n\t\n", &["ask", "-"], &["the prompt is empty"]);
}

#[test]
fn a_nul_byte_is_refused_by_its_place() {
    refused(b"ab\0c", &["ask"], &["a NUL byte at position 2", "--file"]);
}

#[test]
fn bytes_that_are_no_text_are_refused_by_their_place() {
    refused(b"abc\xff\xfe", &["ask", "review:", "-"], &["no UTF-8 text (at byte 3)", "--file"]);
}

#[test]
fn an_unknown_agent_is_refused_with_the_nearest() {
    let known = "there are: claude-code, codex, gemini, guide, opencode, qwen";
    refused(b"", &["ask", "-p", "claude", "x"], &["did you mean \"claude-code\"?", known]);
    refused(b"", &["ask", "-p", "claud-code", "x"], &["did you mean \"claude-code\"?"]);
    refused(b"", &["ask", "-p", "giude", "x"], &["did you mean \"guide\"?"]);
    refused(b"", &["ask", "-p", "zzz", "x"], &["there is no plugin \"zzz\"; there are"]);
}

#[test]
fn a_disabled_agent_is_refused() {
    let person = Person::new();
    person.configure("plugins:\n  claude-code:\n    enabled: false\n");
    let ran = person.run(&["ask", "-p", "claude-code", "x"]).code(2);
    ran.says(&["is disabled", "mia config set plugins.claude-code.enabled true"]);
}

#[test]
fn a_bad_flag_is_status_2() {
    for args in [&["ask", "--tiemout", "3s", "x"][..], &["ask", "--timeout", "soon", "x"], &["aks"]]
    {
        refused(b"", args, &["error:"]);
    }
    refused(b"", &["askk"], &["similar subcommand", "'ask'"]);
    refused(b"", &["plug", "list"], &["'plugin'"]);
}
