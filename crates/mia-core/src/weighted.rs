//! A queue that is bounded by the weight of what waits in it.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

/// How much may wait, in KiB.
const ROOM: u32 = 1024;

/// A place in the queue for one item; given back when it is dropped. None for an item over the
/// bound.
pub(crate) type Place = Option<OwnedSemaphorePermit>;

/// The end that is written to.
#[derive(Debug)]
pub(crate) struct Sender<T> {
    queue: mpsc::UnboundedSender<(T, Place)>,
    room: Arc<Semaphore>,
}

/// The end that is read.
#[derive(Debug)]
pub(crate) struct Receiver<T> {
    queue: mpsc::UnboundedReceiver<(T, Place)>,
}

/// A queue in which about 1 MiB may wait. One item over the bound is always taken.
pub(crate) fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let room = Arc::new(Semaphore::new(ROOM as usize));
    (Sender { queue: sender, room }, Receiver { queue: receiver })
}

impl<T> Sender<T> {
    /// Waits for room for an item of that weight in bytes. When the reader has gone there is room
    /// at once. Cancel-safe.
    pub(crate) async fn reserve(&self, weight: usize) -> Place {
        let wanted = u32::try_from(weight / 1024 + 1).unwrap_or(ROOM).min(ROOM);
        // The semaphore is never closed.
        Arc::clone(&self.room).acquire_many_owned(wanted).await.ok()
    }

    /// Puts an item into its place. Lost when the reader has gone.
    pub(crate) fn send(&self, item: T, place: Place) {
        let _ = self.queue.send((item, place));
    }
}

impl<T> Receiver<T> {
    /// The next item; none when all senders are gone and everything was read. Cancel-safe.
    pub(crate) async fn recv(&mut self) -> Option<T> {
        self.queue.recv().await.map(|(item, _place)| item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_writer_waits_for_room_and_not_for_a_reader_that_has_gone() {
        let (sender, mut receiver) = channel();
        let huge = sender.reserve(1 << 40).await;
        sender.send(1, huge);
        let mut second = Box::pin(sender.reserve(1));
        assert!(futures::poll!(&mut second).is_pending());
        assert_eq!(receiver.recv().await, Some(1));
        sender.send(2, second.await);
        let huge = sender.reserve(1 << 40);
        let mut huge = Box::pin(huge);
        assert!(futures::poll!(&mut huge).is_pending());
        drop(receiver);
        sender.send(3, huge.await);
    }
}
