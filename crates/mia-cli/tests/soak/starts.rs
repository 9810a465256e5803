//! Many starts at once, on a fresh home and after a daemon that was killed.

use mia_testkit::proc::{KILL, block_until_gone};
use pretty_assertions::assert_eq;

use crate::claude::answer;
use crate::daemon::{Daemon, SOON};
use crate::person::{Person, Ran};
use crate::rounds::rounds;

#[test]
fn ten_at_once_start_one_daemon_whatever_the_last_one_left() {
    rounds("starts", |round| {
        let times = round.size(5, 50);
        let person = Person::new();
        person.claude(&answer("yes"));
        person
            .configure("limits: {concurrent: 10}\nplugins: {claude-code: {max_concurrency: 10}}\n");
        for time in 1..=times {
            let starts = round.rng.bool();
            let args: &[&str] = if starts { &["start", "--quiet"] } else { &["ask", "hello"] };
            let clients: Vec<_> = (0..10).map(|_| person.start(args)).collect();
            for client in clients {
                let ran = Ran::from(client.wait_with_output().unwrap()).code(0);
                assert_eq!(ran.out, if starts { "" } else { "yes\n" });
            }
            let daemon = Daemon::of(&person);
            let log = person.run(&["logs", "--lines", "10000"]).code(0).out;
            assert_eq!(log.matches("started, version").count(), time, "{log}");
            let below = daemon.below();
            daemon.process.signal(KILL);
            block_until_gone(&[daemon.process], SOON).unwrap();
            if round.rng.bool() {
                block_until_gone(&below, SOON).unwrap();
            }
        }
        format!("{times} times ten clients at once, and one daemon each time")
    });
}
