//! How a request fails.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use mia_api::Problem;

/// How a request fails.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nobody listens on the socket.
    #[error("no daemon runs (nobody listens on {})", .0.display())]
    NotRunning(PathBuf),
    /// Somebody else listens on the socket.
    #[error("{} belongs to another user; nothing was sent", .0.display())]
    Stranger(PathBuf),
    /// The daemon refused the request.
    #[error("{}", .0.message)]
    Refused(Box<Problem>),
    /// The connection broke.
    #[error("the connection to the daemon broke: {0}")]
    Broken(String),
    /// It is there and does not answer.
    #[error("the daemon{} does not answer: nothing came for {} s", process(.pid), .after.as_secs())]
    Silent {
        /// Its process, if it took the connection.
        pid: Option<i32>,
        /// How long it was waited for.
        after: Duration,
    },
    /// The answer can't be understood: the daemon is of another version, perhaps.
    #[error("the daemon's answer can't be understood ({0}); is it of another version?")]
    Answer(String),
    /// The socket can't be used.
    #[error("can't reach the daemon over {}: {source}", path.display())]
    Io {
        /// The socket.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

impl ClientError {
    /// True when the daemon has gone, or was never there.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        matches!(self, Self::NotRunning(_) | Self::Broken(_))
    }
}

fn process(pid: &Option<i32>) -> String {
    pid.map(|pid| format!(" (process {pid})")).unwrap_or_default()
}

/// An error with its causes.
pub(super) fn told(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}
