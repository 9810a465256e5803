//! One hook at work.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::FutureExt;
use futures::future::BoxFuture;
use mia_plug::PlugError;
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// True once a plug may do nothing any more: its hook was given up, or the run is over. A cheap handle.
#[derive(Debug, Clone, Default)]
pub(crate) struct Revoked(Arc<AtomicBool>);

impl Revoked {
    pub(crate) fn revoke(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_revoked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// How a hook ended.
#[derive(Debug)]
pub(crate) enum Ended<T> {
    Returned(T),
    Failed(PlugError),
    /// With what it said.
    Panicked(String),
    /// It was given up when its time was over.
    Late,
}

/// A hook that runs in a task of its own: its panic is its own failure (P-58), and it does not stand still
/// when nobody looks at it.
pub(crate) struct Hook<T> {
    task: JoinHandle<Ended<T>>,
    revoked: Revoked,
}

impl<T: Send + 'static> Hook<T> {
    pub(crate) fn start(hook: BoxFuture<'static, Result<T, PlugError>>, revoked: Revoked) -> Self {
        let task = tokio::spawn(async move {
            match AssertUnwindSafe(hook).catch_unwind().await {
                Ok(Ok(value)) => Ended::Returned(value),
                Ok(Err(error)) => Ended::Failed(error),
                Err(panic) => Ended::Panicked(words(panic.as_ref())),
            }
        });
        Self { task, revoked }
    }

    /// How it ended; given up at that time. Cancel-safe.
    pub(crate) async fn ended(&mut self, by: Option<Instant>) -> Ended<T> {
        let ended = async {
            // The task catches panics and is aborted here only.
            (&mut self.task).await.unwrap_or(Ended::Late)
        };
        let Some(by) = by else { return ended.await };
        match tokio::time::timeout_at(by, ended).await {
            Ok(ended) => ended,
            Err(_) => {
                self.give_up();
                Ended::Late
            }
        }
    }

    /// Whatever it still does from now on is refused.
    pub(crate) fn give_up(&self) {
        self.revoked.revoke();
        self.task.abort();
    }
}

/// What a panic said.
pub(crate) fn words(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "it panicked".to_owned())
}
