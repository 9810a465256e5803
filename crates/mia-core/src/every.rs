//! The events of all tasks as one stream.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mia_api::Event;

use crate::ring::{Found, Ring};

/// How much is kept for those who are behind, in bytes.
const ROOM: usize = 1024 * 1024;

/// Where every event of every task goes, as long as somebody watches.
#[derive(Debug)]
pub(crate) struct Every {
    ring: Ring<Arc<Event>>,
    watchers: AtomicUsize,
}

impl Every {
    pub(crate) fn new() -> Self {
        let ring = Ring::new(ROOM);
        ring.spare(u64::MAX);
        Self { ring, watchers: AtomicUsize::new(0) }
    }

    pub(crate) fn push(&self, event: &Arc<Event>) {
        if self.watchers.load(Ordering::SeqCst) > 0 {
            self.ring.push(Arc::clone(event), event.body.weight());
        }
    }

    /// Nothing comes any more.
    pub(crate) fn close(&self) {
        self.ring.close();
    }

    /// The events from now on.
    pub(crate) fn watch(self: &Arc<Self>) -> AllEvents {
        self.watchers.fetch_add(1, Ordering::SeqCst);
        AllEvents { wanted: self.ring.next(), every: Arc::clone(self) }
    }
}

/// What a watcher of all tasks gets.
#[derive(Debug, Clone, PartialEq)]
pub enum AnyEvent {
    /// An event of some task.
    Event(Arc<Event>),
    /// That many events are missing here: the watcher was too slow. Each task's own events are to be
    /// had by [`Core::watch`](crate::Core::watch).
    Missed(u64),
}

/// The events of all tasks from some moment on. It ends with the core.
#[derive(Debug)]
pub struct AllEvents {
    every: Arc<Every>,
    wanted: u64,
}

impl AllEvents {
    /// The next one; none when the core was closed. Cancel-safe.
    pub async fn next(&mut self) -> Option<AnyEvent> {
        loop {
            if let Some(next) = self.next_waiting() {
                return Some(next);
            }
            if self.every.ring.read(self.wanted, |_| false) == Found::End {
                return None;
            }
            self.every.ring.wait(self.wanted).await;
        }
    }

    /// The next one, if it is there already.
    pub fn next_waiting(&mut self) -> Option<AnyEvent> {
        let mut found = None;
        let state = self.every.ring.read(self.wanted, |event| {
            found = Some(Arc::clone(event));
            false
        });
        match state {
            Found::Some(next) => self.wanted = next,
            Found::Gone(first) => {
                let missed = first - self.wanted;
                self.wanted = first;
                return Some(AnyEvent::Missed(missed));
            }
            Found::Nothing | Found::End => {}
        }
        found.map(AnyEvent::Event)
    }
}

impl Drop for AllEvents {
    fn drop(&mut self) {
        self.every.watchers.fetch_sub(1, Ordering::SeqCst);
    }
}
