//! How many tasks are at work at once, over all conversations (M-37).

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Lets that many through at once; who comes first goes first.
#[derive(Debug)]
pub(crate) struct Gate {
    places: Arc<Semaphore>,
    size: Mutex<u32>,
}

impl Gate {
    pub(crate) fn new(size: u32) -> Self {
        Self { places: Arc::new(Semaphore::new(size as usize)), size: Mutex::new(size) }
    }

    /// Another number from now on. Who is through stays; with a smaller number nobody goes through
    /// until enough have left.
    pub(crate) fn resize(&self, size: u32) {
        let mut now = self.size.lock().unwrap_or_else(PoisonError::into_inner);
        if size > *now {
            self.places.add_permits((size - *now) as usize);
        } else if size < *now {
            let (places, fewer) = (Arc::clone(&self.places), *now - size);
            tokio::spawn(async move {
                // The semaphore is never closed.
                if let Ok(taken) = places.acquire_many_owned(fewer).await {
                    taken.forget();
                }
            });
        }
        *now = size;
    }

    /// A place, if one is free now.
    pub(crate) fn try_pass(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.places).try_acquire_owned().ok()
    }

    /// Waits for a place; it is free again when the permit is dropped. Cancel-safe.
    pub(crate) async fn pass(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.places).acquire_owned().await.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn m_037_the_limit_may_change_while_tasks_run() {
        let gate = Gate::new(1);
        let first = gate.pass().await.unwrap();
        let mut second = Box::pin(gate.pass());
        assert!(futures::poll!(&mut second).is_pending());
        gate.resize(2);
        let second = second.await.unwrap();
        assert!(gate.try_pass().is_none());
        gate.resize(1);
        tokio::task::yield_now().await;
        drop(first);
        tokio::task::yield_now().await;
        assert!(gate.try_pass().is_none(), "one place less");
        drop(second);
        assert!(gate.try_pass().is_some());
    }
}
