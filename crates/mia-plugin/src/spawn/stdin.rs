//! What the child is still to be told.

use mia_host::Stdin;
use tokio::io::AsyncWriteExt;
use tokio::net::unix::pipe;

use super::adapter::Launch;

/// How much may wait for a child that does not read, beside what it was started with. One that
/// lets more pile up is not listening any more.
const WAITING: usize = 16 * 1024 * 1024;

/// The child's stdin and the bytes that wait for it.
///
/// A child that does not read, or has closed its end, is left in peace (M-12).
#[derive(Debug)]
pub(super) struct ToStdin {
    pipe: Option<pipe::Sender>,
    waiting: Vec<u8>,
    /// How much of it is written.
    written: usize,
    limit: usize,
}

impl ToStdin {
    /// What the child's stdin has to be for this launch.
    pub(super) fn wanted(launch: &Launch) -> Stdin {
        if launch.dialogue || !launch.stdin.is_empty() { Stdin::Piped } else { Stdin::Null }
    }

    /// Begins with these bytes.
    pub(super) fn new(first: Vec<u8>) -> Self {
        let limit = first.len().saturating_add(WAITING);
        Self { pipe: None, waiting: first, written: 0, limit }
    }

    /// The child is there.
    pub(super) fn open(&mut self, pipe: Option<pipe::Sender>) {
        self.pipe = pipe;
    }

    /// Adds bytes; they are lost when stdin is closed.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        if self.pipe.is_none() || bytes.is_empty() {
            return;
        }
        self.waiting.extend_from_slice(bytes);
        if self.waiting.len() - self.written > self.limit {
            self.close();
        }
    }

    /// True when nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.written >= self.waiting.len()
    }

    /// True while the child could still hear something.
    pub(super) fn is_open(&self) -> bool {
        self.pipe.is_some()
    }

    /// Closes it; what waits is lost.
    pub(super) fn close(&mut self) {
        self.pipe = None;
        self.waiting = Vec::new();
        self.written = 0;
    }

    /// Writes some of what waits; never ready when there is nothing to do. Cancel-safe.
    pub(super) async fn write(&mut self) {
        let rest = self.waiting.get(self.written..).unwrap_or_default();
        let (Some(pipe), false) = (&mut self.pipe, rest.is_empty()) else {
            return std::future::pending().await;
        };
        match pipe.write(rest).await {
            Ok(count) => {
                self.written += count;
                if self.is_empty() {
                    self.waiting = Vec::new();
                    self.written = 0;
                }
            }
            // It does not read any more; that is its right (EPIPE).
            Err(_) => self.close(),
        }
    }
}
