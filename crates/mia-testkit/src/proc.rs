//! Looking for processes in /proc, and waiting for what can't be awaited.
//!
//! Waiting here means looking again every few milliseconds of real time, up to a deadline: for other
//! processes and files, which tell nobody when they change. The clock of the runtime is not used, so a paused one is
//! no problem.

use std::fs;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

/// How long to wait between two looks.
const LOOK: Duration = Duration::from_millis(3);

/// Signals by their numbers, for [`Process::signal`].
pub const INT: i32 = Signal::INT.as_raw();
/// See [`INT`].
pub const TERM: i32 = Signal::TERM.as_raw();
/// See [`INT`].
pub const KILL: i32 = Signal::KILL.as_raw();
/// See [`INT`].
pub const STOP: i32 = Signal::STOP.as_raw();
/// See [`INT`].
pub const CONT: i32 = Signal::CONT.as_raw();

/// One process: the pid and when it started, so that a reused pid is another process.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Process {
    pid: u32,
    started: u64,
    command: String,
}

impl Process {
    /// The process of that pid, unless there is none or it is a zombie.
    #[must_use]
    pub fn of(pid: u32) -> Option<Self> {
        let stat = Stat::read(pid)?;
        if stat.dead() {
            return None;
        }
        let command = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let command = String::from_utf8_lossy(&command).trim_end_matches('\0').replace('\0', " ");
        Some(Self { pid, started: stat.started, command })
    }

    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Its arguments, joined by blanks.
    #[must_use]
    pub fn command(&self) -> &str {
        &self.command
    }

    /// Whether it still runs. A zombie doesn't.
    #[must_use]
    pub fn alive(&self) -> bool {
        Stat::read(self.pid).is_some_and(|stat| stat.started == self.started && !stat.dead())
    }

    /// The id of its session, while it lives.
    #[must_use]
    pub fn session(&self) -> Option<u32> {
        Stat::read(self.pid).filter(|stat| stat.started == self.started).map(|stat| stat.session)
    }

    /// The pid of its parent, while it lives.
    #[must_use]
    pub fn parent(&self) -> Option<u32> {
        Stat::read(self.pid).filter(|stat| stat.started == self.started).map(|stat| stat.parent)
    }

    /// Sends it a signal by number. A process that is gone gets none.
    pub fn signal(&self, number: i32) {
        let signal = Signal::from_named_raw(number).expect("a signal's number");
        if self.alive()
            && let Some(pid) = i32::try_from(self.pid).ok().and_then(Pid::from_raw)
        {
            // It may end between the look and the kill: that is no error.
            let _ = rustix::process::kill_process(pid, signal);
        }
    }
}

/// The fields of /proc/PID/stat that are used here.
struct Stat {
    state: char,
    parent: u32,
    session: u32,
    started: u64,
}

impl Stat {
    fn read(pid: u32) -> Option<Self> {
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name stands in parentheses and may hold any.
        let (_, fields) = text.rsplit_once(") ")?;
        let fields: Vec<&str> = fields.split(' ').collect();
        Some(Self {
            state: fields.first()?.chars().next()?,
            parent: fields.get(1)?.parse().ok()?,
            session: fields.get(3)?.parse().ok()?,
            started: fields.get(19)?.parse().ok()?,
        })
    }

    fn dead(&self) -> bool {
        matches!(self.state, 'Z' | 'X')
    }
}

/// All processes for which `wanted` holds, zombies and this one left out.
fn matching(wanted: impl Fn(u32) -> io::Result<bool>) -> Vec<Process> {
    let own = std::process::id();
    let mut found: Vec<Process> = fs::read_dir("/proc")
        .expect("/proc is mounted")
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|pid| *pid != own && wanted(*pid).unwrap_or(false))
        .filter_map(Process::of)
        .collect();
    found.sort_by_key(Process::pid);
    found
}

/// The processes whose environment, as it was when they started, holds `name=value`.
#[must_use]
pub fn with_env(name: &str, value: &str) -> Vec<Process> {
    let marker = format!("{name}={value}").into_bytes();
    matching(|pid| {
        Ok(fs::read(format!("/proc/{pid}/environ"))?
            .split(|byte| *byte == 0)
            .any(|pair| pair == marker))
    })
}

/// The processes with `text` somewhere in their arguments.
#[must_use]
pub fn with_argument(text: &str) -> Vec<Process> {
    matching(|pid| {
        let arguments = fs::read(format!("/proc/{pid}/cmdline"))?;
        Ok(String::from_utf8_lossy(&arguments).contains(text))
    })
}

/// The processes that were started below `pid`, as far as they still hang there. One whose parent
/// ended hangs elsewhere: find that one by a marker.
#[must_use]
pub fn descendants(pid: u32) -> Vec<Process> {
    let mut family = vec![pid];
    let all = matching(|_| Ok(true));
    loop {
        let before = family.len();
        for process in &all {
            if !family.contains(&process.pid)
                && process.parent().is_some_and(|parent| family.contains(&parent))
            {
                family.push(process.pid);
            }
        }
        if family.len() == before {
            return all
                .into_iter()
                .filter(|one| one.pid != pid && family.contains(&one.pid))
                .collect();
        }
    }
}

/// Waits until `found` returns something.
///
/// # Panics
/// After `deadline`, saying `what` was waited for.
pub async fn wait_for<T>(
    what: &str,
    deadline: Duration,
    mut found: impl FnMut() -> Option<T>,
) -> T {
    let until = Instant::now() + deadline;
    loop {
        if let Some(value) = found() {
            return value;
        }
        assert!(Instant::now() < until, "waited {deadline:?} for {what}");
        let look = tokio::task::spawn_blocking(|| thread::sleep(LOOK));
        look.await.expect("a sleep doesn't fail");
    }
}

/// The same as [`wait_for`] without a runtime.
///
/// # Panics
/// After `deadline`, saying `what` was waited for.
pub fn block_until<T>(what: &str, deadline: Duration, mut found: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + deadline;
    loop {
        if let Some(value) = found() {
            return value;
        }
        assert!(Instant::now() < until, "waited {deadline:?} for {what}");
        thread::sleep(LOOK);
    }
}

fn those_alive(processes: &[Process]) -> Vec<Process> {
    processes.iter().filter(|process| process.alive()).cloned().collect()
}

/// Waits until none of them runs.
///
/// # Errors
/// With those that are left after `deadline`.
pub async fn wait_until_gone(
    processes: &[Process],
    deadline: Duration,
) -> Result<(), Vec<Process>> {
    let until = Instant::now() + deadline;
    let over = || {
        let left = those_alive(processes);
        if left.is_empty() { Some(Ok(())) } else { (Instant::now() >= until).then_some(Err(left)) }
    };
    wait_for("processes to end", deadline * 2, over).await
}

/// The same as [`wait_until_gone`] without a runtime.
///
/// # Errors
/// With those that are left after `deadline`.
pub fn block_until_gone(processes: &[Process], deadline: Duration) -> Result<(), Vec<Process>> {
    let until = Instant::now() + deadline;
    let over = || {
        let left = those_alive(processes);
        if left.is_empty() { Some(Ok(())) } else { (Instant::now() >= until).then_some(Err(left)) }
    };
    block_until("processes to end", deadline * 2, over)
}
