//! Writing the log.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::panic::PanicHookInfo;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::OFlags;

use super::line::Lines;

/// How large a file may become, and how many old ones are kept.
pub(super) const LARGEST: u64 = 5 * 1024 * 1024;
pub(super) const OLD: u32 = 3;

/// Says everything on stderr from now on; a panic, too.
pub fn to_stderr() {
    let _ = tracing_subscriber::fmt()
        .with_writer(|| Lines(io::stderr()))
        .with_target(false)
        .with_ansi(false)
        .try_init();
    std::panic::set_hook(Box::new(tell));
}

/// Writes everything to that file from now on, a panic of any thread, too; its folder is made when it
/// is missing. A file that can't be written stops nothing.
///
/// # Errors
/// When the file can't be opened.
pub fn to_file(path: &Path) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let log = LogFile(Arc::new(Mutex::new(Open::of(path)?)));
    let _ = tracing_subscriber::fmt()
        .with_writer(move || Lines(log.clone()))
        .with_target(false)
        .with_ansi(false)
        .try_init();
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        tell(panic);
        before(panic);
    }));
    Ok(())
}

/// Says where and why a thread panics.
fn tell(panic: &PanicHookInfo<'_>) {
    let thread = std::thread::current();
    let name = thread.name().unwrap_or("without a name");
    let why = panic.payload_as_str().unwrap_or("for a reason that is no text");
    match panic.location() {
        Some(place) => tracing::error!("a panic in {place}, thread {name}: {why}"),
        None => tracing::error!("a panic, thread {name}: {why}"),
    }
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
        // A pipe in its place must not hold the daemon up.
        let now = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
        let file = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .custom_flags(now)
            .open(path)?;
        let about = file.metadata()?;
        if about.is_file() {
            // For a umask that takes it even from its user. Where it fails, the file is another's.
            let _ = file.set_permissions(fs::Permissions::from_mode(0o600));
        }
        Ok(Self { path: path.to_owned(), file, size: about.len() })
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

/// The path of an old file; 1 is the newest of them.
pub(super) fn old(path: &Path, number: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    name.into()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_costs_lines_and_nothing_else() {
        let mut log = LogFile(Arc::new(Mutex::new(Open::of(Path::new("/dev/full")).unwrap())));
        for _ in 0..3 {
            log.write_all(b"a line\n").unwrap();
        }
    }

    #[test]
    fn a_pipe_that_nobody_reads_is_an_error_and_no_hang() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, 0o600.into()).unwrap();
        Open::of(&path).unwrap_err();
    }

    #[test]
    fn old_files_are_kept_and_there_are_never_more() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut log = LogFile(Arc::new(Mutex::new(Open::of(&path).unwrap())));
        let line = [b"x".repeat(1024 * 1024), b"\n".to_vec()].concat();
        for _ in 0..(LARGEST / 1024 / 1024) * 6 {
            log.write_all(&line).unwrap();
        }
        let mut names: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["log", "log.1", "log.2", "log.3"]);
        for name in names {
            let about = fs::metadata(folder.path().join(name)).unwrap();
            assert!(about.len() < LARGEST + 2 * line.len() as u64);
            assert_eq!(about.permissions().mode() & 0o777, 0o600);
        }
    }
}
