//! What the tests share: a supervisor, shell children, and looking for processes.

use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use mia_host::framing::{LineEvent, LineReader, MAX_LINE};
use mia_host::{Child, SpawnSpec, Stdin, Supervisor, SupervisorProgram};
use rustix::process::{Pid, Signal};

/// The longest that anything of a killed Mia may live (M-21).
pub(crate) const SIX_SECONDS: Duration = Duration::from_secs(6);

pub(crate) fn supervisor() -> Supervisor {
    let program = env!("CARGO_BIN_EXE_mia-host-test-supervisor");
    Supervisor::new(SupervisorProgram::Path(program.into()))
}

/// A number of seconds that no other `sleep` on this machine has: it names a test's processes.
pub(crate) fn tag() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("7{:08}{count:04}", std::process::id())
}

pub(crate) fn shell(script: &str) -> SpawnSpec {
    SpawnSpec {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), script.into()],
        env: vec![("PATH".into(), "/usr/bin:/bin".into())],
        cwd: "/".into(),
        stdin: Stdin::Null,
    }
}

/// Starts a script and waits until it has said `up`.
pub(crate) async fn start(supervisor: &Supervisor, script: &str) -> Child {
    let mut child = supervisor.spawn(shell(script)).await.unwrap();
    wait_for_line(&mut child, "up").await;
    child
}

pub(crate) async fn wait_for_line(child: &mut Child, expected: &str) {
    let mut lines = LineReader::new(&mut child.stdout, MAX_LINE);
    loop {
        match lines.next().await.unwrap() {
            Some(LineEvent::Line(line)) if line.as_bytes() == expected.as_bytes() => return,
            Some(_) => {}
            None => panic!("the child ended without saying {expected}"),
        }
    }
}

/// The processes that have this text in their command line, zombies not counted.
pub(crate) fn running(text: &str) -> Vec<u32> {
    processes()
        .filter(|pid| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains(text)
        })
        .filter(|pid| state(*pid).is_some_and(|state| state != 'Z'))
        .collect()
}

/// The children of a process that have ended and wait to be reaped.
pub(crate) fn zombies_of(parent: u32) -> usize {
    processes().filter(|pid| state(*pid) == Some('Z') && parent_of(*pid) == Some(parent)).count()
}

fn processes() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

pub(crate) fn is_running(pid: u32) -> bool {
    state(pid).is_some_and(|state| state != 'Z')
}

fn state(pid: u32) -> Option<char> {
    after_name(pid)?.chars().next()
}

fn parent_of(pid: u32) -> Option<u32> {
    after_name(pid)?.split(' ').nth(1)?.parse().ok()
}

fn after_name(pid: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    Some(stat.rsplit_once(") ")?.1.to_owned())
}

/// Waits until something is so, and gives how long that took.
pub(crate) async fn eventually(
    limit: Duration,
    what: &str,
    mut so: impl FnMut() -> bool,
) -> Duration {
    let began = Instant::now();
    while !so() {
        assert!(began.elapsed() < limit, "not within {limit:?}: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    began.elapsed()
}

pub(crate) async fn gone(tag: &str) {
    let what = format!("everything with {tag} is gone");
    eventually(SIX_SECONDS, &what, || running(tag).is_empty()).await;
}

pub(crate) fn kill_9(pid: u32) {
    signal(pid, Signal::KILL);
}

pub(crate) fn signal(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(pid.cast_signed()).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}
