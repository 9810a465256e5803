//! What the daemon has said.

use std::fs;
use std::io::{BufRead, BufReader, Write};

use crate::person::Person;

#[test]
fn logs_shows_the_end_of_a_large_log() {
    let person = Person::new();
    let logs = person.mia_home().join("logs");
    fs::create_dir(&logs).unwrap();
    let text: String = (0..1_000_000).map(|number| format!("line {number:07}\n")).collect();
    assert!(text.len() > 12_000_000);
    fs::write(logs.join("daemon.log"), text).unwrap();
    assert_eq!(person.run(&["logs", "--lines", "2"]).code(0).out, "line 0999998\nline 0999999\n");
}

#[test]
fn logs_that_are_followed_go_on_when_the_file_is_put_away() {
    let person = Person::new();
    let logs = person.mia_home().join("logs");
    fs::create_dir(&logs).unwrap();
    let log = logs.join("daemon.log");
    fs::write(&log, "one\n").unwrap();
    let mut follows = person.start(&["logs", "--follow"]);
    let mut out = BufReader::new(follows.stdout.take().unwrap());
    let mut next = || {
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        line
    };
    assert_eq!(next(), "one\n");
    let mut old = fs::File::options().append(true).open(&log).unwrap();
    old.write_all(b"two\n").unwrap();
    fs::rename(&log, logs.join("daemon.log.1")).unwrap();
    old.write_all(b"three\n").unwrap();
    fs::write(&log, "four\n").unwrap();
    assert_eq!([next(), next(), next()], ["two\n", "three\n", "four\n"]);
    follows.kill().unwrap();
    follows.wait().unwrap();
}
