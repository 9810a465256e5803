//! Who is alive: a process that owns tasks holds a lock on a file for as long as it lives.
//!
//! The system drops the lock when the process ends in whatever way. Unlike a process id it is never
//! given to another, and it is seen across pid namespaces that share the folder.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::{Store, StoreError};

/// The name of an owner, as it is on record.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct OwnerId(pub(crate) String);

impl OwnerId {
    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// An owner of tasks: this process, as long as one clone of this lives. Child processes don't
/// inherit it.
#[derive(Debug, Clone)]
pub struct Owner {
    held: Arc<Held>,
}

#[derive(Debug)]
struct Held {
    id: OwnerId,
    path: PathBuf,
    /// Locked. Closing it gives the lock back.
    _file: File,
}

impl Owner {
    /// The owner's id.
    #[must_use]
    pub fn id(&self) -> &OwnerId {
        &self.held.id
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // A file that stays behind is unlocked, which says the same.
        let _ = fs::remove_file(&self.path);
    }
}

impl Store {
    /// Registers this process as an owner of tasks.
    ///
    /// # Errors
    /// When the folder `owners` beside the database can't be written.
    pub fn owner(&self) -> Result<Owner, StoreError> {
        let folder = &self.shared.owners;
        let failed = |error| StoreError::from_io(folder, error);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
        let id = OwnerId(uuid::Uuid::now_v7().to_string());
        let path = lock_file(folder, &id.0);
        // Locked before it has its name, so that nobody ever sees it unlocked.
        let unnamed = folder.join(format!("{}.new", id.0));
        let file = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&unnamed)
            .map_err(failed)?;
        let named = file.lock().and_then(|()| fs::rename(&unnamed, &path));
        if let Err(error) = named {
            let _ = fs::remove_file(&unnamed);
            return Err(failed(error));
        }
        Ok(Owner { held: Arc::new(Held { id, path, _file: file }) })
    }
}

/// True when the owner of that id lives. When in doubt it does: to end the task of a living one would
/// be worse than to wait.
pub(crate) fn is_alive(owners: &Path, id: &str) -> bool {
    // Whatever else stands on record never was one, and must not become a path.
    if uuid::Uuid::try_parse(id).is_err() {
        return false;
    }
    let path = lock_file(owners, id);
    match File::open(&path) {
        Err(error) => error.kind() != io::ErrorKind::NotFound,
        // Shared, so that two who look at once don't take each other for the owner.
        Ok(file) => match file.try_lock_shared() {
            Ok(()) => {
                let _ = fs::remove_file(&path);
                false
            }
            Err(TryLockError::WouldBlock | TryLockError::Error(_)) => true,
        },
    }
}

/// Removes the files that dead owners left.
pub(crate) fn sweep(owners: &Path) {
    let Ok(entries) = fs::read_dir(owners) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if let Some(id) = name.to_str().and_then(|name| name.strip_suffix(".lock")) {
            is_alive(owners, id);
        }
    }
}

fn lock_file(owners: &Path, id: &str) -> PathBuf {
    owners.join(format!("{id}.lock"))
}
