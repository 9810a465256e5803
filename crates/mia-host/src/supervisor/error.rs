//! Why there is no supervisor.

use std::io;
use std::path::PathBuf;

/// Why there is no supervisor to start a child.
#[derive(Debug, thiserror::Error)]
pub enum SupervisorError {
    /// The supervisor's program could not be started.
    #[error("start the supervisor {}: {source}", program.display())]
    Start {
        /// What was to be run.
        program: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The program that was started is no supervisor.
    #[error(
        "start the supervisor: {} did not become one; its main must call \
         `mia_host::supervisor::enter_if_asked` first",
        program.display()
    )]
    NotASupervisor {
        /// What was run.
        program: PathBuf,
    },
    /// This very process was started as a supervisor, and its `main` took no notice.
    #[error(
        "start a supervisor from a supervisor: this program's main must call \
         `mia_host::supervisor::enter_if_asked` first"
    )]
    NotEntered,
    /// The supervisor died while the child was being started. Whatever ran was killed; the next
    /// spawn starts another supervisor.
    #[error("keep the supervisor: it was killed; try again")]
    Lost,
    /// [`Supervisor::shutdown`](super::Supervisor::shutdown) was called.
    #[error("start anything more: Mia is shutting down")]
    ShutDown,
}
