//! How the live part of a run comes to its end: one stop, which later ones may only make stronger (P-66,
//! P-67), and what failed, in the order of time.

use std::sync::Arc;

use mia_plug::{Failure, PauseInfo, Reason, Signal};
use tokio::sync::watch;
use tokio::time::Instant;

/// A wish that the live part of a run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stop {
    /// Why.
    pub reason: Reason,
    /// False is a promise that the session is never resumed.
    pub may_resume: bool,
}

impl Stop {
    /// What stands when another one comes later: the stronger reason, and no promise taken back.
    #[must_use]
    pub fn then(self, later: Self) -> Self {
        let may_resume = self.may_resume && later.may_resume;
        let stronger = strength(later.reason) > strength(self.reason);
        let reason = if stronger { later.reason } else { self.reason };
        Self { reason, may_resume }
    }
}

fn strength(reason: Reason) -> u8 {
    match reason {
        Reason::Failed => 0,
        Reason::Idle => 1,
        Reason::Completed => 2,
        Reason::Timeout => 3,
        Reason::Closed => 4,
        Reason::Cancelled => 5,
    }
}

/// The end of a run as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    stop: Option<Stop>,
    failures: Vec<Failure>,
    /// False once something has failed that ends the session.
    keeps: bool,
}

impl Default for Ending {
    fn default() -> Self {
        Self { stop: None, failures: Vec::new(), keeps: true }
    }
}

impl Ending {
    /// A stop is asked for.
    pub fn stop(&mut self, stop: Stop) {
        self.stop = Some(self.stop.map_or(stop, |now| now.then(stop)));
    }

    /// Something has failed. The session may stay paused all the same if it `keeps`.
    pub fn fail(&mut self, failure: Failure, keeps: bool) {
        self.failures.push(failure);
        self.keeps &= keeps;
    }

    /// True once the run has to end.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.stop.is_some() || !self.failures.is_empty()
    }

    /// True when somebody has asked for it.
    #[must_use]
    pub fn is_asked_for(&self) -> bool {
        self.stop.is_some()
    }

    /// As a plug is told that pauses now.
    #[must_use]
    pub fn info(&self, deadline: Option<Instant>) -> PauseInfo {
        let reason = self.reason().unwrap_or(Reason::Completed);
        let may_resume = self.stop.is_none_or(|stop| stop.may_resume) && self.keeps;
        let mut info = PauseInfo::new(reason, may_resume && self.has_begun());
        let mut failures = self.failures.iter().cloned();
        info.error = failures.next();
        info.suppressed = failures.collect();
        info.requested = self.stop.map(|stop| stop.reason);
        info.deadline = deadline;
        info
    }

    fn reason(&self) -> Option<Reason> {
        match self.failures.is_empty() {
            true => self.stop.map(|stop| stop.reason),
            false => Some(Reason::Failed),
        }
    }
}

/// The end of a run, for all who wait for it. A cheap handle; all clones are one.
#[derive(Debug, Clone)]
pub struct Stops {
    ending: Arc<watch::Sender<Ending>>,
    /// What hooks were told first.
    told: Arc<watch::Sender<Option<Reason>>>,
}

impl Default for Stops {
    fn default() -> Self {
        let (ending, told) = (watch::Sender::default(), watch::Sender::default());
        Self { ending: Arc::new(ending), told: Arc::new(told) }
    }
}

impl Stops {
    /// Asks for a stop, or makes the one that was asked for stronger.
    pub fn request(&self, stop: Stop) {
        self.ending.send_modify(|ending| ending.stop(stop));
        self.tell();
    }

    /// Something has failed: the run ends.
    pub(crate) fn fail(&self, failure: Failure, keeps: bool) {
        self.ending.send_modify(|ending| ending.fail(failure, keeps));
        self.tell();
    }

    fn tell(&self) {
        let reason = self.ending.borrow().reason();
        self.told.send_if_modified(|told| {
            let first = told.is_none();
            *told = told.or(reason);
            first
        });
    }

    /// The end as far as it is known now.
    #[must_use]
    pub fn now(&self) -> Ending {
        self.ending.borrow().clone()
    }

    /// True once the run has to end.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.ending.borrow().has_begun()
    }

    /// Ready once the run has to end.
    pub async fn begun(&self) {
        let mut ending = self.ending.subscribe();
        // The sender lives as long as this.
        let _ = ending.wait_for(Ending::has_begun).await;
    }

    /// What hooks are told by.
    #[must_use]
    pub fn signal(&self) -> Signal {
        Signal::of(self.told.subscribe())
    }
}
