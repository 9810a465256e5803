//! The newest of a row of things, within bounds, for many readers of different speed.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// Things counted from 1 on. The oldest are let go when more weigh than there is room for; a reader
/// that wants one of these is told so.
#[derive(Debug)]
pub(crate) struct Ring<T> {
    inner: Mutex<Inner<T>>,
    changed: Notify,
}

#[derive(Debug)]
struct Inner<T> {
    room: usize,
    items: VecDeque<(T, usize)>,
    /// The number of the first of them.
    first: u64,
    weight: usize,
    /// Up to which number things may be let go.
    spare: u64,
    closed: bool,
}

impl<T> Inner<T> {
    fn trim(&mut self) {
        // The newest stays, however much it weighs.
        while self.weight > self.room && self.first <= self.spare && self.items.len() > 1 {
            let Some((_, weight)) = self.items.pop_front() else { break };
            self.weight -= weight;
            self.first += 1;
        }
    }
}

/// What a reader finds.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// Some were handed over; the next one has this number.
    Some(u64),
    /// The reader has all there is.
    Nothing,
    /// The one that is wanted was let go; this is the first that is left.
    Gone(u64),
    /// The reader has all, and no more will come.
    End,
}

impl<T> Ring<T> {
    /// A ring for that weight. What was not [spared](Ring::spare) stays whatever it weighs.
    pub(crate) fn new(room: usize) -> Self {
        let inner =
            Inner { room, items: VecDeque::new(), first: 1, weight: 0, spare: 0, closed: false };
        Self { inner: Mutex::new(inner), changed: Notify::new() }
    }

    fn inner(&self) -> MutexGuard<'_, Inner<T>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the next one.
    pub(crate) fn push(&self, item: T, weight: usize) {
        let mut inner = self.inner();
        inner.items.push_back((item, weight));
        inner.weight += weight;
        inner.trim();
        drop(inner);
        self.changed.notify_waiters();
    }

    /// Says that those up to that number may be let go: they are to be had elsewhere.
    pub(crate) fn spare(&self, up_to: u64) {
        let mut inner = self.inner();
        inner.spare = inner.spare.max(up_to);
        inner.trim();
    }

    /// Makes room for that weight.
    pub(crate) fn widen(&self, room: usize) {
        self.inner().room = room;
    }

    /// No more will come.
    pub(crate) fn close(&self) {
        self.inner().closed = true;
        self.changed.notify_waiters();
    }

    /// The number of the next one to come.
    pub(crate) fn next(&self) -> u64 {
        let inner = self.inner();
        inner.first + inner.items.len() as u64
    }

    /// Hands over those from `wanted` on, until `take` says that it has enough.
    pub(crate) fn read(&self, wanted: u64, mut take: impl FnMut(&T) -> bool) -> Found {
        let inner = self.inner();
        let end = inner.first + inner.items.len() as u64;
        if wanted < inner.first {
            return Found::Gone(inner.first);
        }
        if wanted >= end {
            return if inner.closed { Found::End } else { Found::Nothing };
        }
        let skip = usize::try_from(wanted - inner.first).unwrap_or(usize::MAX);
        let mut number = wanted;
        for (item, _) in inner.items.iter().skip(skip) {
            number += 1;
            if !take(item) {
                break;
            }
        }
        Found::Some(number)
    }

    /// Waits until there is something else to be found than nothing. Cancel-safe.
    pub(crate) async fn wait(&self, wanted: u64) {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            // Before the look, so that what comes right after it still wakes us.
            changed.as_mut().enable();
            if self.read(wanted, |_| false) != Found::Nothing {
                return;
            }
            changed.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(ring: &Ring<u64>, wanted: u64) -> (Vec<u64>, Found) {
        let mut all = Vec::new();
        let found = ring.read(wanted, |item| {
            all.push(*item);
            true
        });
        (all, found)
    }

    #[test]
    fn only_what_is_spared_is_let_go_and_only_over_the_bound() {
        let ring = Ring::new(10);
        for n in 1..=4 {
            ring.push(n, 4);
        }
        assert_eq!(read(&ring, 1), (vec![1, 2, 3, 4], Found::Some(5)));
        ring.spare(1);
        assert_eq!(read(&ring, 1), (vec![], Found::Gone(2)));
        ring.spare(4);
        assert_eq!(read(&ring, 1).1, Found::Gone(3), "two of them have room");
        assert_eq!(read(&ring, 4), (vec![4], Found::Some(5)));
        assert_eq!(read(&ring, 5).1, Found::Nothing);
        ring.close();
        assert_eq!(read(&ring, 5).1, Found::End);
        let ring = Ring::new(10);
        ring.spare(u64::MAX);
        ring.push(1, 100);
        assert_eq!(read(&ring, 1), (vec![1], Found::Some(2)), "the newest is too heavy, and stays");
    }

    #[tokio::test]
    async fn who_waits_is_woken_by_the_next_one_and_by_the_end() {
        let ring = Ring::new(10);
        let mut waiting = Box::pin(ring.wait(1));
        assert!(futures::poll!(&mut waiting).is_pending());
        ring.push(1, 1);
        waiting.await;
        let mut waiting = Box::pin(ring.wait(2));
        assert!(futures::poll!(&mut waiting).is_pending());
        ring.close();
        waiting.await;
    }
}
