//! Reading a stream line by line.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::Poll;

use tokio::io::{AsyncRead, ReadBuf};

use super::line::LineEvent;
use super::splitter::LineSplitter;

/// Reads a stream line by line.
///
/// After one [`next`](Self::next) take what else is there with
/// [`next_buffered`](Self::next_buffered), which costs no await.
#[derive(Debug)]
pub struct LineReader<R> {
    stream: R,
    splitter: LineSplitter,
    bytes: u64,
    ended: bool,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    /// Reads lines of at most `cap` bytes, their end not counted.
    pub fn new(stream: R, cap: usize) -> Self {
        Self { stream, splitter: LineSplitter::new(cap), bytes: 0, ended: false }
    }

    /// The next line; `None` after the last one.
    ///
    /// Cancel-safe: no byte is lost when the future is dropped.
    ///
    /// # Errors
    ///
    /// Those of the stream. One may try again.
    pub async fn next(&mut self) -> io::Result<Option<LineEvent<'_>>> {
        loop {
            if let Some(found) = self.splitter.find() {
                return Ok(Some(self.splitter.show(found)));
            }
            if self.ended {
                return Ok(None);
            }
            self.fill().await?;
        }
    }

    /// The next line, if it has been read already.
    pub fn next_buffered(&mut self) -> Option<LineEvent<'_>> {
        self.splitter.next_line()
    }

    /// How many bytes came so far, of lines that are not complete too: a sign of life (M-19).
    pub fn bytes_seen(&self) -> u64 {
        self.bytes
    }

    async fn fill(&mut self) -> io::Result<()> {
        let Self { stream, splitter, .. } = self;
        let len = poll_fn(|context| {
            let mut room = ReadBuf::new(splitter.room());
            match Pin::new(&mut *stream).poll_read(context, &mut room) {
                Poll::Ready(result) => Poll::Ready(result.map(|()| room.filled().len())),
                Poll::Pending => Poll::Pending,
            }
        })
        .await?;
        self.splitter.filled(len);
        self.bytes += len as u64;
        if len == 0 {
            self.ended = true;
            self.splitter.finish();
        }
        Ok(())
    }
}
