//! Replacing a file's content whole, or not at all.

use std::fs::{self, File, Permissions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tempfile::Builder;

/// How long another writer is waited for; an edit takes milliseconds.
const LOCK_WAIT: Duration = Duration::from_secs(5);
const LOCK_POLL: Duration = Duration::from_millis(5);
const TEMPORARY_PREFIX: &str = ".mia-config-";
const TEMPORARY_SUFFIX: &str = ".tmp";
/// As many links as Linux follows.
const MAX_LINKS: usize = 40;

/// The file that `path` names once every symbolic link is followed; it need not exist. The link
/// itself is never replaced.
pub(crate) fn target(path: &Path) -> io::Result<PathBuf> {
    let mut target = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&target) {
            Ok(link) => target = target.parent().unwrap_or(Path::new("/")).join(link),
            Err(_) => return Ok(target),
        }
    }
    Err(io::Error::other("too many symbolic links"))
}

/// Takes turns with the other processes that edit a file of this folder.
///
/// The folder itself is locked, so that no lock file is left behind; the lock ends with the handle.
/// A file system that can't lock gives none, and the comparison in [`replace`] has to do.
pub(crate) fn lock(folder: &Path) -> io::Result<Option<File>> {
    let handle = File::open(folder)?;
    let start = Instant::now();
    loop {
        match handle.try_lock() {
            Ok(()) => return Ok(Some(handle)),
            Err(TryLockError::WouldBlock) if start.elapsed() < LOCK_WAIT => {
                std::thread::sleep(LOCK_POLL);
            }
            Err(TryLockError::WouldBlock) => {
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    "another process has been editing it for 5 seconds",
                ));
            }
            Err(TryLockError::Error(_)) => return Ok(None),
        }
    }
}

/// Removes temporary files that writers who were killed left in a folder. Only for who holds its
/// lock: another's file may be in use otherwise.
pub(crate) fn sweep(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(TEMPORARY_PREFIX) && name.ends_with(TEMPORARY_SUFFIX) {
            // It is in nobody's way, and the next edit tries again.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Replaces the content of `target`, which was `old` (`None`: it did not exist), in one step:
/// temporary file in the same folder, fsync, rename, fsync of the folder. Mode and, where allowed,
/// owner are kept; a new file is 0600. On an error, and when killed at any point, the old file is
/// whole. `write` is `Write::write_all` but in tests.
pub(crate) fn replace(
    target: &Path,
    old: Option<&str>,
    new: &str,
    write: impl FnOnce(&mut File, &[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let folder = target.parent().unwrap_or(Path::new("/"));
    let before = match fs::metadata(target) {
        Ok(metadata) => Some(metadata),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    // A rename would go past the file's own mode, and root past any.
    if before.as_ref().is_some_and(|metadata| metadata.permissions().readonly()) {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "the file is read-only"));
    }
    let mut temporary = Builder::new()
        .prefix(TEMPORARY_PREFIX)
        .suffix(TEMPORARY_SUFFIX)
        .permissions(Permissions::from_mode(0o600))
        .tempfile_in(folder)?;
    write(temporary.as_file_mut(), new.as_bytes())?;
    if let Some(metadata) = &before {
        // Only root may give a file away; anybody else keeps what is theirs already.
        let _ = std::os::unix::fs::fchown(
            temporary.as_file(),
            Some(metadata.uid()),
            Some(metadata.gid()),
        );
        temporary.as_file().set_permissions(metadata.permissions())?;
    }
    temporary.as_file().sync_all()?;
    if read(target)?.as_deref() != old.map(str::as_bytes) {
        return Err(io::Error::other("it was changed by another program meanwhile; try again"));
    }
    temporary.persist(target).map_err(|error| error.error)?;
    // Done, and some file systems can't sync a folder.
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
    Ok(())
}

/// [`replace`]'s usual way of writing.
pub(crate) fn write_all(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    file.write_all(bytes)
}

fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn m_040_a_full_disk_leaves_the_old_file_and_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.yaml");
        fs::write(&file, "old\n").unwrap();
        let full = |file: &mut File, bytes: &[u8]| {
            file.write_all(bytes.get(..2).unwrap())?;
            Err(io::Error::from(io::ErrorKind::StorageFull))
        };
        let error = replace(&file, Some("old\n"), "new\n", full).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert_eq!(fs::read_to_string(&file).unwrap(), "old\n");
        assert_eq!(names(folder.path()), ["config.yaml"]);
    }

    #[test]
    fn m_040_a_change_by_another_program_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.yaml");
        fs::write(&file, "old\n").unwrap();
        let other = file.clone();
        let meanwhile = move |temporary: &mut File, bytes: &[u8]| {
            fs::write(&other, "theirs\n")?;
            temporary.write_all(bytes)
        };
        assert!(replace(&file, Some("old\n"), "new\n", meanwhile).is_err());
        assert_eq!(fs::read_to_string(&file).unwrap(), "theirs\n");
        assert_eq!(names(folder.path()), ["config.yaml"]);
        // Nor is a file that came to be.
        assert!(replace(&file, None, "new\n", write_all).is_err());
        assert_eq!(fs::read_to_string(&file).unwrap(), "theirs\n");
    }

    #[test]
    fn m_040_a_lock_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let first = lock(folder.path()).unwrap().unwrap();
        let path = folder.path().to_path_buf();
        let (started, has_started) = std::sync::mpsc::channel();
        let second = std::thread::spawn(move || {
            started.send(()).unwrap();
            lock(&path).unwrap().is_some()
        });
        has_started.recv().unwrap();
        assert!(File::open(folder.path()).unwrap().try_lock().is_err());
        drop(first);
        assert!(second.join().unwrap());
    }
}
