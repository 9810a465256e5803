//! Two at once in one conversation: one waits for the other.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStderr, ChildStdout};

use pretty_assertions::assert_eq;

use crate::claude::{answer, begin, end, say};
use crate::person::{Person, Ran};

const ASK: [&str; 4] = ["--no-daemon", "ask", "--conversation", "talk"];

/// A first one that works until the gate is opened, and a second one that waits for it.
fn two(person: &Person) -> (Child, BufReader<ChildStdout>, Child, BufReader<ChildStderr>) {
    let claude = person.claude(&answer("second"));
    claude.next_script(&(begin() + &say("first\n") + "wait-file go\n" + &end("")));
    let start = |prompt: &str| person.start(&[&ASK[..], &[prompt]].concat());
    let mut first = start("one");
    let mut out = BufReader::new(first.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    assert_eq!(line, "first\n");
    let mut second = start("two");
    let mut err = BufReader::new(second.stderr.take().unwrap());
    line.clear();
    err.read_line(&mut line).unwrap();
    assert!(line.starts_with("mia: waiting for 1 task of this conversation"), "{line}");
    (first, out, second, err)
}

#[test]
fn the_second_waits_says_so_and_keeps_the_order() {
    let person = Person::new();
    let (first, _out, second, _err) = two(&person);
    fs::write(person.folder().join("bin/go"), "").unwrap();
    Ran::from(first.wait_with_output().unwrap()).code(0);
    let ran = Ran::from(second.wait_with_output().unwrap()).code(0);
    assert_eq!(ran.out, "second\n");
    let log = person.log();
    assert_eq!((&log[0]["prompt"], &log[1]["prompt"]), (&"two".into(), &"one".into()));
    assert!(log[0]["started_at"].as_i64() > log[1]["started_at"].as_i64(), "{log}");
}

#[test]
fn the_second_goes_on_when_the_first_is_killed() {
    let person = Person::new();
    let (mut first, _out, second, _err) = two(&person);
    first.kill().unwrap();
    let ran = Ran::from(second.wait_with_output().unwrap()).code(0);
    assert_eq!(ran.out, "second\n");
    first.wait().unwrap();
    assert_eq!(person.log()[1]["status"], "interrupted");
}

#[test]
fn the_second_can_be_aborted_while_it_waits() {
    let person = Person::new();
    let (first, _out, second, _err) = two(&person);
    mia_testkit::proc::Process::of(second.id()).unwrap().signal(2);
    Ran::from(second.wait_with_output().unwrap()).code(130);
    fs::write(person.folder().join("bin/go"), "").unwrap();
    Ran::from(first.wait_with_output().unwrap()).code(0);
}
