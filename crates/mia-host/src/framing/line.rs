//! One line.

use std::borrow::Cow;

/// What a stream of bytes is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineEvent<'a> {
    /// A line.
    Line(Line<'a>),
    /// A line that is longer than allowed. It is told as soon as it is known, before the end of
    /// that line came; the rest of it is skipped, and the next event is the line after it.
    TooLong {
        /// How long it is at least: one byte more than allowed.
        at_least: usize,
    },
}

/// One line, without its end.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Line<'a>(pub(super) &'a [u8]);

impl<'a> Line<'a> {
    /// Its bytes, as they came.
    #[must_use]
    pub fn as_bytes(self) -> &'a [u8] {
        self.0
    }

    /// Its text. Borrowed where it is valid UTF-8; otherwise a copy in which what is invalid is
    /// replaced by U+FFFD.
    #[must_use]
    pub fn to_str_lossy(self) -> Cow<'a, str> {
        match std::str::from_utf8(self.0) {
            Ok(text) => Cow::Borrowed(text),
            // Only then its slower way, chunk by chunk.
            Err(_) => String::from_utf8_lossy(self.0),
        }
    }
}

impl std::fmt::Debug for Line<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Line(\"{}\")", self.0.escape_ascii())
    }
}
