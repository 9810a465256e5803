//! Bytes into lines (M-14, M-15).
#![expect(clippy::unwrap_used, reason = "a test")]

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use mia_host::framing::{LineEvent, LineReader, LineSplitter, MAX_LINE};
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use tokio::io::{AsyncRead, ReadBuf};

/// A line, or `None` for one that was too long.
type Owned = Option<Vec<u8>>;

fn own(event: LineEvent<'_>) -> Owned {
    match event {
        LineEvent::Line(line) => Some(line.as_bytes().to_vec()),
        LineEvent::TooLong { .. } => None,
    }
}

fn split<'a>(cap: usize, chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<Owned> {
    let mut splitter = LineSplitter::new(cap);
    let mut lines = Vec::new();
    for chunk in chunks {
        splitter.push(chunk);
        while let Some(event) = splitter.next_line() {
            lines.push(own(event));
        }
    }
    splitter.finish();
    while let Some(event) = splitter.next_line() {
        lines.push(own(event));
    }
    lines
}

fn lines(texts: &[&str]) -> Vec<Owned> {
    texts.iter().map(|text| Some(text.as_bytes().to_vec())).collect()
}

/// What framing is, said as simply as possible: over all bytes at once.
fn model(cap: usize, bytes: &[u8]) -> Vec<Owned> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut parts: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    let last = parts.pop().unwrap();
    let ended = parts.into_iter().map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let last = Some(last).filter(|line| !line.is_empty());
    ended.chain(last).map(|line| (line.len() <= cap).then(|| line.to_vec())).collect()
}

#[test]
fn m_014_the_ends_of_lines() {
    let table: [(&str, &[&str]); 9] = [
        ("", &[]),
        ("\n", &[""]),
        ("a", &["a"]),
        ("a\nb\n", &["a", "b"]),
        ("a\r\nb\r\n", &["a", "b"]),
        ("a\r\r\nb\rc", &["a\r", "b\rc"]),
        ("\n\r\n\n", &["", "", ""]),
        ("\u{feff}a\n\u{feff}b\n", &["a", "\u{feff}b"]),
        ("\u{feff}", &[]),
    ];
    for (text, expected) in table {
        assert_eq!(split(MAX_LINE, [text.as_bytes()]), lines(expected), "{text:?}");
    }
}

#[test]
fn m_014_half_a_byte_order_mark_is_text() {
    for text in [&b"\xef"[..], b"\xef\xbb", b"\xef\xbb\n", b"\xef\xbbx"] {
        let line = text.strip_suffix(b"\n").unwrap_or(text);
        assert_eq!(split(MAX_LINE, text.chunks(1)), [Some(line.to_vec())]);
    }
}

#[test]
fn m_014_every_cut_gives_the_same_lines() {
    let text = "\u{feff}{\"ä\":\"€😀\"}\r\n\r\n\u{feff}\r\u{301}e\nlast €";
    let expected = split(MAX_LINE, [text.as_bytes()]);
    assert_eq!(expected.len(), 4);
    for first in 0..=text.len() {
        for second in first..=text.len() {
            let (a, rest) = text.as_bytes().split_at(first);
            let (b, c) = rest.split_at(second - first);
            assert_eq!(split(MAX_LINE, [a, b, c]), expected, "cut at {first} and {second}");
        }
    }
}

#[test]
fn m_014_invalid_utf_8_is_replaced_and_what_is_valid_not_copied() {
    let mut splitter = LineSplitter::new(MAX_LINE);
    splitter.push("gut ä\n".as_bytes());
    splitter.push(b"bad \xff\xc3\n");
    let Some(LineEvent::Line(line)) = splitter.next_line() else { unreachable!() };
    assert!(matches!(line.to_str_lossy(), std::borrow::Cow::Borrowed("gut ä")));
    let Some(LineEvent::Line(line)) = splitter.next_line() else { unreachable!() };
    assert_eq!(line.to_str_lossy(), "bad \u{fffd}\u{fffd}");
}

#[test]
fn m_015_line_at_the_cap() {
    for cap in [1, 5, 1000, 200_000, 1 << 20] {
        let text = |len: usize, end: &str| format!("{}{end}", "x".repeat(len)).into_bytes();
        for end in ["\n", "\r\n", ""] {
            for chunk in [1 << 12, 1 << 30] {
                let events = |len| split(cap, text(len, end).chunks(chunk));
                assert_eq!(events(cap - 1), model(MAX_LINE, &text(cap - 1, end)));
                assert_eq!(events(cap), [Some(text(cap, ""))]);
                assert_eq!(events(cap + 1), [None]);
            }
        }
    }
}

#[test]
fn m_015_a_line_over_the_cap_is_told_at_once_and_the_next_one_comes() {
    let mut splitter = LineSplitter::new(10);
    splitter.push(b"12345678901");
    assert_eq!(splitter.next_line(), Some(LineEvent::TooLong { at_least: 11 }));
    assert_eq!(splitter.next_line(), None);
    splitter.push(b"more of it");
    assert_eq!(splitter.next_line(), None);
    splitter.push(b" and its end\nnext\n");
    assert_eq!(splitter.next_line().map(own), Some(Some(b"next".to_vec())));
    assert_eq!(splitter.next_line(), None);
}

#[test]
fn the_buffer_is_small_again_after_a_long_line() {
    let mut splitter = LineSplitter::new(MAX_LINE);
    let usual = splitter.room().len();
    splitter.push(&vec![b'x'; 20 << 20]);
    splitter.push(b"\nnext");
    assert!(splitter.next_line().is_some());
    assert!(splitter.room().len() <= usual);
    splitter.push(b"\n");
    assert_eq!(splitter.next_line().map(own), Some(Some(b"next".to_vec())));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn m_014_any_chunking_gives_the_lines_of_the_model(
        bytes in "(\u{feff}|\r|\n|\r\n|a|bc|ä|😀){0,40}",
        cap in prop_oneof![0_usize..12, Just(MAX_LINE)],
        chunk in 1_usize..12,
    ) {
        let bytes = bytes.as_bytes();
        prop_assert_eq!(split(cap, bytes.chunks(chunk)), model(cap, bytes));
        prop_assert_eq!(split(cap, [bytes]), model(cap, bytes));
    }

    #[test]
    fn m_014_long_and_short_lines_in_turn(
        lengths in prop::collection::vec(0_usize..400_000, 1..8),
        chunk in 1_000_usize..200_000,
    ) {
        let mut bytes = Vec::new();
        for (index, length) in lengths.iter().enumerate() {
            bytes.extend(std::iter::repeat_n(b'a' + index as u8, *length));
            bytes.push(b'\n');
        }
        prop_assert!(split(MAX_LINE, bytes.chunks(chunk)) == model(MAX_LINE, &bytes));
    }
}

/// A stream that gives at most so many bytes a read, and is not ready every other time.
struct Halting<'a> {
    bytes: &'a [u8],
    chunk: usize,
    ready: bool,
}

impl AsyncRead for Halting<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        room: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        self.ready = !self.ready;
        if !self.ready {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let len = self.chunk.min(self.bytes.len()).min(room.remaining());
        let (now, later) = self.bytes.split_at(len);
        room.put_slice(now);
        self.bytes = later;
        Poll::Ready(Ok(()))
    }
}

#[tokio::test]
async fn m_014_a_dropped_read_loses_nothing() {
    let text = "one\ntwo ä\r\nthree";
    for chunk in 1..text.len() {
        let stream = Halting { bytes: text.as_bytes(), chunk, ready: true };
        let mut reader = LineReader::new(stream, MAX_LINE);
        let mut read = Vec::new();
        loop {
            // One poll and then dropped, if it isn't ready.
            let polled = tokio::select! {
                biased;
                event = reader.next() => Some(event.unwrap().map(own)),
                () = std::future::ready(()) => None,
            };
            match polled {
                Some(Some(line)) => read.push(line),
                Some(None) => break,
                None => {}
            }
        }
        assert_eq!(read, lines(&["one", "two ä", "three"]));
        assert_eq!(reader.bytes_seen(), text.len() as u64);
        assert_eq!(reader.next().await.unwrap(), None);
    }
}

#[tokio::test]
async fn lines_that_were_read_already_need_no_await() {
    let mut reader = LineReader::new(&b"a\nb\nc"[..], MAX_LINE);
    assert_eq!(reader.next().await.unwrap().map(own), Some(Some(b"a".to_vec())));
    assert_eq!(reader.next_buffered().map(own), Some(Some(b"b".to_vec())));
    assert_eq!(reader.next_buffered(), None);
    assert_eq!(reader.next().await.unwrap().map(own), Some(Some(b"c".to_vec())));
    assert_eq!(reader.next().await.unwrap(), None);
}

/// The processor time of the cheapest of a few runs: other work on the machine doesn't count.
fn cost_of_one_line(bytes: usize) -> Duration {
    let now = || {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        Duration::try_from(time).unwrap()
    };
    let text = vec![b'x'; bytes];
    let run = || {
        let began = now();
        assert_eq!(split(MAX_LINE, text.chunks(4096)).len(), 1);
        now() - began
    };
    (0..7).map(|_| run()).min().unwrap()
}

#[test]
fn m_014_cost_is_linear() {
    let (one, nine) = (cost_of_one_line(1 << 20), cost_of_one_line(9 << 20));
    assert!(nine < one * 16, "1 MiB took {one:?}, 9 MiB {nine:?}");
}
