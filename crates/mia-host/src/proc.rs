//! Reading processes from `/proc`, and signalling exactly the process that was read.
//!
//! A pid alone names nobody: it may belong to another process a moment later. Here a process is a
//! pid *and* its start time, and a signal goes out only after both were seen to match on an open
//! pidfd.

use std::fs;
use std::io::Read;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// One process for as long as the machine is up: a pid is reused, this pair is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ProcessId {
    pub(crate) pid: i32,
    /// When it started, in clock ticks since boot.
    pub(crate) start: u64,
}

/// What `/proc/PID/stat` says of a process, as far as we need it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) id: ProcessId,
    pub(crate) parent: i32,
    pub(crate) group: i32,
    state: u8,
}

impl Stat {
    /// Whether it is dead already and only waits for its parent to read its status.
    pub(crate) fn is_zombie(&self) -> bool {
        matches!(self.state, b'Z' | b'X' | b'x')
    }

    /// Reads a process, or `None` when there is none of that pid.
    pub(crate) fn read(pid: i32) -> Option<Self> {
        // One read of a fixed buffer: the line is some 300 bytes.
        let mut buffer = [0_u8; 1024];
        let mut file = fs::File::open(format!("/proc/{pid}/stat")).ok()?;
        let len = file.read(&mut buffer).ok()?;
        Self::parse(pid, buffer.get(..len)?)
    }

    /// The name in parentheses may hold anything, spaces and parentheses too: fields count from
    /// the last one.
    fn parse(pid: i32, line: &[u8]) -> Option<Self> {
        let close = memchr::memrchr(b')', line)?;
        let rest = std::str::from_utf8(line.get(close + 1..)?).ok()?;
        let mut fields = rest.split_ascii_whitespace();
        let state = *fields.next()?.as_bytes().first()?;
        let parent = fields.next()?.parse().ok()?;
        let group = fields.next()?.parse().ok()?;
        // Fields 3, 4 and 5 of proc(5) are taken; the start time is field 22.
        let start = fields.nth(16)?.parse().ok()?;
        Some(Self { id: ProcessId { pid, start }, parent, group, state })
    }
}

/// The pids of a process's children, zombies included. Empty when it has none or is gone.
pub(crate) fn children(pid: i32) -> Vec<i32> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for task in tasks.flatten() {
        match fs::read_to_string(task.path().join("children")) {
            Ok(list) => {
                found.extend(list.split_ascii_whitespace().filter_map(|p| p.parse::<i32>().ok()))
            }
            Err(_) if children_files_exist() => {}
            // A kernel without CONFIG_PROC_CHILDREN: look through everybody instead.
            Err(_) => return children_among_all(pid),
        }
    }
    found
}

fn children_among_all(pid: i32) -> Vec<i32> {
    all().iter().filter(|stat| stat.parent == pid).map(|stat| stat.id.pid).collect()
}

fn children_files_exist() -> bool {
    static EXIST: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    *EXIST.get_or_init(|| fs::exists("/proc/thread-self/children").unwrap_or(false))
}

/// Every live descendant of a process, itself not included, zombies neither.
pub(crate) fn descendants(pid: i32) -> Vec<Stat> {
    let mut found = Vec::new();
    let mut parents = vec![pid];
    while let Some(parent) = parents.pop() {
        for child in children(parent) {
            // The pid may have become somebody else's since the list was read.
            if let Some(stat) = Stat::read(child).filter(|s| s.parent == parent) {
                if !stat.is_zombie() {
                    found.push(stat);
                }
                parents.push(child);
            }
        }
    }
    found
}

/// Every process that `/proc` shows.
pub(crate) fn all() -> Vec<Stat> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(Stat::read)
        .collect()
}

/// The value of a variable in the environment that a process was started with. `None` also when
/// it may not be read.
pub(crate) fn environment_value(pid: i32, name: &str) -> Option<Vec<u8>> {
    // The kernel caps arguments and environment together at 6 MiB.
    const LIMIT: u64 = 8 << 20;
    let file = fs::File::open(format!("/proc/{pid}/environ")).ok()?;
    let mut environment = Vec::new();
    file.take(LIMIT).read_to_end(&mut environment).ok()?;
    environment
        .split(|byte| *byte == 0)
        .find_map(|entry| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"="))
        .map(<[u8]>::to_vec)
}

/// Sends a signal to exactly this process. `false` when it is gone or may not be signalled.
pub(crate) fn signal(process: ProcessId, signal: Signal) -> bool {
    let Some(pid) = Pid::from_raw(process.pid) else {
        return false;
    };
    match pidfd_open(pid, PidfdFlags::empty()) {
        // From here on the descriptor stays with the process that it was opened for; so when that
        // one has the right start time, no other can be hit.
        Ok(pidfd) => is_alive(process) && pidfd_send_signal(pidfd, signal).is_ok(),
        Err(rustix::io::Errno::NOSYS | rustix::io::Errno::MFILE | rustix::io::Errno::NFILE) => {
            is_alive(process) && rustix::process::kill_process(pid, signal).is_ok()
        }
        Err(_) => false,
    }
}

/// Whether this very process still runs; a zombie doesn't.
pub(crate) fn is_alive(process: ProcessId) -> bool {
    Stat::read(process.pid).is_some_and(|stat| stat.id == process && !stat.is_zombie())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_and_spaces_does_not_shift_the_fields() {
        let line = b"42 (a) R 1 (b) S 7 8 9 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 98765 0 0";
        let stat = Stat::parse(42, line).unwrap();
        assert_eq!(
            stat,
            Stat { id: ProcessId { pid: 42, start: 98765 }, parent: 7, group: 8, state: b'S' }
        );
    }

    #[test]
    fn a_torn_line_is_no_process() {
        assert_eq!(Stat::parse(42, b"42 (a) S 7 8"), None);
        assert_eq!(Stat::parse(42, b""), None);
    }

    #[test]
    fn children_are_found_either_way() {
        let mut child = std::process::Command::new("/bin/sleep").arg("1000").spawn().unwrap();
        let (me, pid) = (std::process::id().cast_signed(), child.id().cast_signed());
        assert!(children(me).contains(&pid));
        assert!(children_among_all(me).contains(&pid));
        assert!(descendants(me).iter().any(|stat| stat.id.pid == pid && stat.parent == me));
        let id = Stat::read(pid).unwrap().id;
        assert!(!signal(ProcessId { start: id.start + 1, ..id }, Signal::KILL));
        assert!(signal(id, Signal::KILL));
        child.wait().unwrap();
        assert!(!signal(id, Signal::KILL));
    }

    #[test]
    fn another_start_time_is_another_process() {
        let me = Stat::read(std::process::id().cast_signed()).unwrap().id;
        assert!(is_alive(me));
        assert!(!is_alive(ProcessId { start: me.start + 1, ..me }));
    }
}
