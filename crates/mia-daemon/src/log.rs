//! What the daemon has to say: on stderr, or in a file of bounded size.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tracing_subscriber::fmt::MakeWriter;

/// How large a file may become, and how many old ones are kept.
const LARGEST: u64 = 5 * 1024 * 1024;
const OLD: u32 = 3;
/// How often a file that is followed is looked at.
const LOOK: Duration = Duration::from_millis(100);

/// Says everything on stderr from now on.
pub fn to_stderr() {
    let _ = tracing_subscriber::fmt()
        .with_writer(io::stderr)
        .with_target(false)
        .with_ansi(false)
        .try_init();
}

/// Writes everything to that file from now on; its folder is made when it is missing. A file that can't
/// be written stops nothing.
///
/// # Errors
/// When the file can't be opened.
pub fn to_file(path: &Path) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let log = LogFile(Arc::new(Mutex::new(Open::of(path)?)));
    let _ =
        tracing_subscriber::fmt().with_writer(log).with_target(false).with_ansi(false).try_init();
    Ok(())
}

#[derive(Debug, Clone)]
struct LogFile(Arc<Mutex<Open>>);

#[derive(Debug)]
struct Open {
    path: PathBuf,
    file: File,
    size: u64,
}

impl Open {
    fn of(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
        let size = file.metadata()?.len();
        Ok(Self { path: path.to_owned(), file, size })
    }

    fn rotate(&mut self) -> io::Result<()> {
        for number in (1..OLD).rev() {
            let _ = fs::rename(old(&self.path, number), old(&self.path, number + 1));
        }
        fs::rename(&self.path, old(&self.path, 1))?;
        *self = Self::of(&self.path)?;
        Ok(())
    }
}

fn old(path: &Path, number: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    name.into()
}

impl<'a> MakeWriter<'a> for LogFile {
    type Writer = Self;
    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

impl Write for LogFile {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if open.size >= LARGEST {
            // If that fails it is tried again after as much more.
            open.size = 0;
            let _ = open.rotate();
        }
        // A full disk costs lines, and nothing else.
        if open.file.write_all(line).is_ok() {
            open.size += line.len() as u64;
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The last lines of a file, at most that many, and where they end; nothing for one that is not there.
///
/// # Errors
/// When it can't be read.
pub fn tail(path: &Path, lines: usize) -> io::Result<(Vec<u8>, u64)> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((Vec::new(), 0)),
        Err(error) => return Err(error),
    };
    let mut text = Vec::new();
    Read::by_ref(&mut file).take(2 * LARGEST).read_to_end(&mut text)?;
    let end = text.len() as u64;
    let whole = text.strip_suffix(b"\n").unwrap_or(&text);
    let mut ends = memchr::memrchr_iter(b'\n', whole);
    let start = match lines {
        0 => text.len(),
        lines => ends.nth(lines - 1).map_or(0, |place| place + 1),
    };
    Ok((text.split_off(start), end))
}

/// Hands over what comes into a file after that place, for ever; also into one that takes its place.
///
/// # Errors
/// What `take` says, or when it can't be read.
pub async fn follow(
    path: &Path,
    mut from: u64,
    mut take: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let mut open: Option<(File, u64)> = None;
    loop {
        if open.is_none()
            && let Ok(file) = File::open(path)
        {
            let inode = file.metadata()?.ino();
            open = Some((file, inode));
        }
        if let Some((file, inode)) = &mut open {
            let mut text = Vec::new();
            file.seek(SeekFrom::Start(from))?;
            file.take(LARGEST).read_to_end(&mut text)?;
            if !text.is_empty() {
                from += text.len() as u64;
                take(&text)?;
                continue;
            }
            if fs::metadata(path).is_ok_and(|about| about.ino() != *inode) {
                (open, from) = (None, 0);
                continue;
            }
        }
        tokio::time::sleep(LOOK).await;
    }
}
