//! A person's daemon from outside.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mia_api::EventBody;
use mia_daemon::{Connection, Watching};
use mia_testkit::proc::{Process, descendants};
use serde_json::Value;

use crate::person::Person;

/// Longer than anything takes by itself on a loaded machine.
pub(crate) const SOON: Duration = Duration::from_secs(60);
/// Within that nothing of a killed daemon runs any more (M-21).
pub(crate) const SWEPT: Duration = Duration::from_secs(6);

/// The daemon as it runs now; it is started where none does.
#[derive(Debug, Clone)]
pub(crate) struct Daemon {
    pub(crate) process: Process,
    pub(crate) socket: PathBuf,
}

impl Daemon {
    pub(crate) fn of(person: &Person) -> Self {
        person.run(&["start", "--quiet"]).code(0);
        let status = status(person);
        let pid = u32::try_from(status["pid"].as_u64().unwrap()).unwrap();
        let socket = status["socket"].as_str().unwrap().into();
        Self { process: Process::of(pid).unwrap(), socket }
    }

    /// How many descriptors it has open.
    pub(crate) fn descriptors(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.process.pid())).unwrap().count()
    }

    /// What runs below it.
    pub(crate) fn below(&self) -> Vec<Process> {
        descendants(self.process.pid())
    }

    /// What it has resident, in KiB.
    pub(crate) fn resident_kib(&self) -> usize {
        self.status("VmRSS:")
    }

    /// The most that it had resident since the last [`Daemon::forget_peak`], in KiB.
    pub(crate) fn peak_kib(&self) -> usize {
        self.status("VmHWM:")
    }

    pub(crate) fn forget_peak(&self) {
        fs::write(format!("/proc/{}/clear_refs", self.process.pid()), "5").unwrap();
    }

    fn status(&self, member: &str) -> usize {
        let text = fs::read_to_string(format!("/proc/{}/status", self.process.pid())).unwrap();
        let value = text.lines().find_map(|line| line.strip_prefix(member)).unwrap();
        value.split_whitespace().next().unwrap().parse().unwrap()
    }
}

pub(crate) fn status(person: &Person) -> Value {
    serde_json::from_str(&person.run(&["status", "--json"]).out).unwrap()
}

/// A task in full.
pub(crate) fn trace(person: &Person, task: &str) -> Value {
    let ran = person.run(&["log", "--json", "--trace", task]).code(0);
    serde_json::from_str(&ran.out).unwrap()
}

/// Returns when a watcher has got that many bytes of text, or all of it.
pub(crate) fn wait_for_text(socket: &Path, task: &str, bytes: usize) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let connection = Connection::over(socket.to_owned());
        let mut events =
            connection.watch(&task.parse().unwrap(), Watching::default()).await.unwrap();
        let mut got = 0;
        while let Some(event) = events.next().await.unwrap() {
            if let EventBody::Token { text, .. } = event.body {
                got += text.len();
            }
            if got >= bytes && got > 0 {
                break;
            }
        }
    });
}
