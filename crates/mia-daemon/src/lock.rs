//! Who is the daemon: whoever holds the lock on a file.
//!
//! The system drops the lock when the process ends in whatever way, so neither a file that was left
//! behind nor a number that another process has got meanwhile means anything.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// What the holder of a lock says about itself: information, never a reason to act.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// Its process.
    pub pid: u32,
    /// Its version.
    pub version: String,
}

/// What one says that found another daemon running; its starter knows it by that.
pub(crate) const OTHER: &str = "a daemon runs already";

/// Why a lock was not taken.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process has it.
    #[error("{OTHER}{}", pid(.0))]
    Held(Option<About>),
    /// The file can't be used.
    #[error("can't use the lock {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

fn pid(about: &Option<About>) -> String {
    about.as_ref().map(|about| format!(" (process {})", about.pid)).unwrap_or_default()
}

/// The right to be the daemon, for as long as this lives. Child processes don't inherit it.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// True when nobody has the lock, or it can't be seen.
    #[must_use]
    pub fn is_free(path: &Path) -> bool {
        let Ok(file) = File::open(path) else { return true };
        // Shared, so that two who look at once don't take each other for the holder.
        !matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
    }

    /// Takes the lock, without waiting. The file is made when it is missing, and never removed.
    ///
    /// # Errors
    /// [`LockError::Held`] when another process has it.
    pub fn take(path: &Path) -> Result<Self, LockError> {
        let failed = |source| LockError::Io { path: path.to_owned(), source };
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path)
            .map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut text = String::new();
                let _ = file.take(4096).read_to_string(&mut text);
                return Err(LockError::Held(serde_json::from_str(&text).ok()));
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        let about = About { pid: std::process::id(), version: crate::VERSION.to_owned() };
        // On a full disk it stays empty, which harms nobody.
        let _ = file.set_len(0).and_then(|()| file.rewind());
        let _ = serde_json::to_writer(&file, &about);
        let _ = file.flush();
        Ok(Self { _file: file })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_has_it_until_it_is_dropped_and_what_the_file_says_means_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("daemon.lock");
        std::fs::write(&path, "{\"pid\":1,\"version\":\"x\"} and more").unwrap();
        let lock = Lock::take(&path).unwrap();
        let Err(LockError::Held(Some(about))) = Lock::take(&path) else { panic!("taken twice") };
        assert_eq!(about.pid, std::process::id());
        drop(lock);
        Lock::take(&path).unwrap();
    }
}
