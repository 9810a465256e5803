//! The daemon is tried against its own OpenAPI document, with schemathesis.

use std::fs::{self, File};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::Failure;
use crate::outcome::Outcome;
use crate::repository::{Repository, found, run};
use crate::setup::{api::Fuzzer, missing};

/// Operations that are not tried: after `stop` there is nothing left to try.
const EXCLUDED: &[&str] = &["stop"];
/// Operations that may refuse what is right by their schema. A prompt needs a folder and a plugin
/// that are there, and `attached` a header; a switch needs a plugin; a test of the plugin that is
/// asked when none is named, that there is one.
const MAY_REFUSE: &[&str] = &["dispatch", "switch_plugin", "test_plugin"];
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
    let mut daemon = Daemon::start(repository, &program)?;
    daemon.asks(repository, &program)?;
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

/// What runs another program, as the same process, where there is no network; none where the system
/// does not let us.
fn without_network(repository: &Repository) -> Result<Option<Command>, Failure> {
    // By its path: what it runs gets another PATH.
    let Some(unshare) = found("unshare") else {
        return Ok(None);
    };
    for own in [&["--net"][..], &["--net", "--map-root-user"]] {
        let mut command = repository.command(&unshare);
        command.args(own).arg("--");
        if run(repository.command(&unshare).args(own).args(["--", "true"]))?.ok() {
            return Ok(Some(command));
        }
    }
    Ok(None)
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
        // No agent is found and no network is there, so that nothing of what is made up here is ever
        // run or sent.
        let mut command = match without_network(repository)? {
            Some(mut command) => {
                command.arg(program);
                command
            }
            None => repository.command(program),
        };
        let child = command
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

    /// Puts the task and the conversation on record that the document has as examples.
    fn asks(&self, repository: &Repository, program: &Path) -> Result<(), Failure> {
        let said = run(repository
            .command(program)
            .args(["ask", "--plugin", "guide", "--task", "first", "--conversation", "release"])
            .arg("help")
            .env_clear()
            .env("PATH", self.home.path())
            .env("HOME", self.home.path())
            .env("MIA_HOME", self.home.path()))?;
        if said.ok() { Ok(()) } else { Err(format!("mia ask failed:\n{}", said.all).into()) }
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
