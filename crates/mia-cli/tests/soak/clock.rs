//! The clock of the wall jumps, as it does when a machine was suspended or somebody sets it.

use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

use mia_testkit::proc::block_until;
use pretty_assertions::assert_eq;

use crate::claude::{answer, begin, end, say};
use crate::daemon::{SOON, status, trace, wait_for_text};
use crate::person::{Person, Ran};
use crate::rounds::rounds;

const DAY: i64 = 86_400;
/// By then a daemon has looked once for what is to go off its record.
const FIRST_LOOK: Duration = Duration::from_secs(65);

/// The library that lies about the time, if it is installed.
fn library() -> Option<PathBuf> {
    let folders =
        ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"];
    let files = folders.map(|folder| Path::new(folder).join("faketime/libfaketimeMT.so.1"));
    files.into_iter().find(|file| file.is_file())
}

/// A daemon in the foreground whose clock of the wall is set by a file. The clock by which it waits
/// goes on as ever, which is what a suspended machine does, too.
struct Liar {
    child: Child,
    offset: PathBuf,
}

impl Liar {
    fn start(person: &Person, library: &Path) -> Self {
        let offset = person.folder().join("offset");
        std::fs::write(&offset, "+0").unwrap();
        let mut serve = person.mia(&["serve"]);
        serve
            .env("LD_PRELOAD", library)
            .env("FAKETIME_TIMESTAMP_FILE", &offset)
            .env("FAKETIME_NO_CACHE", "1")
            .env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
        // Nobody reads what it says.
        serve.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
        let child = serve.spawn().unwrap();
        block_until("the daemon", SOON, || (status(person)["running"] == true).then_some(()));
        Self { child, offset }
    }

    /// Sets the clock that many seconds ahead of the right time.
    fn set(&self, ahead: i64) {
        // As a whole: it may be read right now.
        let aside = self.offset.with_extension("new");
        std::fs::write(&aside, format!("{ahead:+}")).unwrap();
        std::fs::rename(&aside, &self.offset).unwrap();
    }
}

impl Drop for Liar {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn m_019_a_clock_that_jumps_ends_no_task_and_opens_no_breaker() {
    let Some(library) = library() else {
        println!("SKIPPED a clock that jumps: libfaketime is not installed");
        return;
    };
    rounds("clock", |round| {
        let person = Person::new();
        person.configure("plugins: {claude-code: {timeout: 1h, stall_timeout: 2m}, codex: {binary: /bin/false}}\n");
        let claude = person.claude(&answer("nothing yet"));
        let daemon = Liar::start(&person, &library);
        let began = Instant::now();
        // Three failures, and the other one is left alone for five minutes.
        for _ in 0..3 {
            person.run(&["ask", "--plugin", "codex", "x"]).code(1);
        }
        let jumps = round.size(4, 40);
        for number in 0..jumps {
            claude.script(
                &(begin() + &say("first\n") + "wait-file go\n" + &say("last\n") + &end("")),
            );
            let names = [format!("runs-{number}"), format!("waits-{number}")];
            for name in &names {
                person
                    .run(&["ask", "--detach", "--conversation", "talk", "--task", name, "x"])
                    .code(0);
            }
            wait_for_text(&person.mia_home().join("daemon.sock"), &names[0], 1);
            // Years and hours, to and fro.
            let most = if round.rng.bool() { 73 * 365 * DAY } else { DAY };
            let ahead = round.rng.i64(-most..most).max(-20 * 365 * DAY);
            daemon.set(ahead);
            let seen = format!("seen-{number}");
            person.run(&["ask", "--plugin", "guide", "--task", &seen, "help"]).code(0);
            let at = trace(&person, &seen)["summary"]["created_at"].as_i64().unwrap() / 1000;
            assert!((at - now() - ahead).abs() < 60, "the daemon's clock did not jump");
            std::fs::write(claude.beside("go"), "").unwrap();
            for name in &names {
                assert_eq!(person.run(&["watch", name]).code(0).out, "first\nlast\n");
                let took = trace(&person, name)["summary"]["duration_ms"].as_u64().unwrap();
                assert!(took < 60_000, "{name} took {took} ms by a clock that jumped");
            }
            std::fs::remove_file(claude.beside("go")).unwrap();
            let resting: Ran = person.run(&["ask", "--plugin", "codex", "x"]);
            assert!(resting.code(3).err.contains("left alone"), "after {ahead} s");
        }
        if round.is_long() {
            // The daemon looks for what is too old a minute after its start: with a clock that is
            // decades ahead nothing goes, for it was not so an hour before.
            daemon.set(73 * 365 * DAY);
            let before = person.run(&["log", "--json", "--limit", "100000"]).code(0).out;
            std::thread::sleep(FIRST_LOOK.saturating_sub(began.elapsed()));
            let after = person.run(&["log", "--json", "--limit", "100000"]).code(0).out;
            assert!(before == after, "the record has lost something");
        }
        format!("{jumps} jumps")
    });
}

fn now() -> i64 {
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or(Duration::ZERO);
    i64::try_from(now.as_secs()).unwrap()
}
