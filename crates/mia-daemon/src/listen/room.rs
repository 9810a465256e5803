//! The room for bodies: what is held of all of them at once has a bound.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Semaphore;

/// Ready when there is room.
pub(super) type Waiting = Pin<Box<dyn Future<Output = ()> + Send>>;

/// So many bytes for the bodies of all connections together.
#[derive(Debug, Clone)]
pub(super) struct Room(Arc<Semaphore>);

impl Room {
    pub(super) fn new(bytes: usize) -> Self {
        Self(Arc::new(Semaphore::new(bytes.min(Semaphore::MAX_PERMITS))))
    }

    /// What one request takes of it: nothing so far.
    pub(super) fn share(&self) -> Arc<Share> {
        Arc::new(Share { room: Arc::clone(&self.0), taken: AtomicUsize::new(0) })
    }
}

/// What one request has taken of the room, until nobody has this any more.
#[derive(Debug)]
pub(super) struct Share {
    room: Arc<Semaphore>,
    taken: AtomicUsize,
}

impl Share {
    /// Takes so many bytes, if there is room for them now.
    pub(super) fn takes(&self, bytes: usize) -> bool {
        let Ok(permits) = self.room.try_acquire_many(permits(bytes)) else { return false };
        self.has(permits.num_permits());
        permits.forget();
        true
    }

    /// Takes so many bytes as soon as there is room for them; who comes first gets it first.
    pub(super) fn waits(self: &Arc<Self>, bytes: usize) -> Waiting {
        let share = Arc::clone(self);
        Box::pin(async move {
            // It is never closed.
            if let Ok(permits) = share.room.acquire_many(permits(bytes)).await {
                share.has(permits.num_permits());
                permits.forget();
            }
        })
    }

    fn has(&self, more: usize) {
        self.taken.fetch_add(more, Ordering::Relaxed);
    }
}

/// What is read at once is never that large, and no room is.
fn permits(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

impl Drop for Share {
    fn drop(&mut self) {
        self.room.add_permits(*self.taken.get_mut());
    }
}
