//! An end that is a pair of byte streams: a line a frame, both ways.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use mia_acp::{Frame, Id, NotAFrame, RequestError};
use mia_host::framing::{LineEvent, LineReader};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufWriter};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::pending::Pending;
use crate::message::Peer;

/// How much may wait to be written, in bytes; one frame that is larger is taken all the same.
const ROOM: usize = 1024 * 1024;

/// The way to an end. A cheap handle.
#[derive(Debug, Clone)]
pub struct Outgoing {
    queue: mpsc::UnboundedSender<(Frame, OwnedSemaphorePermit)>,
    room: Arc<Semaphore>,
    pending: Arc<Pending>,
}

/// What comes from an end.
#[derive(Debug)]
pub struct Incoming<R> {
    lines: LineReader<R>,
    pending: Arc<Pending>,
}

/// One thing that came.
#[derive(Debug, PartialEq, Eq)]
pub enum Came {
    /// A message.
    Frame(Frame),
    /// A line that is none, and why.
    Noise(NotAFrame),
    /// A line that was too long, and how many bytes it had at least.
    TooLong(usize),
}

/// Makes an end of two streams. The third part writes, until all handles of the way are gone or the stream
/// breaks; it has to be polled. `longest` is the most bytes that a line may have.
pub fn wire<R: AsyncRead + Unpin, W: AsyncWrite + Unpin>(
    reader: R,
    writer: W,
    longest: usize,
) -> (Outgoing, Incoming<R>, impl Future<Output = io::Result<()>>) {
    let (queue, frames) = mpsc::unbounded_channel();
    let pending = Arc::new(Pending::default());
    let room = Arc::new(Semaphore::new(ROOM));
    let outgoing = Outgoing { queue, room, pending: Arc::clone(&pending) };
    let incoming = Incoming { lines: LineReader::new(reader, longest), pending };
    (outgoing, incoming, write(writer, frames))
}

async fn write(
    writer: impl AsyncWrite + Unpin,
    mut frames: mpsc::UnboundedReceiver<(Frame, OwnedSemaphorePermit)>,
) -> io::Result<()> {
    let mut writer = BufWriter::new(writer);
    while let Some((frame, room)) = frames.recv().await {
        writer.write_all(frame.bytes()).await?;
        writer.write_all(b"\n").await?;
        drop(room);
        if frames.is_empty() {
            writer.flush().await?;
        }
    }
    writer.shutdown().await
}

impl Outgoing {
    async fn put(self, frame: Frame) {
        let wanted = u32::try_from(frame.bytes().len().clamp(1, ROOM)).unwrap_or(1);
        // The semaphore is never closed.
        let Ok(room) = self.room.acquire_many_owned(wanted).await else { return };
        // To one that has gone nothing can be said.
        let _ = self.queue.send((frame, room));
    }
}

impl Peer for Outgoing {
    fn send(&self, frame: Frame) -> BoxFuture<'static, ()> {
        self.clone().put(frame).boxed()
    }

    #[expect(clippy::async_yields_async, reason = "first it is sent, and then answered")]
    fn request(&self, frame: Frame) -> BoxFuture<'static, BoxFuture<'static, Frame>> {
        let way = self.clone();
        async move {
            let id = frame.id().unwrap_or_else(|| Id::from(0));
            let Some((frame, answer)) = way.pending.note(frame) else {
                return std::future::ready(Frame::error(&id, &gone())).boxed();
            };
            way.put(frame).await;
            answer.map(move |came| came.unwrap_or_else(|_| Frame::error(&id, &gone()))).boxed()
        }
        .boxed()
    }
}

fn gone() -> RequestError {
    RequestError::new(RequestError::INTERNAL, "the other end has gone")
}

impl<R: AsyncRead + Unpin> Incoming<R> {
    /// The next thing that came; none at the end. Empty lines are left out. Cancel-safe.
    ///
    /// # Errors
    /// Those of the stream.
    pub async fn next(&mut self) -> io::Result<Option<Came>> {
        loop {
            return Ok(Some(match self.lines.next().await? {
                None => return Ok(None),
                Some(LineEvent::Line(line)) if line.as_bytes().trim_ascii().is_empty() => continue,
                Some(LineEvent::Line(line)) => {
                    match Frame::parse(Bytes::copy_from_slice(line.as_bytes())) {
                        Ok(frame) => Came::Frame(frame),
                        Err(error) => Came::Noise(error),
                    }
                }
                Some(LineEvent::TooLong { at_least }) => Came::TooLong(at_least),
            }));
        }
    }

    pub(super) fn pending(&self) -> Arc<Pending> {
        Arc::clone(&self.pending)
    }
}
