//! The daemon's socket: 0600, in a folder that only its user may enter.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::Mode;
use tokio::net::{UnixListener, UnixSocket};

/// How many clients may wait to be taken. The system makes it `net.core.somaxconn` where that is less.
const WAITING: u32 = 4096;

/// The socket as a file, which goes away with this, unless another is there by then.
#[derive(Debug)]
pub struct Socket {
    path: PathBuf,
    is: (u64, u64),
}

impl Socket {
    /// Binds the socket, in place of one that a dead daemon left. Only for who holds the
    /// [`Lock`](crate::Lock).
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
        let socket = UnixSocket::new_stream()?;
        // Linux makes the file with the mode that the socket has, less the umask: there is no moment at
        // which others could connect.
        rustix::fs::fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
        socket.bind(path)?;
        // For a umask that takes it even from its user.
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
        let about = fs::symlink_metadata(path)?;
        let listener = socket.listen(WAITING)?;
        Ok((Self { path: path.to_owned(), is: (about.dev(), about.ino()) }, listener))
    }
}

impl Socket {
    /// True while clients find this one at its path.
    #[must_use]
    pub fn is_in_place(&self) -> bool {
        fs::symlink_metadata(&self.path).is_ok_and(|about| (about.dev(), about.ino()) == self.is)
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        if self.is_in_place() {
            // One that stays behind is replaced by the next daemon.
            let _ = fs::remove_file(&self.path);
        }
    }
}
