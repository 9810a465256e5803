//! What comes back from inside.

use std::fmt;

use tokio::time::Instant;

use crate::error::Failure;

/// Why the live part of a run ended, in the order in which a later stop may replace an earlier one
/// (P-66).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// Nothing happened for a while, or somebody asked for a pause.
    Idle,
    /// The work is done.
    Completed,
    /// A limit in time ran out.
    Timeout,
    /// Somebody ended a session that they no longer need.
    Closed,
    /// Somebody does not want what was under way any more.
    Cancelled,
    /// Something failed.
    Failed,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Idle => "idle",
            Self::Completed => "completed",
            Self::Timeout => "timeout",
            Self::Closed => "closed",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
        })
    }
}

/// How the live part of a run ended: what [`Next::run`](crate::Next::run) comes back with.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PauseInfo {
    /// Why.
    pub reason: Reason,
    /// False is a promise that the session is never resumed. True is only a possibility.
    pub may_resume: bool,
    /// What failed first; there exactly when the reason is [`Reason::Failed`].
    pub error: Option<Failure>,
    /// Why a stop was asked for, before anything failed.
    pub requested: Option<Reason>,
    /// What failed later, in that order.
    pub suppressed: Vec<Failure>,
    /// When the pause has to be over.
    pub deadline: Option<Instant>,
}

impl PauseInfo {
    /// For the engine; plugs get one from [`Next::run`](crate::Next::run).
    #[must_use]
    pub fn new(reason: Reason, may_resume: bool) -> Self {
        let requested = Some(reason).filter(|reason| *reason != Reason::Failed);
        let (error, suppressed, deadline) = (None, Vec::new(), None);
        Self { reason, may_resume, error, requested, suppressed, deadline }
    }

    /// What `on_session` returns.
    pub fn done(self) -> Paused {
        Paused(())
    }
}

/// The proof that `next` was run. Only [`PauseInfo::done`] makes one.
#[derive(Debug)]
#[must_use]
pub struct Paused(());

/// How the inner plugs were torn down: what [`TeardownNext::run`](crate::TeardownNext::run) comes back
/// with.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TeardownInfo {
    /// The session's outcome; [`Reason::Failed`] also when an inner teardown failed.
    pub reason: Reason,
    /// What failed first: the session's own error, or an inner teardown's.
    pub error: Option<Failure>,
    /// The session's outcome, whatever failed since.
    pub outcome: Reason,
    /// What failed later, in that order.
    pub suppressed: Vec<Failure>,
}

impl TeardownInfo {
    /// For the engine; plugs get one from [`TeardownNext::run`](crate::TeardownNext::run).
    #[must_use]
    pub fn new(outcome: Reason, error: Option<Failure>) -> Self {
        Self { reason: outcome, error, outcome, suppressed: Vec::new() }
    }

    /// What `on_teardown` returns.
    pub fn done(self) -> TornDown {
        TornDown(())
    }
}

/// The proof that `next` was run. Only [`TeardownInfo::done`] makes one.
#[derive(Debug)]
#[must_use]
pub struct TornDown(());
