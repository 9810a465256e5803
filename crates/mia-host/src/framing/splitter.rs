//! The rules of framing, without I/O.

use std::ops::Range;

use super::line::{Line, LineEvent};

/// The buffer's usual size, in bytes, and how much is read at once.
const USUAL: usize = 128 << 10;
/// Less room than this at the end of the buffer isn't worth a read.
const LEAST_ROOM: usize = 16 << 10;
const BOM: &[u8] = b"\xef\xbb\xbf";

/// Splits bytes into lines.
///
/// Bytes go in by [`push`](Self::push), or straight into [`room`](Self::room) and then
/// [`filled`](Self::filled); [`next_line`](Self::next_line) gives what is complete. The cost is
/// linear in the bytes; the memory is about twice the longest line, and the usual 128 KiB again
/// once that line was taken.
#[derive(Debug)]
pub struct LineSplitter {
    /// The longest line allowed, without its end.
    cap: usize,
    buffer: Vec<u8>,
    /// What of the buffer holds bytes that were not given out yet.
    start: usize,
    end: usize,
    /// Up to where no line end was found, `start <= scanned <= end`.
    scanned: usize,
    /// Inside a line that was too long.
    skipping: bool,
    /// Nothing was given out yet, so a byte order mark may come.
    at_beginning: bool,
    finished: bool,
}

/// Where in the buffer the next event is.
#[derive(Clone, Debug)]
pub(super) enum Found {
    Line(Range<usize>),
    TooLong,
}

impl LineSplitter {
    /// Allows lines of at most `cap` bytes, their end not counted.
    #[must_use]
    pub fn new(cap: usize) -> Self {
        Self {
            cap,
            buffer: Vec::new(),
            start: 0,
            end: 0,
            scanned: 0,
            skipping: false,
            at_beginning: true,
            finished: false,
        }
    }

    /// Takes a copy of bytes that came. Take all lines out before the next push, or they pile up.
    pub fn push(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let room = self.room();
            let len = room.len().min(bytes.len());
            let (now, later) = bytes.split_at(len);
            if let Some(room) = room.get_mut(..len) {
                room.copy_from_slice(now);
            }
            self.filled(len);
            bytes = later;
        }
    }

    /// Room for bytes that come, never empty; say by [`filled`](Self::filled) how many did.
    pub fn room(&mut self) -> &mut [u8] {
        self.make_room();
        self.buffer.get_mut(self.end..).unwrap_or_default()
    }

    /// The first `len` bytes of the room were filled.
    pub fn filled(&mut self, len: usize) {
        self.end = (self.end + len).min(self.buffer.len());
    }

    /// No more bytes will come: what is left is the last line.
    pub fn finish(&mut self) {
        self.finished = true;
    }

    /// The next line, or `None` when more bytes must come first.
    pub fn next_line(&mut self) -> Option<LineEvent<'_>> {
        let found = self.find()?;
        Some(self.show(found))
    }

    /// Finds the next event. A range of one event is valid until room is asked for.
    pub(super) fn find(&mut self) -> Option<Found> {
        if self.at_beginning && !self.drop_bom() {
            return None;
        }
        loop {
            let unseen = self.buffer.get(self.scanned..self.end).unwrap_or_default();
            let Some(at) = memchr::memchr(b'\n', unseen) else {
                return self.find_unfinished();
            };
            let line = self.start..self.scanned + at;
            self.start = line.end + 1;
            self.scanned = self.start;
            if std::mem::take(&mut self.skipping) {
                continue;
            }
            let line = self.without_cr(line);
            return Some(if line.len() > self.cap { Found::TooLong } else { Found::Line(line) });
        }
    }

    pub(super) fn show(&self, found: Found) -> LineEvent<'_> {
        match found {
            Found::Line(at) => LineEvent::Line(Line(self.buffer.get(at).unwrap_or_default())),
            Found::TooLong => LineEvent::TooLong { at_least: self.cap.saturating_add(1) },
        }
    }

    /// There is no line end in the buffer: the line is too long, or it is the last one, or more
    /// must come.
    fn find_unfinished(&mut self) -> Option<Found> {
        self.scanned = self.end;
        if self.skipping {
            self.start = self.end;
            return None;
        }
        let all = self.start..self.end;
        // A CR in the end may be part of a line end that is still to come.
        if self.without_cr(all.clone()).len() > self.cap {
            self.start = self.end;
            self.skipping = true;
            return Some(Found::TooLong);
        }
        if !self.finished || all.is_empty() {
            return None;
        }
        self.start = self.end;
        let line = if all.len() > self.cap { Found::TooLong } else { Found::Line(all) };
        Some(line)
    }

    /// Drops a byte order mark; `false` while it can't be known yet whether it is one.
    fn drop_bom(&mut self) -> bool {
        let bytes = self.buffer.get(self.start..self.end).unwrap_or_default();
        if bytes.starts_with(BOM) {
            self.start += BOM.len();
            self.scanned = self.start;
        } else if BOM.starts_with(bytes) && !self.finished {
            return false;
        }
        self.at_beginning = false;
        true
    }

    fn without_cr(&self, line: Range<usize>) -> Range<usize> {
        let ends_in_cr = !line.is_empty() && self.buffer.get(line.end - 1) == Some(&b'\r');
        line.start..line.end - usize::from(ends_in_cr)
    }

    /// Sees to it that there is room at the end of the buffer.
    fn make_room(&mut self) {
        let held = self.end - self.start;
        if held == 0 {
            (self.start, self.end, self.scanned) = (0, 0, 0);
        }
        if self.buffer.len() > USUAL && held <= USUAL / 2 {
            // The long line that it grew for was taken.
            self.move_to_front();
            self.buffer.truncate(USUAL);
            self.buffer.shrink_to_fit();
        }
        if self.buffer.is_empty() {
            self.buffer.resize(USUAL, 0);
        }
        if self.buffer.len() - self.end >= LEAST_ROOM {
            return;
        }
        // This pays off only where at least as much becomes free as is moved; so each byte is
        // moved at most once for each byte that came.
        if self.start >= held && self.start >= LEAST_ROOM {
            self.move_to_front();
            return;
        }
        // One long line: double, but never to much more than it may need.
        let wanted = (self.buffer.len() * 2).min(self.cap.saturating_add(USUAL));
        let wanted = wanted.max(self.end + LEAST_ROOM);
        // Exactly that: growing by itself a vector would double once more.
        self.buffer.reserve_exact(wanted - self.buffer.len());
        self.buffer.resize(wanted, 0);
    }

    fn move_to_front(&mut self) {
        self.buffer.copy_within(self.start..self.end, 0);
        self.scanned -= self.start;
        self.end -= self.start;
        self.start = 0;
    }
}
