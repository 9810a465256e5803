//! How a child ended.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How a child ended: by its own exit code, or by a signal. Exactly one of the two is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ExitStatus {
    /// The code that the child exited with, if it exited by itself.
    pub code: Option<i32>,
    /// The number of the signal that ended the child, if one did.
    pub signal: Option<i32>,
}

impl ExitStatus {
    /// Whether the child exited by itself with code 0.
    #[must_use]
    pub fn success(self) -> bool {
        self.code == Some(0)
    }
}

impl fmt::Display for ExitStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.code, self.signal) {
            (Some(code), _) => write!(f, "exit code {code}"),
            (None, Some(signal)) => write!(f, "signal {signal}"),
            (None, None) => write!(f, "unknown exit"),
        }
    }
}
