//! `mia log`.

use pretty_assertions::assert_eq;
use serde_json::Value;

use crate::claude::{answer, begin, say};
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
