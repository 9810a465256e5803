//! The events of a task on their way to the record.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use mia_api::{Event, TaskId};
use mia_store::{Store, StoreError};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::feed::Feed;
use crate::weighted::{self, Place};

/// How long events may wait to be written together.
const LINGER: Duration = Duration::from_millis(50);
/// How much may be written together, in bytes.
const BATCH: usize = 64 * 1024;

/// Writes the events of one task, many at a time, beside the task's own work. A record that can't
/// be written never stops the task: the first failure is kept, the rest is let go.
#[derive(Debug)]
pub(crate) struct Recorder {
    events: weighted::Sender<Arc<Event>>,
    failure: Arc<OnceLock<StoreError>>,
    writer: JoinHandle<()>,
}

impl Recorder {
    pub(crate) fn new(store: Store, task: TaskId, feed: Arc<Feed>) -> Self {
        let (events, queue) = weighted::channel();
        let failure = Arc::new(OnceLock::new());
        let writer = tokio::spawn(write(store, task, queue, feed, Arc::clone(&failure)));
        Self { events, failure, writer }
    }

    /// Waits for room for an event of that weight. Cancel-safe.
    pub(crate) async fn reserve(&self, weight: usize) -> Place {
        self.events.reserve(weight).await
    }

    /// Takes an event.
    pub(crate) fn push(&self, event: Arc<Event>, place: Place) {
        self.events.send(event, place);
    }

    /// Why the record is incomplete, if it is.
    pub(crate) fn failure(&self) -> Option<&StoreError> {
        self.failure.get()
    }

    /// Waits until everything is written, and tells why if it is not.
    pub(crate) async fn close(self) -> Result<(), String> {
        let Self { events, failure, writer } = self;
        drop(events);
        let _ = writer.await;
        failure.get().map_or(Ok(()), |error| Err(error.to_string()))
    }
}

async fn write(
    store: Store,
    task: TaskId,
    mut queue: weighted::Receiver<Arc<Event>>,
    feed: Arc<Feed>,
    failure: Arc<OnceLock<StoreError>>,
) {
    let mut batch: Vec<Arc<Event>> = Vec::new();
    while let Some(event) = queue.recv().await {
        let until = Instant::now() + LINGER;
        let mut weight = event.body.weight();
        batch.push(event);
        while weight < BATCH {
            match tokio::time::timeout_at(until, queue.recv()).await {
                Ok(Some(event)) => {
                    weight += event.body.weight();
                    batch.push(event);
                }
                Ok(None) | Err(_) => break,
            }
        }
        if failure.get().is_none() {
            match store.record(&task, &batch).await {
                Ok(()) => batch.last().into_iter().for_each(|last| feed.recorded(last.seq)),
                Err(error) => {
                    feed.unrecorded();
                    let _ = failure.set(error);
                }
            }
        }
        batch.clear();
    }
}
