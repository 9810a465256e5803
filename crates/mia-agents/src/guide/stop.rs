//! How a dispatch of the guide is ended early, and what it leaves running: nothing.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mia_plugin::{EventSink, Requests, SinkError};
use tokio::time::Instant;

/// How long work on files may take to notice that it is to end. It looks between two files, so
/// only a file system that hangs takes longer, and then nobody waits for it.
const PATIENCE: Duration = Duration::from_millis(500);

/// Why a dispatch ends early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// Somebody aborted it.
    Aborted,
    /// Its time is over.
    Deadline,
    /// Nobody reads its events.
    Unheard,
}

impl From<SinkError> for Ended {
    fn from(_: SinkError) -> Self {
        Self::Unheard
    }
}

/// Says when a dispatch is to end.
#[derive(Debug, Clone)]
pub(super) struct Stop {
    requests: Requests,
    deadline: Option<Instant>,
    events: EventSink,
}

impl Stop {
    /// Ends when somebody asks for it, at the deadline, or when nobody reads the events any more.
    pub(super) fn new(requests: Requests, deadline: Option<Instant>, events: EventSink) -> Self {
        Self { requests, deadline, events }
    }

    /// Waits for the end. Cancel-safe.
    pub(super) async fn ended(&self) -> Ended {
        let deadline = async {
            match self.deadline {
                Some(deadline) => tokio::time::sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = self.requests.more_than(0) => Ended::Aborted,
            () = deadline => Ended::Deadline,
            () = self.events.closed() => Ended::Unheard,
        }
    }

    /// Waits for something, or drops it at the end.
    ///
    /// # Errors
    /// When the end came first.
    pub(super) async fn or<T>(&self, work: impl Future<Output = T>) -> Result<T, Ended> {
        tokio::select! {
            biased;
            ended = self.ended() => Err(ended),
            done = work => Ok(done),
        }
    }

    /// Does work on files on a thread of its own. None when it panicked.
    ///
    /// When the future is dropped the work ends by itself, soon.
    ///
    /// # Errors
    /// When the end came first; the work has ended then too.
    pub(super) async fn files<T: Send + 'static>(
        &self,
        limit: Duration,
        work: impl FnOnce(&Budget) -> T + Send + 'static,
    ) -> Result<Option<T>, Ended> {
        let cancel = Cancel::default();
        let budget =
            Budget { cancelled: Arc::clone(&cancel.0), until: std::time::Instant::now() + limit };
        let mut thread = tokio::task::spawn_blocking(move || work(&budget));
        match self.or(&mut thread).await {
            Ok(done) => Ok(done.ok()),
            Err(ended) => {
                drop(cancel);
                let _ = tokio::time::timeout(PATIENCE, thread).await;
                Err(ended)
            }
        }
    }
}

/// Tells the work on files to end when it is dropped.
#[derive(Debug, Default)]
struct Cancel(Arc<AtomicBool>);

impl Drop for Cancel {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// How long work on files may go on.
#[derive(Debug)]
pub(super) struct Budget {
    cancelled: Arc<AtomicBool>,
    until: std::time::Instant,
}

impl Budget {
    /// True when it is time to give back what is there.
    pub(super) fn is_spent(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed) || std::time::Instant::now() >= self.until
    }
}
