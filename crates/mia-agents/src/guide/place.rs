//! Where a path that somebody typed leads.

use std::io;
use std::path::{Path, PathBuf};

/// A path that exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// Its real path, links followed.
    pub(super) real: PathBuf,
    /// True when it is in the working directory, links followed.
    pub(super) inside: bool,
}

/// Finds out where a path leads, from the working directory on.
///
/// # Errors
/// When there is nothing, or it can't be reached.
pub(super) fn resolve(cwd: &Path, path: &str, home: Option<&Path>) -> io::Result<Place> {
    let typed = match (path.strip_prefix("~/"), home) {
        (Some(below), Some(home)) => home.join(below),
        _ => cwd.join(path),
    };
    let real = typed.canonicalize()?;
    let inside = real.starts_with(cwd.canonicalize()?);
    Ok(Place { real, inside })
}
