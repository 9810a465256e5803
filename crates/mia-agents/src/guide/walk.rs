//! The files of a folder, as a person would count them.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ignore::WalkBuilder;

use super::stop::Budget;

/// The most files that are looked at.
const MOST: usize = 100_000;

/// A file.
#[derive(Debug, Clone)]
pub(super) struct Found {
    /// Its path below the folder.
    pub(super) path: PathBuf,
    /// When it was written last.
    pub(super) modified: SystemTime,
}

/// The files of a folder.
#[derive(Debug, Default)]
pub(super) struct Walk {
    /// The files, by name.
    pub(super) files: Vec<Found>,
    /// False when there are more.
    pub(super) complete: bool,
    /// How many folders or files could not be read.
    pub(super) unreadable: u64,
}

/// Walks a folder: by name, without what `.gitignore` names, without hidden files, and without
/// following links, so without end in none. A single file is a folder of one.
pub(super) fn walk(root: &Path, budget: &Budget) -> Walk {
    let mut walk = Walk { complete: true, ..Walk::default() };
    let entries = WalkBuilder::new(root)
        .require_git(false)
        .git_global(false)
        .sort_by_file_name(std::ffi::OsStr::cmp)
        .build();
    for entry in entries {
        if walk.files.len() >= MOST || budget.is_spent() {
            walk.complete = false;
            break;
        }
        let Ok(entry) = entry else {
            walk.unreadable += 1;
            continue;
        };
        if !entry.file_type().is_some_and(|kind| kind.is_file()) {
            continue;
        }
        let path = match entry.path().strip_prefix(root) {
            Ok(path) if !path.as_os_str().is_empty() => path.to_owned(),
            _ => PathBuf::from(entry.file_name()),
        };
        let modified = entry.metadata().ok().and_then(|found| found.modified().ok());
        walk.files.push(Found { path, modified: modified.unwrap_or(SystemTime::UNIX_EPOCH) });
    }
    walk
}
