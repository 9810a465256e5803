//! How a task is ended from outside: signals, and what is left after them (M-21, M-24).

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, ExitStatus};
use std::time::{Duration, Instant};

use mia_testkit::fakecli::FakeCli;
use mia_testkit::proc::{
    CONT, INT, KILL, Process, STOP, TERM, block_until, block_until_gone, descendants,
};
use pretty_assertions::assert_eq;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::claude::{begin, end, go_on_saying, say};
use crate::daemon::SOON;
use crate::person::{Person, Ran};

/// How long anything of a killed `mia` may live.
const SWEPT: Duration = Duration::from_secs(6);

/// An agent that has said something, started a child in a session of its own, and works on.
fn busy(person: &Person, more: &str) -> FakeCli {
    let sleeper = "fork-sleeper sleeper setsid clean-env stubborn\n";
    person.claude(&(begin() + more + sleeper + &say("working\n") + "read-line\nhang\n"))
}

/// Waits until the agent has said something; all processes of the task.
fn working(child: &mut Child, claude: &FakeCli) -> (BufReader<ChildStdout>, Vec<Process>) {
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    assert_eq!(line, "working\n");
    let mut processes = descendants(child.id());
    processes.push(sleeper(&claude.beside("sleeper")));
    assert!(processes.len() >= 3, "supervisor, agent, its child: {processes:?}");
    (out, processes)
}

fn sleeper(path: &Path) -> Process {
    Process::of(fs::read_to_string(path).unwrap().parse().unwrap()).unwrap()
}

fn signal(child: &Child, number: i32) {
    Process::of(child.id()).unwrap().signal(number);
}

fn ended(child: Child) -> Ran {
    child.wait_with_output().unwrap().into()
}

#[test]
fn m_024_ctrl_c_aborts_and_leaves_nothing() {
    for number in [INT, TERM] {
        let person = Person::new();
        let claude = busy(&person, "");
        let mut child = person.start(&["--no-daemon", "ask", "do it"]);
        let (_out, processes) = working(&mut child, &claude);
        signal(&child, number);
        ended(child).code(130).says(&["error: claude-code: "]);
        assert_eq!(block_until_gone(&processes, Duration::ZERO), Ok(()), "gone before mia is");
        assert_eq!(person.log()[0]["error"]["code"], "ABORTED");
    }
}

#[test]
fn m_024_json_ends_with_the_abort() {
    let person = Person::new();
    let claude = busy(&person, "");
    let mut child = person.start(&["ask", "--json", "do it"]);
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("working") {
        line.clear();
        assert!(out.read_line(&mut line).unwrap() > 0);
    }
    let left = sleeper(&claude.beside("sleeper"));
    signal(&child, INT);
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let last: serde_json::Value = serde_json::from_str(rest.lines().last().unwrap()).unwrap();
    assert_eq!((&last["type"], &last["error"]["code"]), (&"error".into(), &"ABORTED".into()));
    assert_eq!(last["error"]["partial"]["content"], "working\n");
    assert!(!left.alive());
}

#[test]
fn a_second_ctrl_c_ends_it_at_once() {
    let person = Person::new();
    // Deaf to all that is kind, so that the first one alone takes seconds.
    let claude = busy(&person, "ignore TERM\nignore INT\n");
    let mut child = person.start(&["--no-daemon", "ask", "do it"]);
    let (_out, processes) = working(&mut child, &claude);
    signal(&child, INT);
    let first = Instant::now();
    // Two signals of one kind that are pending together are one: the first is taken when the
    // handler's byte is gone.
    let mut status: Option<ExitStatus> = None;
    block_until("the end", SOON, || {
        if let Some(mia) = Process::of(child.id()) {
            mia.signal(INT);
        }
        status = child.try_wait().unwrap();
        status
    });
    assert_eq!(status.unwrap().code(), Some(130));
    assert!(first.elapsed() < Duration::from_secs(2), "{:?}", first.elapsed());
    assert_eq!(block_until_gone(&processes, SWEPT), Ok(()));
}

#[test]
fn m_021_nothing_outlives_a_killed_mia() {
    let person = Person::new();
    let claude = busy(&person, "ignore TERM\n");
    let mut child = person.start(&["--no-daemon", "ask", "do it"]);
    let (_out, processes) = working(&mut child, &claude);
    signal(&child, KILL);
    assert_eq!(block_until_gone(&processes, SWEPT), Ok(()));
    ended(child);
    let ran = person.run(&["log"]).code(0);
    assert!(ran.out.contains("do it"), "what was asked is on record: {ran:?}");
}

#[test]
fn ctrl_c_works_while_nobody_reads_the_answer() {
    let person = Person::new();
    let claude = busy(&person, "");
    claude.script(
        &(begin() + &say("working\n") + &go_on_saying(50_000, &"x".repeat(1000)) + "hang\n"),
    );
    let mut child = person.start(&["--no-daemon", "ask", "do it"]);
    let mut out = child.stdout.take().unwrap();
    let mut first = [0; 8];
    out.read_exact(&mut first).unwrap();
    // The pipe fills up now, and `mia` stands still in a write: its reader is there and reads no
    // more. It is stuck for sure once the agent can't write either and sleeps.
    let processes = descendants(child.id());
    let agent = processes.iter().find(|p| p.command().contains("stream-json")).unwrap().clone();
    let writes = || fs::read_to_string(format!("/proc/{}/io", agent.pid())).unwrap();
    let mut last = writes();
    let mut same = 0;
    block_until("everything to stand still", SOON, || {
        let now = writes();
        same = if now == last { same + 1 } else { 0 };
        last = now;
        (same > 100).then_some(())
    });
    signal(&child, INT);
    assert_eq!(block_until("the end", SOON, || child.try_wait().unwrap()).code(), Some(130));
    assert_eq!(block_until_gone(&processes, SWEPT), Ok(()));
    assert_eq!(person.log()[0]["error"]["code"], "ABORTED");
    drop(out);
}

#[test]
fn ctrl_c_works_while_the_end_of_the_answer_is_not_read() {
    let person = Person::new();
    person.claude(&(begin() + &say(&"x".repeat(1_000_000)) + &end("")));
    let mut child = person.start(&["ask", "do it"]);
    let out = child.stdout.take().unwrap();
    block_until("the task to be over", SOON, || {
        let log = person.run(&["log"]);
        log.out.contains("completed").then_some(())
    });
    assert_eq!(child.try_wait().unwrap(), None, "the answer is not yet read");
    signal(&child, INT);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    drop(out);
}

#[test]
fn a_stopped_mia_stands_still_and_goes_on() {
    let person = Person::new();
    let script = say("working\n") + "wait-file go\n" + &say("done\n") + "touch said\n" + &end("");
    let claude = person.claude(&(begin() + &script));
    let mut child = person.start(&["ask", "do it"]);
    let mut out = BufReader::new(child.stdout.take().unwrap());
    out.read_line(&mut String::new()).unwrap();
    signal(&child, STOP);
    block_until("mia to stand still", SOON, || stopped(&child).then_some(()));
    fs::write(claude.beside("go"), "").unwrap();
    block_until("the agent to go on", SOON, || claude.beside("said").exists().then_some(()));
    assert!(stopped(&child));
    let mut fds = [PollFd::new(out.get_ref(), PollFlags::IN)];
    assert_eq!(poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })), Ok(0), "it said nothing");
    signal(&child, CONT);
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert_eq!((rest.as_str(), child.wait().unwrap().code()), ("done\n", Some(0)));
}

/// Whether a signal has stopped the process and all its threads.
fn stopped(child: &Child) -> bool {
    let threads = fs::read_dir(format!("/proc/{}/task", child.id())).unwrap();
    threads.map(|thread| fs::read_to_string(thread.unwrap().path().join("status")).unwrap()).all(
        |status| {
            status.lines().any(|line| line.starts_with("State:") && line.contains("T (stopped)"))
        },
    )
}
