//! The daemon under the usual limit of descriptors.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::process::Command;

use mia_testkit::proc::{KILL, Process, block_until, block_until_gone, descendants};

use crate::claude::{answer, begin, end, say};
use crate::daemon::{SOON, daemon};
use crate::person::{Person, Ran};

/// Starts the daemon as somebody does whose limit is that.
fn start_with(person: &Person, limit: &str) {
    let mut shell = Command::new("/bin/sh");
    person.surround(shell.args(["-c", &format!("ulimit -Sn {limit}; exec \"$0\" start")]));
    shell.arg(env!("CARGO_BIN_EXE_mia"));
    Ran::from(shell.output().unwrap()).code(0);
}

/// How many descriptors a process may open, and might.
fn limits(process: &Process) -> (u64, u64) {
    let text = fs::read_to_string(format!("/proc/{}/limits", process.pid())).unwrap();
    let line = text.lines().find(|line| line.starts_with("Max open files")).unwrap();
    let mut numbers = line.split_whitespace().skip(3).map(|number| number.parse().unwrap());
    (numbers.next().unwrap(), numbers.next().unwrap())
}

#[test]
fn the_daemon_may_open_many_descriptors_and_what_an_agent_starts_as_many_as_ever() {
    let person = Person::new();
    let claude = person.claude(&answer("later"));
    start_with(&person, "300");
    let process = daemon(&person);
    let (may, might) = limits(&process);
    assert_eq!(may, might, "it may open as many as there are");
    assert!(might > 300);
    // Also under a second supervisor, which starts when the first was killed.
    for round in ["one", "two"] {
        claude.next_script(
            &(begin()
                + "fork-sleeper sleeper\n"
                + &say("first\n")
                + &format!("wait-file {round}\n")
                + &end("")),
        );
        person.run(&["ask", "--detach", "--task", round, "x"]).code(0);
        let below = block_until("an agent and its child", SOON, || {
            let below = descendants(process.pid());
            (below.len() >= 3).then_some(below)
        });
        for one in &below {
            assert_eq!(limits(one), (300, might), "{}", one.command());
        }
        fs::write(claude.beside(round), "").unwrap();
        person.run(&["watch", round]);
        let supervisor =
            below.iter().find(|one| one.parent() == Some(process.pid())).unwrap().clone();
        supervisor.signal(KILL);
        block_until_gone(&[supervisor], SOON).unwrap();
    }
}

#[test]
fn a_thousand_watchers_are_no_trouble_under_the_usual_limit() {
    const WATCHERS: usize = 1000;
    // Those are this process's own.
    assert!(mia_host::descriptors::raise() > WATCHERS as u64 + 100);
    let person = Person::new();
    start_with(&person, "1024");
    let mut watchers: Vec<_> = (0..WATCHERS)
        .map(|_| {
            let mut stream = UnixStream::connect(person.mia_home().join("daemon.sock")).unwrap();
            stream.set_read_timeout(Some(SOON)).unwrap();
            stream.write_all(b"GET /v1/events HTTP/1.1\r\nHost: mia\r\n\r\n").unwrap();
            stream
        })
        .collect();
    let heads: Vec<_> = watchers.iter_mut().map(|stream| read_to(stream, "\n:\n")).collect();
    assert!(heads.iter().all(|head| head.starts_with("HTTP/1.1 200 OK\r\n")), "{heads:?}");
    person.ask_guide(&["help"]).code(0);
    for watcher in &mut watchers {
        read_to(watcher, "\"type\":\"complete\"");
    }
}

/// Reads until that has come.
fn read_to(stream: &mut UnixStream, end: &str) -> String {
    let mut text = Vec::new();
    let mut buffer = [0; 16 * 1024];
    while !String::from_utf8_lossy(&text).contains(end) {
        let count = stream.read(&mut buffer).unwrap();
        assert_ne!(count, 0, "it was closed: {}", String::from_utf8_lossy(&text));
        text.extend_from_slice(&buffer[..count]);
    }
    String::from_utf8(text).unwrap()
}
