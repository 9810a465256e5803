//! Events as server-sent events, many in one chunk.

use bytes::Bytes;
use mia_api::{Event, Gap, Problem, ResumePoint};
use serde::Serialize;

/// The header by which a client that comes back says how far it has come.
pub(crate) const LAST_EVENT_ID: &str = "last-event-id";

/// How much is put together in one chunk, in bytes.
const CHUNK: usize = 32 * 1024;

/// Puts a chunk together.
#[derive(Debug, Default)]
pub(crate) struct Encoder {
    chunk: Vec<u8>,
}

impl Encoder {
    /// True when no more should be put in.
    pub(crate) fn is_full(&self) -> bool {
        self.chunk.len() >= CHUNK
    }

    /// An event of a task. Its id is the place to come back to.
    pub(crate) fn event(&mut self, event: &Event) {
        self.line(&format!("id: {}", ResumePoint::after(event)));
        self.data(event);
    }

    /// A place where events are missing.
    pub(crate) fn gap(&mut self, gap: &Gap) {
        self.data(gap);
    }

    /// Why the stream ends before its time.
    pub(crate) fn problem(&mut self, problem: &Problem) {
        self.line("event: problem");
        self.data(problem);
    }

    /// There is nothing to come: the client had the terminal event before.
    pub(crate) fn end(&mut self) {
        self.line("event: end");
        self.line("data:\n");
    }

    /// Something that only says that the connection lives.
    pub(crate) fn comment(&mut self) {
        self.line(":\n");
    }

    fn line(&mut self, line: &str) {
        self.chunk.extend_from_slice(line.as_bytes());
        self.chunk.push(b'\n');
    }

    fn data(&mut self, value: &impl Serialize) {
        self.chunk.extend_from_slice(b"data: ");
        // JSON of ours is one line, and a vector takes everything.
        let _ = serde_json::to_writer(&mut self.chunk, value);
        self.chunk.extend_from_slice(b"\n\n");
    }

    pub(crate) fn finish(self) -> Bytes {
        self.chunk.into()
    }
}
