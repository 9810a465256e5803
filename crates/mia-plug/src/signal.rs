//! How a hook learns that what it does is not wanted any more.

use tokio::sync::watch;

use crate::pause::Reason;

/// Set once something is to end, with the reason. A cheap handle.
#[derive(Debug, Clone)]
pub struct Signal {
    reason: watch::Receiver<Option<Reason>>,
}

impl Signal {
    /// A signal that follows what is sent there; for the engine.
    #[must_use]
    pub fn of(reason: watch::Receiver<Option<Reason>>) -> Self {
        Self { reason }
    }

    /// True once it is set.
    #[must_use]
    pub fn is_aborted(&self) -> bool {
        self.reason.borrow().is_some()
    }

    /// Why it was set, once it is.
    #[must_use]
    pub fn reason(&self) -> Option<Reason> {
        *self.reason.borrow()
    }

    /// Ready once it is set, with the reason; never, when what it belongs to ends without that.
    pub async fn aborted(&self) -> Reason {
        let mut reason = self.reason.clone();
        loop {
            if let Some(reason) = *reason.borrow_and_update() {
                return reason;
            }
            if reason.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}
