//! Where an agent and what belongs to it run: the trait that plugs see and may implement.
//!
//! | file | what |
//! |---|---|
//! | `mod` | [`Host`] and what it says of itself |
//! | `exec` | programs on a host |
//! | `lazy` | a host that is opened with its first use |
//! | `local` | this machine |

mod exec;
mod lazy;
mod local;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use futures::future::BoxFuture;

pub use exec::{ExecOutput, ExecProgram, ExecSpec, HostProcess, ProcessControl, ProcessSpec};
pub use lazy::LazyHost;
pub use local::LocalHost;

/// What a host says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostInfo {
    /// `local`, `sandbox`, or what its provider calls it. For people: code branches on the rest.
    pub kind: String,
    /// The system, as `std::env::consts::OS` has it.
    pub os: String,
    /// The processor, as `std::env::consts::ARCH` has it.
    pub arch: String,
    /// The home folder.
    pub home: PathBuf,
    /// The folder for files that nobody needs later.
    pub tmpdir: PathBuf,
    /// The folder that the agent works in.
    pub workspace: PathBuf,
    /// True when files in the workspace survive from a pause to a later resume.
    pub persistent: bool,
}

/// Why something could not be done on a host. A cheap handle.
#[derive(Debug, Clone, thiserror::Error)]
pub enum HostError {
    /// The host could not be opened; it stays so.
    #[error("the host could not be opened: {0}")]
    Open(Arc<str>),
    /// The host was closed.
    #[error("the host is closed")]
    Closed,
    /// The program could not be started.
    #[error("can't {0}")]
    Spawn(Arc<str>),
    /// It ended with another status than 0, which was asked to be an error.
    #[error("{program} ended with {status}{}", said(.stderr))]
    Status {
        /// The program.
        program: String,
        /// How it ended.
        status: crate::ExitStatus,
        /// The end of what it said on stderr.
        stderr: Arc<str>,
    },
    /// Anything else.
    #[error("{0}")]
    Failed(Arc<str>),
}

fn said(stderr: &str) -> String {
    if stderr.trim().is_empty() { String::new() } else { format!(": {}", stderr.trim()) }
}

impl HostError {
    /// An error in words.
    #[must_use]
    pub fn new(message: impl fmt::Display) -> Self {
        Self::Failed(message.to_string().into())
    }
}

/// Where programs run. All methods may be called at the same time.
pub trait Host: Send + Sync {
    /// What kind of place it is.
    ///
    /// # Errors
    /// When the host can't be reached.
    fn info(&self) -> BoxFuture<'_, Result<HostInfo, HostError>>;

    /// Runs a program to its end. Dropping the future ends the program.
    ///
    /// # Errors
    /// When it could not be started, or with [`ExecSpec::check`] when it failed.
    fn exec(&self, spec: ExecSpec) -> BoxFuture<'_, Result<ExecOutput, HostError>>;

    /// Starts a program. It ends with the host at the latest.
    ///
    /// # Errors
    /// When it could not be started.
    fn spawn(&self, spec: ProcessSpec) -> BoxFuture<'_, Result<HostProcess, HostError>>;

    /// Ends whatever runs on it and gives it up. A second call does nothing.
    ///
    /// # Errors
    /// When something may be left.
    fn close(&self) -> BoxFuture<'_, Result<(), HostError>>;
}

impl fmt::Debug for dyn Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Host")
    }
}
