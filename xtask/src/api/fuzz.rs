//! The daemon is tried against its own OpenAPI document, with schemathesis.

use std::fs::{self, File};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::Failure;
use crate::outcome::Outcome;
use crate::repository::{Repository, run};
use crate::setup::{api::Fuzzer, missing};

/// Operations that are not tried: after `stop` there is nothing left to try.
const EXCLUDED: &[&str] = &["stop"];
/// Operations that may refuse what is right by their schema: a folder must be there, a plugin known.
const MAY_REFUSE: &[&str] = &[];
/// How long the daemon may take to begin and to end.
const PATIENCE: Duration = Duration::from_secs(20);

/// How much is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Length {
    /// At most a minute.
    Short,
    /// Hours.
    Long,
}

/// The fuzzer finds what is wrong with toy daemons, and nothing where nothing is.
pub(super) fn finds_what_is_wrong(repository: &Repository) -> Result<Outcome, Failure> {
    if let Some(outcome) = not_installed(repository)? {
        return Ok(outcome);
    }
    let said = run(&mut Fuzzer::command(repository, "fuzz_test.py"))?;
    Ok(if said.ok() { Outcome::passed() } else { Outcome::failed(said.all) })
}

/// Starts the daemon that is built beside this program, with nothing on record and no agent to be
/// found, and tries it.
pub(super) fn daemon(repository: &Repository, length: Length) -> Result<Outcome, Failure> {
    if let Some(outcome) = not_installed(repository)? {
        return Ok(outcome);
    }
    let program = std::env::current_exe()?.with_file_name("mia");
    if !program.is_file() {
        return Ok(missing("fuzzing the daemon: `mia` is not built", String::new()));
    }
    let document = std::fs::read_to_string(repository.path("docs/openapi.json"))?;
    if !document.contains("\"operationId\"") {
        return Ok(Outcome::skipped("fuzzing the daemon: docs/openapi.json has no operations yet"));
    }
    let mut daemon = Daemon::start(repository, &program)?;
    let mut command = Fuzzer::command(repository, "fuzz.py");
    command.arg(&daemon.socket);
    for name in EXCLUDED {
        command.args(["--exclude", name]);
    }
    for name in MAY_REFUSE {
        command.args(["--may-refuse", name]);
    }
    if length == Length::Long {
        command.arg("--long");
    }
    let said = run(&mut command)?;
    let ended = daemon.child.try_wait()?;
    if said.ok() && ended.is_none() {
        return Ok(Outcome::passed());
    }
    let mut output = said.all;
    if let Some(status) = ended {
        output.push_str(&format!("the daemon ended by itself: {status}\n"));
    }
    output.push_str(&format!("what the daemon said last:\n{}\n", daemon.last_words()));
    Ok(Outcome::failed(output))
}

fn not_installed(repository: &Repository) -> Result<Option<Outcome>, Failure> {
    let there = Fuzzer::read(repository)?.installed(repository);
    let why = "schemathesis: run `cargo xtask setup`";
    Ok((!there).then(|| missing(why, String::new())))
}

/// A daemon of its own, ended with this.
struct Daemon {
    child: Child,
    socket: PathBuf,
    /// `MIA_HOME`, and what it says.
    home: tempfile::TempDir,
}

impl Daemon {
    /// Starts it and waits until its socket takes connections.
    fn start(repository: &Repository, program: &Path) -> Result<Self, Failure> {
        let home = tempfile::tempdir()?;
        let log = File::create(home.path().join("said"))?;
        // No agent is found, so that nothing of what is made up here is ever run.
        let child = repository
            .command(program)
            .arg("serve")
            .env_clear()
            .env("PATH", home.path())
            .env("HOME", home.path())
            .env("MIA_HOME", home.path())
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .map_err(|error| format!("can't run {}: {error}", program.display()))?;
        let socket = home.path().join("daemon.sock");
        let mut daemon = Self { child, socket, home };
        let began = Instant::now();
        while UnixStream::connect(&daemon.socket).is_err() {
            let ended = daemon.child.try_wait()?;
            if ended.is_some() || began.elapsed() > PATIENCE {
                let how = ended.map_or("it still begins".to_owned(), |status| status.to_string());
                return Err(format!("no daemon: {how}\n{}", daemon.last_words()).into());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(daemon)
    }

    /// The end of what it said.
    fn last_words(&self) -> String {
        let said = fs::read(self.home.path().join("said")).unwrap_or_default();
        let said = String::from_utf8_lossy(&said);
        let lines: Vec<&str> = said.lines().collect();
        lines.get(lines.len().saturating_sub(50)..).unwrap_or_default().join("\n")
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            // Politely first: it ends what it has started.
            let _ = kill_process(pid, Signal::TERM);
        }
        let began = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) && began.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
