//! Reading the log, while it is written and put away.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::OFlags;

use super::write::{LARGEST, OLD, old};

/// How often a file that is followed is looked at.
const LOOK: Duration = Duration::from_millis(100);
/// How much is read at once, and how much of the end of a file at most, in bytes.
const BLOCK: u64 = 64 * 1024;
const MOST: u64 = 2 * LARGEST;

/// One of the log's files. As long as it is open no other file gets its number.
#[derive(Debug)]
struct Part {
    file: File,
    is: (u64, u64),
}

impl Part {
    /// None where there is no file.
    fn open(path: &Path) -> io::Result<Option<Self>> {
        let now = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
        let file = match File::options().read(true).custom_flags(now).open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let about = file.metadata()?;
        if !about.is_file() {
            return Err(io::Error::other("it is no file"));
        }
        Ok(Some(Self { file, is: (about.dev(), about.ino()) }))
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    /// What is there from a place on, at most so many bytes.
    fn read(&self, from: u64, most: u64) -> io::Result<Vec<u8>> {
        let mut text = vec![0; usize::try_from(most).unwrap_or(usize::MAX)];
        let mut length = 0;
        while let Some(room) = text.get_mut(length..).filter(|room| !room.is_empty()) {
            match self.file.read_at(room, from + length as u64) {
                Ok(0) => break,
                Ok(more) => length += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        text.truncate(length);
        Ok(text)
    }

    /// The last lines before a place, at most so many, and not more than a bound.
    fn last(&self, end: u64, lines: usize) -> io::Result<Vec<u8>> {
        let Some(before) = lines.checked_sub(1) else { return Ok(Vec::new()) };
        let mut size = BLOCK;
        loop {
            let from = end.saturating_sub(size.min(MOST));
            let mut text = self.read(from, end - from)?;
            let whole = text.strip_suffix(b"\n").unwrap_or(&text);
            let start = match memchr::memrchr_iter(b'\n', whole).nth(before) {
                Some(place) => place + 1,
                None if from == 0 => 0,
                // What is left of the first line says nothing.
                None if size >= MOST => memchr::memchr(b'\n', whole).map_or(0, |place| place + 1),
                None => {
                    size = size.saturating_mul(4);
                    continue;
                }
            };
            return Ok(text.split_off(start));
        }
    }
}

/// Who reads the log: first its end, then what comes. Nothing is lost when the file is put away
/// meanwhile, even if that happens as often as old files are kept.
#[derive(Debug)]
pub struct Reader {
    path: PathBuf,
    /// What is read now, and up to where it was read.
    now: Option<Part>,
    at: u64,
    /// What comes after it, the oldest first: it was put away, and gets no more.
    next: VecDeque<Part>,
    /// What was there before, the newest first.
    past: Vec<Part>,
}

impl Reader {
    /// Stands before the end of the log in that file, which need not be there yet.
    ///
    /// # Errors
    /// When it can't be read.
    pub fn open(path: &Path) -> io::Result<Self> {
        let now = Part::open(path)?;
        let mut past = parts(path)?;
        past.retain(|part| now.as_ref().is_none_or(|now| now.is != part.is));
        Ok(Self { path: path.to_owned(), now, at: 0, next: VecDeque::new(), past })
    }

    /// The last lines, at most that many, also of what was put away. What comes later is for
    /// [`follow`](Self::follow).
    ///
    /// # Errors
    /// When it can't be read.
    pub fn last(&mut self, lines: usize) -> io::Result<Vec<u8>> {
        if let Some(now) = &self.now {
            self.at = now.size()?;
        }
        let mut text = Vec::new();
        let mut end = self.at;
        for part in self.now.iter().chain(&self.past) {
            if self.now.as_ref().is_none_or(|now| now.is != part.is) {
                end = part.size()?;
            }
            let missing = lines.saturating_sub(count(&text));
            if missing == 0 {
                break;
            }
            let mut earlier = part.last(end, missing)?;
            let all = earlier.len() as u64 == end;
            earlier.append(&mut text);
            text = earlier;
            if !all {
                break;
            }
        }
        Ok(text)
    }

    /// Hands over what comes, for ever.
    ///
    /// # Errors
    /// What `take` says, or when it can't be read.
    pub async fn follow(
        &mut self,
        mut take: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        loop {
            match self.more()? {
                Some(text) => take(&text)?,
                None => tokio::time::sleep(LOOK).await,
            }
        }
    }

    /// What has come; none when there is nothing new.
    fn more(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            if let Some(now) = &self.now {
                if now.size()? < self.at {
                    // Somebody has emptied it.
                    self.at = 0;
                }
                let text = now.read(self.at, BLOCK)?;
                if !text.is_empty() {
                    self.at += text.len() as u64;
                    return Ok(Some(text));
                }
            }
            match self.next.pop_front() {
                Some(next) => {
                    self.at = 0;
                    if let Some(now) = self.now.replace(next) {
                        self.past.insert(0, now);
                    }
                }
                None => {
                    self.next = self.newer()?;
                    if self.next.is_empty() {
                        return Ok(None);
                    }
                    // What is read now was put away, and may have got something just before.
                }
            }
        }
    }

    /// The files that are newer than what is read now, the oldest first.
    fn newer(&mut self) -> io::Result<VecDeque<Part>> {
        let Some(newest) = Part::open(&self.path)? else { return Ok(VecDeque::new()) };
        if self.now.as_ref().is_some_and(|now| now.is == newest.is) {
            return Ok(VecDeque::new());
        }
        let mut all = vec![newest];
        all.extend(parts(&self.path)?);
        self.past.retain(|part| all.iter().any(|one| one.is == part.is));
        let mut newer: VecDeque<Part> = VecDeque::new();
        for part in all {
            let known =
                self.now.iter().chain(&self.past).chain(&newer).any(|one| one.is == part.is);
            if !known {
                newer.push_front(part);
            }
        }
        Ok(newer)
    }
}

/// How many lines that is, the last one with its end or without.
fn count(text: &[u8]) -> usize {
    let ends = memchr::memchr_iter(b'\n', text).count();
    ends + usize::from(!text.is_empty() && !text.ends_with(b"\n"))
}

/// What was put away, the newest first. In this order a file that is put away meanwhile is seen twice
/// perhaps, and none is missed.
fn parts(path: &Path) -> io::Result<Vec<Part>> {
    (1..=OLD).filter_map(|number| Part::open(&old(path, number)).transpose()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, OpenOptions};
    use std::io::Write;

    fn add(path: &Path, text: &str) {
        let mut file = OpenOptions::new().append(true).create(true).open(path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    fn put_away(path: &Path) {
        for number in (1..OLD).rev() {
            let _ = fs::rename(old(path, number), old(path, number + 1));
        }
        fs::rename(path, old(path, 1)).unwrap();
    }

    /// All that has come.
    fn come(reader: &mut Reader) -> String {
        let mut all = Vec::new();
        while let Some(more) = reader.more().unwrap() {
            all.extend(more);
        }
        String::from_utf8(all).unwrap()
    }

    #[test]
    fn the_last_lines_of_a_large_file_and_of_those_before_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let last = |lines| Reader::open(&path).unwrap().last(lines).unwrap();
        assert_eq!(last(9), b"");
        add(&path, "first\nsecond\n");
        put_away(&path);
        assert_eq!(last(1), b"second\n", "while there is no new one");
        let mut text: String = (0..1_300_000).map(|n| format!("line {n:07}\n")).collect();
        text.push_str("cut");
        fs::write(&path, &text).unwrap();
        assert!(text.len() as u64 > 3 * LARGEST);
        assert_eq!(last(0), b"");
        assert_eq!(last(2), b"line 1299999\ncut");
        let many = last(500_000);
        assert_eq!(String::from_utf8_lossy(&many).lines().count(), 500_000);
        let bounded = last(usize::MAX);
        assert!(bounded.len() as u64 <= MOST && bounded.starts_with(b"line "), "without a gap");
        fs::write(&path, "third\n").unwrap();
        assert_eq!(last(2), b"second\nthird\n");
        assert_eq!(last(9), b"first\nsecond\nthird\n");
    }

    #[test]
    fn who_follows_loses_nothing_when_files_are_put_away() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        fs::write(old(&path, 1), "long ago\n").unwrap();
        let mut reader = Reader::open(&path).unwrap();
        assert_eq!(come(&mut reader), "");
        let (mut said, mut heard) = (String::new(), String::new());
        let mut number = 0;
        for rotations in [0, 1, 2, 3, 1, 0, 3] {
            for rotation in 0..=rotations {
                if rotation > 0 {
                    put_away(&path);
                    assert_eq!(come(&mut Reader::open(&path).unwrap()), "", "none is there now");
                }
                for _ in 0..3 {
                    number += 1;
                    let line = format!("line {number}\n");
                    add(&path, &line);
                    said.push_str(&line);
                }
            }
            heard.push_str(&come(&mut reader));
            assert_eq!(heard, said, "after {rotations}");
        }
        // Something comes between the last look and the rotation.
        add(&path, "late\n");
        put_away(&path);
        assert_eq!(come(&mut reader), "late\n", "while there is no new one");
        add(&path, "new\n");
        assert_eq!(come(&mut reader), "new\n");
    }

    #[test]
    fn who_follows_a_file_that_is_emptied_or_replaced_starts_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        fs::write(&path, "one\ntwo\n").unwrap();
        let mut reader = Reader::open(&path).unwrap();
        assert_eq!(reader.last(1).unwrap(), b"two\n");
        fs::write(&path, "three\n").unwrap();
        assert_eq!(come(&mut reader), "three\n");
        fs::remove_file(&path).unwrap();
        assert_eq!(come(&mut reader), "");
        fs::write(&path, "four\n").unwrap();
        assert_eq!(come(&mut reader), "four\n");
    }
}
