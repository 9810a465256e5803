//! What to start, and why it could not be started.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use rustix::fs::Access;
use rustix::io::Errno;

use crate::supervisor::protocol::{self, Bytes, SpawnBody};
use crate::supervisor::{MARKER, SupervisorError};

/// What a child is started with. Nothing is inherited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpawnSpec {
    /// The program's file. Not searched for anywhere: a relative path starts at `cwd`.
    pub program: PathBuf,
    /// The arguments after the program's name, any bytes but NUL.
    pub args: Vec<OsString>,
    /// The complete environment. The marker of the supervisor is added, and replaces one that is
    /// in here.
    pub env: Vec<(OsString, OsString)>,
    /// The folder that the child starts in.
    pub cwd: PathBuf,
    /// Where the child reads from.
    pub stdin: Stdin,
}

/// Where a child reads from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stdin {
    /// A pipe that we write to. Many agents wait for its end.
    Piped,
    /// Nothing: the child is at the end at once.
    #[default]
    Null,
}

/// Why a child could not be started. Nothing of it runs.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// There is no such file.
    #[error("run {}: there is no such file", program.display())]
    NotFound {
        /// The file that was to be run.
        program: PathBuf,
    },
    /// The file is a script, and what its first line names is not there.
    #[error("run {}: the interpreter that it names is not installed", program.display())]
    InterpreterNotFound {
        /// The file that was to be run.
        program: PathBuf,
    },
    /// The file may not be run by this user.
    #[error("run {}: permission denied; is it executable for this user?", program.display())]
    PermissionDenied {
        /// The file that was to be run.
        program: PathBuf,
    },
    /// The file is a folder.
    #[error("run {}: it is a folder, not a program", program.display())]
    IsDirectory {
        /// The file that was to be run.
        program: PathBuf,
    },
    /// The file is nothing that the kernel can run: empty, for another machine, or a script
    /// without a first line that names its interpreter.
    #[error(
        "run {}: {}",
        program.display(),
        if *empty { "the file is empty; install it again" } else { "it is no program for this machine" }
    )]
    NotExecutableFormat {
        /// The file that was to be run.
        program: PathBuf,
        /// Whether it has no content at all, as after an installation that broke off.
        empty: bool,
    },
    /// The folder to start in does not exist.
    #[error("start in {}: there is no such folder", cwd.display())]
    CwdNotFound {
        /// The folder to start in.
        cwd: PathBuf,
    },
    /// What should be the folder to start in is something else.
    #[error("start in {}: it is not a folder", cwd.display())]
    CwdNotADirectory {
        /// What was given as a folder.
        cwd: PathBuf,
    },
    /// The folder to start in may not be entered by this user.
    #[error("start in {}: permission denied", cwd.display())]
    CwdPermissionDenied {
        /// The folder to start in.
        cwd: PathBuf,
    },
    /// A NUL byte where the system allows none.
    #[error("pass {what} with a NUL byte in it; remove that byte")]
    NulByte {
        /// What it was found in: `the program's path`, `argument 3`, `the variable NAME`, …
        what: String,
    },
    /// A variable whose name is empty or has `=` in it.
    #[error("pass a variable named {name:?}: a name must not be empty or contain \"=\"")]
    InvalidVariableName {
        /// The name.
        name: OsString,
    },
    /// Arguments and environment together are larger than the system allows.
    #[error(
        "pass {bytes} bytes of arguments and environment: the system allows less (one string \
         128 KiB, usually 2 MiB in all)"
    )]
    ArgumentListTooLong {
        /// The size of all arguments and variables.
        bytes: usize,
    },
    /// No more open files are allowed.
    #[error("open the child's pipes: too many open files; raise `ulimit -n`")]
    TooManyFiles,
    /// The pipes to the child could not be made.
    #[error("open the child's pipes: {0}")]
    Pipes(io::Error),
    /// No more processes are allowed.
    #[error("start another process: the system allows no more; see `ulimit -u`")]
    TooManyProcesses,
    /// There is no supervisor to start it.
    #[error(transparent)]
    Supervisor(#[from] SupervisorError),
    /// Anything else.
    #[error("run {}: {source}", program.display())]
    Other {
        /// The file that was to be run.
        program: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl SpawnSpec {
    /// Refuses what the system has no way to pass on.
    pub(crate) fn check(&self) -> Result<(), SpawnError> {
        let nul = |text: &OsStr| memchr::memchr(0, text.as_bytes()).is_some();
        let refuse = |what: String| Err(SpawnError::NulByte { what });
        if nul(self.program.as_os_str()) {
            return refuse("the program's path".into());
        }
        if nul(self.cwd.as_os_str()) {
            return refuse("the working folder".into());
        }
        if let Some(index) = self.args.iter().position(|argument| nul(argument)) {
            return refuse(format!("argument {}", index + 1));
        }
        for (name, value) in &self.env {
            if name.is_empty() || memchr::memchr(b'=', name.as_bytes()).is_some() {
                return Err(SpawnError::InvalidVariableName { name: name.clone() });
            }
            if nul(name) || nul(value) {
                return refuse(format!("the variable {}", name.display()));
            }
        }
        Ok(())
    }

    /// The form in which the supervisor gets it, with the marker as part of the environment.
    pub(crate) fn to_memory_file(&self, marker: &OsStr) -> Result<OwnedFd, SpawnError> {
        let program = self.program();
        let body = SpawnBody {
            program: Bytes(program.as_os_str().as_bytes()),
            args: self.args.iter().map(|argument| Bytes(argument.as_bytes())).collect(),
            // The last of a name wins: so nobody can claim to be another child.
            env: self
                .env
                .iter()
                .map(|(name, value)| (Bytes(name.as_bytes()), Bytes(value.as_bytes())))
                .chain([(Bytes(MARKER.as_bytes()), Bytes(marker.as_bytes()))])
                .collect(),
            cwd: Bytes(self.cwd.as_os_str().as_bytes()),
        };
        protocol::write_body(&body).map_err(|errno| self.diagnose(errno.raw_os_error()))
    }

    /// The program's path, from the root.
    fn program(&self) -> PathBuf {
        self.cwd.join(&self.program)
    }

    /// Finds out what an `errno` was about: the system doesn't tell a missing program from a
    /// missing folder or interpreter.
    pub(crate) fn diagnose(&self, errno: i32) -> SpawnError {
        if let Some(error) = self.diagnose_cwd() {
            return error;
        }
        let program = self.program();
        let is_dir = program.is_dir();
        match Errno::from_raw_os_error(errno) {
            Errno::NOENT if program.exists() => SpawnError::InterpreterNotFound { program },
            Errno::NOENT | Errno::NOTDIR => SpawnError::NotFound { program },
            Errno::ACCESS | Errno::ISDIR if is_dir => SpawnError::IsDirectory { program },
            Errno::ACCESS | Errno::PERM => SpawnError::PermissionDenied { program },
            Errno::NOEXEC => {
                let empty = std::fs::metadata(&program).is_ok_and(|file| file.len() == 0);
                SpawnError::NotExecutableFormat { program, empty }
            }
            Errno::TOOBIG => SpawnError::ArgumentListTooLong { bytes: self.size() },
            Errno::MFILE | Errno::NFILE => SpawnError::TooManyFiles,
            Errno::AGAIN => SpawnError::TooManyProcesses,
            _ => SpawnError::Other { program, source: io::Error::from_raw_os_error(errno) },
        }
    }

    fn diagnose_cwd(&self) -> Option<SpawnError> {
        let cwd = self.cwd.clone();
        match std::fs::metadata(&cwd) {
            Ok(found) if !found.is_dir() => Some(SpawnError::CwdNotADirectory { cwd }),
            Ok(_) if rustix::fs::access(&cwd, Access::EXEC_OK).is_err() => {
                Some(SpawnError::CwdPermissionDenied { cwd })
            }
            Ok(_) => None,
            Err(error) => Some(match error.kind() {
                io::ErrorKind::PermissionDenied => SpawnError::CwdPermissionDenied { cwd },
                io::ErrorKind::NotADirectory => SpawnError::CwdNotADirectory { cwd },
                _ => SpawnError::CwdNotFound { cwd },
            }),
        }
    }

    fn size(&self) -> usize {
        let args: usize = self.args.iter().map(|argument| argument.len() + 1).sum();
        let env: usize = self.env.iter().map(|(name, value)| name.len() + value.len() + 2).sum();
        args + env
    }
}
