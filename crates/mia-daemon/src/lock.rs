//! Who is the daemon: whoever holds the lock on a file.
//!
//! The system drops the lock when the process ends in whatever way, so neither a file that was left
//! behind nor a number that another process has got meanwhile means anything.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use mia_api::OsText;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

/// How often a lock is tried that is held, and the pause before the next time. Who only looks holds it
/// for an instant.
const TRIES: u32 = 10;
const PAUSE: Duration = Duration::from_millis(5);

/// What the holder of a lock says about itself: information, never a reason to act.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// Its process.
    pub pid: u32,
    /// Its version.
    pub version: String,
    /// The socket that it listens on, once it does.
    #[serde(default)]
    pub socket: Option<OsText>,
}

/// Who has a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holder {
    /// It is free.
    Nobody,
    /// Somebody, with what it says about itself; none when it could not say it.
    Somebody(Option<About>),
}

/// What one says that found another daemon running; its starter knows it by that.
pub(crate) const OTHER: &str = "a daemon runs already";

/// Why a lock was not taken.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process has it.
    #[error("{OTHER}{}", pid(.0))]
    Held(Option<About>),
    /// Something that is no file, or a link to one, is in its place.
    #[error("can't use the lock {}: it is not an ordinary file; move it away", .0.display())]
    NotAFile(PathBuf),
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
    file: File,
}

impl Lock {
    /// Looks who has the lock.
    ///
    /// # Errors
    /// When that can't be seen.
    pub fn look(path: &Path) -> Result<Holder, LockError> {
        let file = match open(path, OpenOptions::new().read(true)) {
            Err(LockError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                return Ok(Holder::Nobody);
            }
            opened => opened?,
        };
        // Shared, so that two who look at once don't take each other for the holder.
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => Ok(Holder::Somebody(read_about(&file))),
            Ok(()) => Ok(Holder::Nobody),
            Err(TryLockError::Error(source)) => {
                Err(LockError::Io { path: path.to_owned(), source })
            }
        }
    }

    /// Takes the lock, without waiting for a holder to end. The file is made when it is missing, and
    /// never removed. Blocks for some 50 ms, so that a mere look at the lock is not taken for a holder.
    ///
    /// # Errors
    /// [`LockError::Held`] when another process has it.
    pub fn take(path: &Path) -> Result<Self, LockError> {
        Self::take_with(path, || std::thread::sleep(PAUSE))
    }

    /// The same; `pause` is called when the lock was held, before it is tried again.
    fn take_with(path: &Path, mut pause: impl FnMut()) -> Result<Self, LockError> {
        let failed = |source| LockError::Io { path: path.to_owned(), source };
        let file = open(
            path,
            OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600),
        )?;
        // For a umask that takes it even from its user.
        if file.metadata().is_ok_and(|about| about.permissions().mode() & 0o777 != 0o600) {
            file.set_permissions(fs::Permissions::from_mode(0o600)).map_err(failed)?;
        }
        let mut tries = 1;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if tries < TRIES => {
                    tries += 1;
                    pause();
                }
                Err(TryLockError::WouldBlock) => return Err(LockError::Held(read_about(&file))),
                Err(TryLockError::Error(source)) => return Err(failed(source)),
            }
        }
        let mut lock = Self { file };
        lock.says(None);
        Ok(lock)
    }

    /// True while others find this lock at that path: who removes it lets another daemon begin.
    #[must_use]
    pub fn is_in_place(&self, path: &Path) -> bool {
        let is = |about: fs::Metadata| (about.dev(), about.ino());
        let (ours, there) = (self.file.metadata(), fs::symlink_metadata(path));
        ours.is_ok_and(|ours| there.is_ok_and(|there| is(ours) == is(there)))
    }

    /// Tells where the holder listens: others may look for it elsewhere, with another environment.
    pub fn listens_on(&mut self, socket: &Path) {
        self.says(Some(socket));
    }

    fn says(&mut self, socket: Option<&Path>) {
        let about = About {
            pid: std::process::id(),
            version: crate::VERSION.to_owned(),
            socket: socket.map(|path| path.to_owned().into()),
        };
        // On a full disk it stays empty, which harms nobody.
        let _ = self.file.set_len(0).and_then(|()| self.file.rewind());
        let _ = serde_json::to_writer(&self.file, &about);
        let _ = self.file.flush();
    }
}

/// Opens it, if it is a file: a link would lead to somebody else's, and a pipe would be waited for.
fn open(path: &Path, how: &mut OpenOptions) -> Result<File, LockError> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits();
    let file = match how.custom_flags(i32::try_from(flags).unwrap_or_default()).open(path) {
        Ok(file) => file,
        Err(_) if fs::symlink_metadata(path).is_ok_and(|about| !about.is_file()) => {
            return Err(LockError::NotAFile(path.to_owned()));
        }
        Err(source) => return Err(LockError::Io { path: path.to_owned(), source }),
    };
    match file.metadata() {
        Ok(about) if about.is_file() => Ok(file),
        Ok(_) => Err(LockError::NotAFile(path.to_owned())),
        Err(source) => Err(LockError::Io { path: path.to_owned(), source }),
    }
}

fn read_about(file: &File) -> Option<About> {
    let mut text = String::new();
    let _ = file.take(4096).read_to_string(&mut text);
    serde_json::from_str(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn one_has_it_until_it_is_dropped_and_what_the_file_says_means_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("daemon.lock");
        fs::write(&path, "{\"pid\":1,\"version\":\"x\"} and more").unwrap();
        assert_eq!(Lock::look(&path).unwrap(), Holder::Nobody);
        let lock = Lock::take(&path).unwrap();
        let Err(LockError::Held(Some(about))) = Lock::take(&path) else { panic!("taken twice") };
        assert_eq!(about.pid, std::process::id());
        assert_eq!(Lock::look(&path).unwrap(), Holder::Somebody(Some(about)));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        drop(lock);
        Lock::take(&path).unwrap();
    }

    #[test]
    fn who_only_looks_is_not_taken_for_the_daemon() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("daemon.lock");
        drop(Lock::take(&path).unwrap());
        let look = || {
            let file = File::open(&path).unwrap();
            file.try_lock_shared().unwrap();
            Some(file)
        };
        let (mut looking, mut pauses) = (look(), 0);
        Lock::take_with(&path, || {
            pauses += 1;
            looking = None;
        })
        .unwrap();
        assert_eq!(pauses, 1);
        // Who goes on to hold it is no look.
        let _holding = look();
        let mut pauses = 0;
        assert!(matches!(Lock::take_with(&path, || pauses += 1), Err(LockError::Held(_))));
        assert_eq!(pauses, TRIES - 1);
    }

    #[test]
    fn a_link_a_folder_or_a_pipe_in_its_place_is_named_and_nothing_hangs() {
        let folder = tempfile::tempdir().unwrap();
        let victim = folder.path().join("victim");
        fs::write(&victim, "precious").unwrap();
        let at = |name| folder.path().join(name);
        symlink(&victim, at("link")).unwrap();
        symlink(at("nowhere"), at("dangling")).unwrap();
        fs::create_dir(at("folder")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe"), 0o600.into()).unwrap();
        for name in ["link", "dangling", "folder", "pipe"] {
            let error = Lock::take(&at(name)).unwrap_err();
            assert!(matches!(error, LockError::NotAFile(_)), "{name}: {error:?}");
            assert!(error.to_string().contains("move it away"), "{error}");
            assert!(Lock::look(&at(name)).is_err(), "{name}");
        }
        assert_eq!(fs::read(&victim).unwrap(), b"precious");
        assert!(!at("nowhere").exists());
    }
}
