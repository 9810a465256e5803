//! One installation of an agent at a time.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;
use std::time::Duration;

use mia_plugin::AgentFolder;
use rustix::fs::{Mode, OFlags};

use super::progress::Progress;
use crate::failure::Failure;

pub(super) const FILE: &str = "lock";
/// How often a lock that another holds is tried again.
const PAUSE: Duration = Duration::from_millis(100);

/// The right to change an agent's folder. It ends with the process, whatever ends that.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Makes the folder when it is missing, and waits for whoever changes it now.
    pub(super) async fn take(
        agent: &AgentFolder,
        name: &str,
        progress: &mut Progress,
    ) -> Result<Self, Failure> {
        refuse_link(agent)?;
        let failed = |error: io::Error| {
            let folder = agent.path().display();
            Failure::environment(format!("can't use the folder {folder}: {error}"))
        };
        if let Some(lock) = try_take(agent.path()).map_err(failed)? {
            return Ok(lock);
        }
        let wait = async {
            loop {
                if let Some(lock) = try_take(agent.path())? {
                    return Ok(lock);
                }
                tokio::time::sleep(PAUSE).await;
            }
        };
        let what = format!("waiting for another mia, which installs or removes {name}");
        progress.during(&what, wait).await.map_err(failed)
    }
}

/// What is in a folder that somebody has linked here is not Mia's to change or remove.
///
/// # Errors
/// When an agent's folder is such a link.
pub(super) fn refuse_link(agent: &AgentFolder) -> Result<(), Failure> {
    if !agent.path().is_symlink() {
        return Ok(());
    }
    let folder = agent.path().display();
    Err(Failure::environment(format!(
        "{folder} is a symbolic link, and Mia makes its own folder there"
    ))
    .with_help("remove the link, or move it away; what it leads to stays as it is"))
}

fn try_take(folder: &Path) -> io::Result<Option<Lock>> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let path = folder.join(FILE);
    // Somebody may have put a FIFO there, which must not be waited for, or a link.
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NONBLOCK | OFlags::NOFOLLOW;
    let file = rustix::fs::open(&path, flags | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR);
    let file = match file.map_err(io::Error::from) {
        Ok(file) => File::from(file),
        // Another one has just removed the folder.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io::Error::new(error.kind(), format!("{FILE}: {error}"))),
    };
    if !file.metadata()?.is_file() {
        return Err(io::Error::other(format!("{FILE} in it is no regular file; move it away")));
    }
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(None),
        Err(TryLockError::Error(error)) => return Err(error),
    }
    // The one who held it may have removed the folder with it.
    let ours = file.metadata()?;
    let there = match fs::metadata(&path) {
        Ok(there) => there,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    Ok((there.ino() == ours.ino()).then_some(Lock { _file: file }))
}
