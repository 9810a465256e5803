//! A watcher stands still while tools print without end.

use std::io::{BufRead, BufReader};

use mia_testkit::proc::{CONT, Process, STOP, block_until};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::claude::{begin, call, end, outcome};
use crate::daemon::{Daemon, SOON};
use crate::person::{Person, Ran};
use crate::rounds::rounds;

/// What the daemon may hold over what it held before, in KiB.
const OVER_IDLE: usize = 32 * 1024;
/// Bytes of output of one tool.
const OUTPUT: usize = 500_000;

/// A watcher that writes events as lines.
struct Watcher {
    process: Process,
    child: std::process::Child,
}

impl Watcher {
    fn start(person: &Person) -> Self {
        let child = person.start(&["watch", "--json", "task"]);
        Self { process: Process::of(child.id()).unwrap(), child }
    }

    /// All that it wrote.
    fn events(self) -> Vec<Value> {
        let ran = Ran::from(self.child.wait_with_output().unwrap()).code(0);
        ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// So many tools that print so much.
fn tools(count: usize, bytes: usize) -> String {
    let mut script = String::new();
    for number in 0..count {
        let id = format!("t-{number}");
        script += &call(&id, "Bash", &json!({"command": format!("print {number}")}));
        let fill = outcome(&id, "{fill}", false);
        script += &fill.replacen("out ", &format!("bigline {bytes} "), 1);
    }
    script
}

#[test]
fn a_watcher_that_stands_still_costs_no_memory_and_misses_nothing() {
    rounds("stopped", |round| {
        let outputs = round.size(90, 400);
        let person = Person::new();
        // Small ones first: what the daemon needs for any work is no news.
        let claude = person.claude(&(begin() + &tools(3, 1000) + &end("done")));
        person.run(&["ask", "first"]).code(0);
        let daemon = Daemon::of(&person);
        let idle = daemon.resident_kib();
        daemon.forget_peak();

        claude.script(&(begin() + "wait-file go\n" + &tools(outputs, OUTPUT) + &end("done")));
        person.run(&["ask", "--detach", "--task", "task", "second"]).code(0);
        let mut watcher = Watcher::start(&person);
        // It watches once it has the first event.
        let mut out = BufReader::new(watcher.child.stdout.take().unwrap());
        let mut first = String::new();
        out.read_line(&mut first).unwrap();
        watcher.process.signal(STOP);
        std::fs::write(claude.beside("go"), "").unwrap();
        block_until("the task to end", SOON * 5, || {
            let tasks = person.run(&["tasks"]).code(0);
            (tasks.out == "nothing waits and nothing runs\n").then_some(())
        });
        let peak = daemon.peak_kib();
        assert!(peak <= idle + OVER_IDLE, "{peak} KiB at most, {idle} KiB before");

        watcher.process.signal(CONT);
        let mut events: Vec<Value> = vec![serde_json::from_str(&first).unwrap()];
        events
            .extend(out.lines().map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap()));
        assert_eq!(watcher.child.wait().unwrap().code(), Some(0));
        let results: Vec<_> =
            events.iter().filter(|event| event["type"] == "tool_result").collect();
        assert_eq!(results.len(), outputs);
        for (number, result) in results.iter().enumerate() {
            assert_eq!(result["id"], format!("t-{number}"), "{result:#}");
            assert_eq!(result["output"].as_str().unwrap().len(), OUTPUT);
        }
        let seqs: Vec<_> = events.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
        let all: Vec<_> = (1..=seqs.len() as u64).collect();
        assert_eq!(seqs, all, "no number is missing, none comes twice");
        // Who watches it once it is over gets the same.
        assert!(Watcher::start(&person).events() == events, "the record says something else");
        let megabytes = outputs * OUTPUT / 1_000_000;
        let over = peak.saturating_sub(idle) as f64 / 1024.0;
        format!("{megabytes} MB of output past a stopped watcher, {over:.1} MiB over idle at most")
    });
}
