//! `mia log`.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::claude::{answer, begin, call, end, outcome, say};
use crate::person::Person;

fn prompts(person: &Person, args: &[&str]) -> Vec<String> {
    let ran = person.run(&[&["log", "--json"], args].concat()).code(0);
    let list: Value = serde_json::from_str(&ran.out).unwrap();
    let list = list.as_array().unwrap();
    list.iter().map(|task| task["prompt"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn nothing_asked_is_nothing_listed() {
    let person = Person::new();
    assert_eq!(person.run(&["log"]).code(0).out, "nothing was asked yet\n");
    assert_eq!(person.run(&["log", "--json"]).code(0).out, "[]\n");
}

#[test]
fn the_newest_is_first_and_each_filter_filters() {
    let person = Person::new();
    let claude = person.claude(&answer("the sky is blue"));
    person.run(&["ask", "--conversation", "talk", "first"]).code(0);
    claude.script(&(begin() + "exit 1\n"));
    person.run(&["ask", "second"]).code(1);
    person.ask_guide(&["help"]).code(0);
    assert_eq!(prompts(&person, &[]), ["help", "second", "first"]);
    assert_eq!(prompts(&person, &["-n", "1"]), ["help"]);
    assert_eq!(prompts(&person, &["--failed"]), ["second"]);
    assert_eq!(prompts(&person, &["--plugin", "guide"]), ["help"]);
    assert_eq!(prompts(&person, &["--conversation", "talk"]), ["first"]);
    assert_eq!(prompts(&person, &["--grep", "FIRS"]), ["first"]);
    let none = person.run(&["log", "--grep", "nowhere to be found"]).code(0);
    assert_eq!(none.out, "nothing was found\n");
}

#[test]
fn a_list_is_a_line_each() {
    let person = Person::new();
    let claude = person.claude(&answer("yes"));
    let long = "x".repeat(100);
    person.run(&["ask", &format!("\n a \u{1b}[2J\t{long}\nmore")]).code(0);
    claude.script(&(begin() + "exit 1\n"));
    person.run(&["ask", "fail"]).code(1);
    let ran = person.run(&["log"]).code(0);
    let lines: Vec<_> = ran.out.lines().collect();
    assert_eq!(lines.len(), 2, "{ran:?}");
    assert!(lines[0].contains("claude-code  PROCESS_EXIT") && lines[0].ends_with("  fail"));
    assert!(lines[1].contains("claude-code  completed") && lines[1].ends_with('…'));
    assert!(!ran.out.contains('\u{1b}'));
    assert!(prompts(&person, &[])[1].ends_with("x\nmore"), "as JSON all of it");
}

#[test]
fn a_running_one_is_told_with_its_time_so_far() {
    let person = Person::new();
    let claude = person.claude(&(begin() + &say("working\n") + "read-line\n"));
    let mut child = person.start(&["ask", "do it"]);
    let mut out = child.stdout.take().unwrap();
    std::io::Read::read_exact(&mut out, &mut [0; 8]).unwrap();
    let ran = person.run(&["log"]).code(0);
    assert!(ran.out.contains("claude-code  running  ") && ran.out.contains(" s  do it"), "{ran:?}");
    mia_testkit::proc::Process::of(child.id()).unwrap().signal(2);
    child.wait().unwrap();
    assert!(claude.path().exists());
}

#[test]
fn the_shape_of_a_task_in_json() {
    let person = Person::new();
    person.claude(&answer("yes"));
    person.run(&["ask", "--conversation", "talk", "is it?"]).code(0);
    let log = person.log();
    let mut members: Vec<_> = log[0].as_object().unwrap().keys().map(String::as_str).collect();
    members.sort_unstable();
    assert_eq!(
        members,
        [
            "conversation_id",
            "cost_usd",
            "created_at",
            "duration_ms",
            "error",
            "plugin",
            "prompt",
            "started_at",
            "status",
            "task_id",
            "usage"
        ]
    );
}

#[test]
fn on_a_terminal_a_task_is_one_line_however_narrow_it_is() {
    let person = Person::new();
    person.claude(&answer("yes"));
    person.run(&["ask", &"word ".repeat(30)]).code(0);
    let setting = crate::terminal::Setting { columns: 40, ..Default::default() };
    let (code, screen) = crate::terminal::Terminal::with(&person, &["log"], setting).end();
    assert_eq!((code, screen.lines().count()), (Some(0), 1), "{screen}");
    assert!(screen.ends_with('…'), "{screen}");
}

#[test]
fn m_070_a_trace_is_a_timeline_of_who_was_asked_and_of_every_tool() {
    let person = Person::new();
    person.configure("active_plugin: codex\nfallback: {plugins: [claude-code]}\n");
    let tools = [
        begin(),
        call("t1", "Bash", &json!({"command": "ls -l"})),
        outcome("t1", "file", false),
        call("t2", "Read", &json!({"file_path": "/nowhere"})),
        outcome("t2", "no such file", true),
        end("done"),
    ];
    person.claude(&tools.concat());
    person.program("codex", "echo broken >&2; exit 9\n");
    person.run(&["ask", "--task", "mine", "look around"]).code(0);
    let trace = person.run(&["log", "--trace", "mine"]).code(0).out;
    let line = |what: &str| {
        let found = trace.lines().find(|line| line.contains(what));
        assert!(found.is_some(), "no {what:?} in:\n{trace}");
        found.unwrap().to_owned()
    };
    assert!(line("prompt").contains("look around") && line("status").contains("completed in"));
    assert!(line("agent").contains("claude-code"));
    // Failed ones have a mark; what began in an attempt is below it.
    assert!(line("codex: ").starts_with('+') && line("codex: ").contains('✗'));
    let place = |what: &str| trace.find(what).unwrap();
    let places = ["codex: ", "  claude-code\n", "ls -l", "/nowhere"].map(place);
    assert!(places.is_sorted(), "{trace}");
    assert!(!line("ls -l").contains('✗') && line("/nowhere").contains('✗'), "{trace}");
    for step in ["codex: ", "ls -l", "/nowhere"] {
        assert!(line(step).contains('█') && line(step).contains(" s  "), "{trace}");
    }
    let whole = person.run(&["log", "--json", "--trace", "mine"]).code(0).out;
    let whole: Value = serde_json::from_str(&whole).unwrap();
    assert_eq!(whole["attempts"][0]["plugin"], "codex");
    assert_eq!(whole["attempts"][1]["error"], Value::Null);
    assert_eq!(whole["tools"][0]["result"]["output"], "file");
    assert_eq!(whole["result"]["content"], "done");
    person.run(&["log", "--trace", "another"]).code(2).says(&["no task another"]);
}
