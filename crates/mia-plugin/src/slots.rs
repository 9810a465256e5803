//! How many dispatches a plugin runs, and how each is ended.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mia_api::{ErrorCode, PluginError, TaskId};
use tokio::sync::watch;

/// The dispatches of one plugin: at most so many at once (M-20), each of which can be aborted
/// (M-24). [`SpawnPlugin`](crate::SpawnPlugin) stands on it, and so can plugins that implement
/// [`CodingPlugin`](crate::CodingPlugin) directly.
#[derive(Debug, Clone)]
pub struct Slots {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    plugin: String,
    most: usize,
    running: Mutex<HashMap<TaskId, Running>>,
}

#[derive(Debug)]
struct Running {
    /// How often somebody has asked for the end.
    abort: watch::Sender<u32>,
    /// Closed when the dispatch is over.
    over: watch::Receiver<()>,
}

impl Shared {
    fn running(&self) -> MutexGuard<'_, HashMap<TaskId, Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slots {
    /// Slots for the named plugin: `most` dispatches at once, at least one.
    #[must_use]
    pub fn new(plugin: &str, most: usize) -> Self {
        let running = Mutex::default();
        let shared = Shared { plugin: plugin.to_owned(), most: most.max(1), running };
        Self { shared: Arc::new(shared) }
    }

    /// Takes a slot, without waiting. To be called before the first await of a dispatch.
    ///
    /// # Errors
    /// CONCURRENCY_LIMIT when none is free, or the task runs already.
    pub fn take(&self, task: &TaskId) -> Result<Slot, PluginError> {
        let Shared { plugin, most, .. } = self.shared.as_ref();
        let refuse =
            |message: String| PluginError::new(ErrorCode::ConcurrencyLimit, plugin, message);
        let mut running = self.shared.running();
        if running.contains_key(task) {
            return Err(refuse(format!("the task {task} runs already")));
        }
        if running.len() >= *most {
            let error = refuse(format!("{plugin} runs {most} tasks already, which is its limit"));
            return Err(error.with_hint(format!(
                "wait for one to end, or raise plugins.{plugin}.max_concurrency"
            )));
        }
        let (abort, requests) = watch::channel(0);
        let (holder, over) = watch::channel(());
        running.insert(task.clone(), Running { abort, over });
        drop(running);
        Ok(Slot {
            shared: Arc::clone(&self.shared),
            task: task.clone(),
            requests: Requests(requests),
            _over: holder,
        })
    }

    /// Asks a dispatch to end, and waits until its slot is free. Unknown and ended tasks are left
    /// alone.
    pub async fn abort(&self, task: &TaskId) {
        let mut over = {
            let running = self.shared.running();
            let Some(running) = running.get(task) else {
                return;
            };
            running.abort.send_modify(|asked| *asked = asked.saturating_add(1));
            running.over.clone()
        };
        // Nothing is ever sent: it is over when the other end is gone.
        let _ = over.changed().await;
    }

    /// How many slots are taken.
    #[must_use]
    pub fn taken(&self) -> usize {
        self.shared.running().len()
    }
}

/// A slot that is taken. Dropping it, by whatever end of the dispatch, frees it.
#[derive(Debug)]
pub struct Slot {
    shared: Arc<Shared>,
    task: TaskId,
    requests: Requests,
    /// Dropped after [`Slot::drop`] has run: who waits for the end finds the slot free.
    _over: watch::Sender<()>,
}

impl Slot {
    /// Waits until somebody asks for the end. Cancel-safe.
    pub async fn aborted(&self) {
        self.requests.more_than(0).await;
    }

    /// The requests to end this dispatch, for parts of it that don't hold the slot.
    #[must_use]
    pub fn requests(&self) -> Requests {
        self.requests.clone()
    }
}

/// How often somebody has asked for the end of a dispatch.
#[derive(Debug, Clone)]
pub struct Requests(watch::Receiver<u32>);

impl Requests {
    /// How often so far.
    #[must_use]
    pub fn count(&self) -> u32 {
        *self.0.borrow()
    }

    /// Waits until somebody has asked more often than `known`. Cancel-safe.
    pub async fn more_than(&self, known: u32) {
        let mut requests = self.0.clone();
        if requests.wait_for(|asked| *asked > known).await.is_err() {
            // Nobody can ask any more.
            std::future::pending::<()>().await;
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.shared.running().remove(&self.task);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn m_020_no_more_than_the_limit_and_every_end_frees() {
        let slots = Slots::new("p", 3);
        let tasks: Vec<_> = (0..20).map(|_| TaskId::generate()).collect();
        let taken: Vec<_> = tasks.iter().filter_map(|task| slots.take(task).ok()).collect();
        assert_eq!((taken.len(), slots.taken()), (3, 3));
        assert_eq!(slots.take(&tasks[0]).unwrap_err().code, ErrorCode::ConcurrencyLimit);
        drop(taken);
        assert_eq!(slots.taken(), 0);
    }

    #[tokio::test]
    async fn m_024_an_abort_returns_when_the_slot_is_free() {
        let slots = Slots::new("p", 1);
        let task = TaskId::generate();
        slots.abort(&task).await;
        let slot = slots.take(&task).unwrap();
        let abort = slots.abort(&task);
        let ending = async {
            slot.aborted().await;
            drop(slot);
        };
        tokio::join!(
            async {
                abort.await;
                assert_eq!(slots.taken(), 0)
            },
            ending
        );
    }
}
