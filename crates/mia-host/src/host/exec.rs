//! Programs on a host.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite};

use super::HostError;
use crate::{ExitStatus, Signal};

/// What is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExecProgram {
    /// Words for the host's shell.
    Shell(String),
    /// A program and its arguments, each as it is.
    Argv(Vec<OsString>),
}

impl From<&str> for ExecProgram {
    fn from(words: &str) -> Self {
        Self::Shell(words.to_owned())
    }
}

impl<T: Into<OsString>, const N: usize> From<[T; N]> for ExecProgram {
    fn from(argv: [T; N]) -> Self {
        Self::Argv(argv.into_iter().map(Into::into).collect())
    }
}

impl From<Vec<OsString>> for ExecProgram {
    fn from(argv: Vec<OsString>) -> Self {
        Self::Argv(argv)
    }
}

/// A program that is run to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecSpec {
    /// What is run.
    pub program: ExecProgram,
    /// Its folder; the workspace when there is none.
    pub cwd: Option<PathBuf>,
    /// Variables beside the few that every program needs.
    pub env: Vec<(OsString, OsString)>,
    /// What it reads on stdin.
    pub stdin: Vec<u8>,
    /// How many bytes of stdout, and of stderr, are kept.
    pub max_output: usize,
    /// True to make a status other than 0 an error.
    pub check: bool,
    /// How long it may run.
    pub timeout: Option<Duration>,
}

impl ExecSpec {
    /// A program with nothing on stdin, of which 10 MiB of output are kept.
    #[must_use]
    pub fn new(program: impl Into<ExecProgram>) -> Self {
        Self {
            program: program.into(),
            cwd: None,
            env: Vec::new(),
            stdin: Vec::new(),
            max_output: 10 * 1024 * 1024,
            check: false,
            timeout: None,
        }
    }
}

/// What a program came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecOutput {
    /// How it ended.
    pub status: ExitStatus,
    /// What it printed.
    pub stdout: Vec<u8>,
    /// What it said.
    pub stderr: Vec<u8>,
    /// True when there was more of one of them.
    pub truncated: bool,
}

/// A program that is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessSpec {
    /// The program, by path or by a name on the `PATH` of its host.
    pub program: OsString,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Its folder; the workspace when there is none.
    pub cwd: Option<PathBuf>,
    /// Variables beside the few that every program needs.
    pub env: Vec<(OsString, OsString)>,
}

/// How a process is waited for and ended.
pub trait ProcessControl: Send + Sync {
    /// How it ended; for all who ask.
    ///
    /// # Errors
    /// When that can't be told any more.
    fn wait(&self) -> BoxFuture<'_, Result<ExitStatus, HostError>>;

    /// Sends a signal to it and what it has started. One that has ended gets nothing. With
    /// [`Signal::Kill`] this returns once it and all that it has started are gone, also when it had ended
    /// before.
    ///
    /// # Errors
    /// When the host can't be reached.
    fn kill(&self, signal: Signal) -> BoxFuture<'_, Result<(), HostError>>;
}

/// A process on a host, with its streams. Dropping it does not end it; closing the host does.
pub struct HostProcess {
    /// What it reads.
    pub stdin: Box<dyn AsyncWrite + Send + Unpin>,
    /// What it prints.
    pub stdout: Box<dyn AsyncRead + Send + Unpin>,
    /// What it says.
    pub stderr: Box<dyn AsyncRead + Send + Unpin>,
    /// How it is waited for and ended.
    pub control: Box<dyn ProcessControl>,
}

impl fmt::Debug for HostProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HostProcess")
    }
}
