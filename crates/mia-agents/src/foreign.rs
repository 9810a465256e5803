//! The folder that an agent works in and those above it, of which some may be foreign: what lies in
//! them was brought along by a repository, and is not the user's own.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// A folder as an agent sees it: links followed.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    home: Option<PathBuf>,
}

impl Folder {
    /// That directory, for somebody with that home.
    pub(crate) fn of(directory: &Path, home: Option<&Path>) -> io::Result<Self> {
        let home = home.and_then(|home| home.canonicalize().ok());
        // An agent goes up from where it is, not along the link that led there.
        Ok(Self { path: directory.canonicalize()?, home })
    }

    /// Its path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// It and those above it, less the user's own home.
    pub(crate) fn foreign(&self) -> impl Iterator<Item = &Path> {
        self.path.ancestors().filter(|folder| self.home.as_deref() != Some(*folder))
    }
}

/// Whether there is something of that name. What can't be looked at may be there.
pub(crate) fn is_there(path: &Path) -> bool {
    match path.symlink_metadata() {
        Ok(_) => true,
        Err(error) => !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
    }
}
