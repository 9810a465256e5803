//! The end of what a child wrote to stderr.

use std::collections::VecDeque;
use std::io;

use tokio::io::{AsyncRead, AsyncReadExt};

/// How much is read at once, in bytes.
const CHUNK: usize = 8 << 10;

/// The last bytes of a stream, at most as many as asked for (M-12). All of the stream is read, so
/// its writer never stands still for it.
#[derive(Debug)]
pub struct StderrTail {
    limit: usize,
    kept: VecDeque<u8>,
    total: u64,
    chunk: Vec<u8>,
}

impl Default for StderrTail {
    fn default() -> Self {
        Self::new(64 << 10)
    }
}

impl StderrTail {
    /// Keeps at most `limit` bytes.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { limit, kept: VecDeque::new(), total: 0, chunk: Vec::new() }
    }

    /// Takes bytes that came.
    pub fn push(&mut self, bytes: &[u8]) {
        self.total = self.total.saturating_add(bytes.len() as u64);
        let from = bytes.len().saturating_sub(self.limit);
        let new = bytes.get(from..).unwrap_or_default();
        let excess = (self.kept.len() + new.len()).saturating_sub(self.limit);
        self.kept.drain(..excess.min(self.kept.len()));
        self.kept.extend(new);
    }

    /// Reads once and keeps what came. Gives the number of bytes, 0 at the end of the stream.
    /// Cancel-safe.
    ///
    /// # Errors
    ///
    /// Those of the stream.
    pub async fn fill_from<R: AsyncRead + Unpin>(&mut self, stream: &mut R) -> io::Result<usize> {
        self.chunk.resize(CHUNK, 0);
        let len = stream.read(&mut self.chunk).await?;
        let chunk = std::mem::take(&mut self.chunk);
        self.push(chunk.get(..len).unwrap_or_default());
        self.chunk = chunk;
        Ok(len)
    }

    /// Reads to the end of the stream. Cancel-safe: what was read is kept.
    ///
    /// # Errors
    ///
    /// Those of the stream.
    pub async fn drain<R: AsyncRead + Unpin>(&mut self, stream: &mut R) -> io::Result<()> {
        while self.fill_from(stream).await? > 0 {}
        Ok(())
    }

    /// How many bytes came in all.
    #[must_use]
    pub fn total_bytes(&self) -> u64 {
        self.total
    }

    /// Whether bytes were left out before the text.
    #[must_use]
    pub fn is_truncated(&self) -> bool {
        self.total > self.kept.len() as u64
    }

    /// The text. Where bytes before it were left out it begins with a whole character; what is
    /// no UTF-8 is replaced by U+FFFD.
    #[must_use]
    pub fn text(&self) -> String {
        let (front, back) = self.kept.as_slices();
        let mut bytes = [front, back].concat();
        if self.is_truncated() {
            // At most three bytes continue the character that was cut.
            let torn = bytes.iter().take(3).take_while(|byte| **byte & 0xc0 == 0x80).count();
            bytes.drain(..torn);
        }
        match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[tokio::test]
    async fn m_012_all_is_read_and_the_end_is_kept() {
        let text: String = (0..20_000).map(|line| format!("line {line} ä\n")).collect();
        let mut tail = StderrTail::default();
        tail.drain(&mut text.as_bytes()).await.unwrap();
        assert_eq!(tail.total_bytes(), text.len() as u64);
        assert!(tail.is_truncated());
        assert!(text.ends_with(&tail.text()));
        assert!((65_533..=65_536).contains(&tail.text().len()));
    }

    #[test]
    fn nothing_is_left_out_of_what_fits() {
        let mut tail = StderrTail::new(4);
        tail.push(b"ab");
        tail.push(b"cd");
        assert_eq!((tail.text().as_str(), tail.is_truncated()), ("abcd", false));
        tail.push(b"e");
        assert_eq!((tail.text().as_str(), tail.is_truncated()), ("bcde", true));
        assert_eq!(StderrTail::new(0).text(), "");
    }

    proptest! {
        #[test]
        fn the_tail_is_a_suffix_whatever_the_chunks(
            text in "[aä€😀\n]{0,60}",
            limit in 4_usize..40,
            chunk in 1_usize..50,
        ) {
            let mut tail = StderrTail::new(limit);
            for bytes in text.as_bytes().chunks(chunk) {
                tail.push(bytes);
            }
            prop_assert!(text.ends_with(&tail.text()));
            // Only what is left of one character may be missing.
            prop_assert!(tail.text().len() + 3 >= limit.min(text.len()));
        }
    }
}
