//! Reading a file, whatever it turns out to be.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

use super::prose;
use super::stop::Budget;

/// How much of one line is kept, in bytes.
const LINE: usize = 2_000;

/// How many bytes tell whether a file is text.
const PROBE: usize = 8 * 1024;

/// What is at a path.
#[derive(Debug)]
pub(super) enum Opened {
    /// A text, and its size in bytes.
    Text(BufReader<File>, u64),
    /// A file that is no text, and its size in bytes.
    Binary(u64),
    /// A folder.
    Folder,
    /// A pipe, a socket, a device.
    Special,
}

/// Opens what is at a path. Never waits for another process, as a pipe would have it.
///
/// # Errors
/// When it can't be opened or read.
pub(super) fn open(path: &Path) -> io::Result<Opened> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    // Looked at first, for opening a device may already do something to it.
    let kind = std::fs::metadata(path)?;
    if kind.is_dir() {
        return Ok(Opened::Folder);
    }
    if !kind.is_file() {
        return Ok(Opened::Special);
    }
    let file = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    let found = file.metadata()?;
    if !found.is_file() {
        return Ok(Opened::Special);
    }
    let mut reader = BufReader::with_capacity(PROBE, file);
    if reader.fill_buf()?.contains(&0) {
        return Ok(Opened::Binary(found.len()));
    }
    Ok(Opened::Text(reader, found.len()))
}

/// The beginning of a text file, at most so many bytes; none when it is no text.
pub(super) fn beginning(path: &Path, most: u64) -> Option<String> {
    let Ok(Opened::Text(reader, _)) = open(path) else {
        return None;
    };
    let mut bytes = Vec::new();
    reader.take(most).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The number of lines of a text file of at most so many bytes; none when it is larger, or no text.
pub(super) fn count_lines(path: &Path, most: u64) -> Option<u64> {
    let Ok(Opened::Text(mut reader, size)) = open(path) else {
        return None;
    };
    if size > most {
        return None;
    }
    let mut lines = 0;
    let mut last = b'\n';
    loop {
        let chunk = reader.fill_buf().ok()?;
        let Some(&end) = chunk.last() else { break };
        lines += chunk.iter().filter(|&&byte| byte == b'\n').count() as u64;
        last = end;
        let length = chunk.len();
        reader.consume(length);
    }
    Some(lines + u64::from(last != b'\n'))
}

/// Some lines of a text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Lines {
    /// The lines, cleaned.
    pub(super) lines: Vec<String>,
    /// How many lines were passed over before them.
    pub(super) before: u64,
    /// True when there are more lines after them.
    pub(super) more: bool,
}

/// Reads some lines, counted from 1. Lines that are too long are cut; memory is bounded by what is
/// asked for.
///
/// # Errors
/// When the file can't be read.
pub(super) fn lines(
    reader: &mut impl BufRead,
    first: u64,
    most: usize,
    budget: &Budget,
) -> io::Result<Lines> {
    let mut read = Lines::default();
    while read.before + 1 < first {
        if budget.is_spent() || next_line(reader, 0)?.is_none() {
            return Ok(read);
        }
        read.before += 1;
    }
    while read.lines.len() < most {
        match next_line(reader, LINE)? {
            Some(line) => read.lines.push(prose::clean(&String::from_utf8_lossy(&line))),
            None => return Ok(read),
        }
        if budget.is_spent() {
            break;
        }
    }
    read.more = !reader.fill_buf()?.is_empty();
    Ok(read)
}

/// One line without its end, at most so many bytes of it.
fn next_line(reader: &mut impl BufRead, most: usize) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    let mut any = false;
    loop {
        let chunk = reader.fill_buf()?;
        if chunk.is_empty() {
            return Ok(any.then_some(line));
        }
        any = true;
        let end = chunk.iter().position(|&byte| byte == b'\n');
        let part = chunk.get(..end.unwrap_or(chunk.len())).unwrap_or(chunk);
        let room = most.saturating_sub(line.len());
        line.extend(part.iter().take(room));
        let used = end.map_or(chunk.len(), |end| end + 1);
        reader.consume(used);
        if end.is_some() {
            return Ok(Some(line));
        }
    }
}
