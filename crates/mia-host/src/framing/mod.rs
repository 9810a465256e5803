//! Bytes into lines (M-14, M-15).
//!
//! [`LineSplitter`] holds the rules and does no I/O; [`LineReader`] reads a stream into it. Any
//! chunking of the same bytes gives the same lines: they end in LF or CRLF, the last one may end
//! with the stream, and a byte order mark before the first one is dropped. A line is borrowed
//! from the buffer; nothing is copied or allocated for it.

mod line;
mod reader;
mod splitter;

pub use line::{Line, LineEvent};
pub use reader::LineReader;
pub use splitter::LineSplitter;

/// The longest line by default, in bytes: 32 MiB.
pub const MAX_LINE: usize = 32 << 20;
