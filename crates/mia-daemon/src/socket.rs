//! The daemon's socket: 0600, in a folder that only its user may enter.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tokio::net::UnixListener;

/// The socket as a file, which goes away with this, unless another is there by then.
#[derive(Debug)]
pub struct Socket {
    path: PathBuf,
    is: (u64, u64),
}

impl Socket {
    /// Binds the socket, in place of one that a dead daemon left. Only for who holds the
    /// [`Lock`](crate::Lock); the folder must be private already.
    ///
    /// # Errors
    /// Also when something that is no socket is in its place: that is left alone.
    pub fn bind(path: &Path) -> io::Result<(Self, UnixListener)> {
        match fs::symlink_metadata(path) {
            Ok(about) if about.file_type().is_socket() => fs::remove_file(path)?,
            Ok(_) => {
                let why = "something that is no socket is there; move it away";
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, why));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let listener = UnixListener::bind(path)?;
        // Nobody else could reach it meanwhile: the folder is private.
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
        let about = fs::symlink_metadata(path)?;
        Ok((Self { path: path.to_owned(), is: (about.dev(), about.ino()) }, listener))
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let ours = fs::symlink_metadata(&self.path)
            .is_ok_and(|about| (about.dev(), about.ino()) == self.is);
        if ours {
            // One that stays behind is replaced by the next daemon.
            let _ = fs::remove_file(&self.path);
        }
    }
}
