//! Where the repository is, and how programs are run in it.

use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};

use crate::Failure;

/// The repository's folder.
#[derive(Debug)]
pub(crate) struct Repository {
    root: PathBuf,
}

/// What a program said and how it ended.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    /// stdout and stderr, in the order in which they came.
    pub(crate) all: String,
}

impl Said {
    pub(crate) fn ok(&self) -> bool {
        self.status.success()
    }

    /// The last line that says something, for a report of one line.
    pub(crate) fn last_line(&self) -> &str {
        self.all.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or("no output")
    }
}

impl Repository {
    /// The repository that this program belongs to, or else the one around the working directory.
    pub(crate) fn find() -> Result<Self, Failure> {
        let start = match std::env::var_os("CARGO_MANIFEST_DIR") {
            Some(package) => PathBuf::from(package),
            None => std::env::current_dir()?,
        };
        let root =
            start.ancestors().find(|folder| folder.join("xtask/Cargo.toml").is_file()).ok_or(
                "run this in the repository: there is no xtask/Cargo.toml in any folder above",
            )?;
        Ok(Self { root: root.to_owned() })
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.root.join(relative)
    }

    /// A program that is run in the root, reads nothing, and knows nothing of the package xtask.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.root).stdin(Stdio::null());
        // `cargo run` sets these for us; tests and build scripts must not take them for theirs.
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("CARGO_PKG_") {
                command.env_remove(name);
            }
        }
        for name in ["CARGO_MANIFEST_DIR", "CARGO_MANIFEST_PATH", "CARGO_BIN_NAME"] {
            command.env_remove(name);
        }
        command
    }

    /// The cargo that runs us. Its output has no colours: it is read by us.
    pub(crate) fn cargo<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Command {
        let mut command = self.command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command
            .args(args)
            .env("CARGO_TERM_COLOR", "never")
            .env("CARGO_TERM_PROGRESS_WHEN", "never");
        command
    }
}

/// Runs a program to its end and keeps what it said.
pub(crate) fn run(command: &mut Command) -> Result<Said, Failure> {
    let name = command.get_program().to_string_lossy().into_owned();
    // A pipe for each: node makes its ends of pipes non-blocking, so none of them can be ours, too.
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("can't run {name}: {error}"))?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let all = Mutex::new(Vec::new());
    let (stdout, stderr) = std::thread::scope(|scope| {
        let out = scope.spawn(|| keep(stdout, &all));
        let err = keep(stderr, &all);
        (out.join(), err)
    });
    stderr?;
    let stdout = stdout.map_err(|_| "the reader of stdout panicked")??;
    let all = all.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(Said {
        status: child.wait()?,
        stdout: String::from_utf8_lossy(&stdout).into_owned(),
        all: String::from_utf8_lossy(&all).into_owned(),
    })
}

/// Keeps what comes by itself and also beside the rest.
fn keep(from: Option<impl Read>, all: &Mutex<Vec<u8>>) -> std::io::Result<Vec<u8>> {
    let mut kept = Vec::new();
    let Some(mut from) = from else {
        return Ok(kept);
    };
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let count = from.read(&mut buffer)?;
        let Some(bytes) = buffer.get(..count).filter(|bytes| !bytes.is_empty()) else {
            return Ok(kept);
        };
        kept.extend_from_slice(bytes);
        all.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
    }
}

/// Whether a program of that name is on the PATH.
pub(crate) fn on_path(program: &str) -> bool {
    found(program).is_some()
}

/// Where on the PATH a program is.
pub(crate) fn found(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// Whether we are in CI, where a real agent that is missing is a failure.
pub(crate) fn in_ci() -> bool {
    std::env::var_os("CI").is_some_and(|ci| ci == "true")
}
