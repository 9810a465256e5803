//! Removing versions that are not run any more, and what killed installations left. What Mia did
//! not make is never removed.

use std::fs;
use std::path::{Path, PathBuf};

use mia_plugin::AgentFolder;

use super::{lock, record, version};

/// What something in an agent's folder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A version, or what is left of one.
    Version,
    /// The lock and the links.
    Part,
    /// Not made by Mia.
    Foreign,
}

/// The versions in an agent's folder, with what is left of them; also the one that is run.
pub(super) fn versions(agent: &AgentFolder) -> Vec<PathBuf> {
    entries(agent, Kind::Version)
}

/// What Mia did not make, sorted.
pub(super) fn foreign(agent: &AgentFolder) -> Vec<PathBuf> {
    let mut paths = entries(agent, Kind::Foreign);
    paths.sort();
    paths
}

fn entries(agent: &AgentFolder, wanted: Kind) -> Vec<PathBuf> {
    // Through a link it would be somebody else's folder.
    let folder = Some(agent.path()).filter(|path| !path.is_symlink());
    let entries = folder.and_then(|path| fs::read_dir(path).ok()).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| kind(path) == wanted).collect()
}

fn kind(path: &Path) -> Kind {
    let name = path.file_name().and_then(|name| name.to_str());
    let (Some(name), Ok(about)) = (name, fs::symlink_metadata(path)) else {
        return Kind::Foreign;
    };
    if about.is_dir() {
        let is_whole = || {
            let number = name.split('_').next().unwrap_or_default();
            let record = fs::symlink_metadata(path.join(record::FILE));
            version::is_version(number) && record.is_ok_and(|about| about.is_file())
        };
        return if AgentFolder::is_unfinished(name) || is_whole() {
            Kind::Version
        } else {
            Kind::Foreign
        };
    }
    match name {
        lock::FILE if about.is_file() => Kind::Part,
        _ if AgentFolder::is_link(name) && about.is_symlink() => Kind::Part,
        _ => Kind::Foreign,
    }
}

/// Removes all versions but the one that is run, and those that still run. Only for who holds the lock. What can't be
/// removed is in nobody's way, and the next one tries again.
pub(super) async fn sweep(agent: &AgentFolder) {
    let current = agent.current();
    for path in versions(agent).into_iter().filter(|path| Some(path) != current.as_ref()) {
        remove(path).await;
    }
}

/// Removes something that nobody runs.
async fn remove(path: PathBuf) {
    let removed = tokio::task::spawn_blocking(move || {
        if let Ok(Some(claim)) = AgentFolder::claim(path) {
            let _ = claim.remove();
        }
    });
    let _ = removed.await;
}

/// The size of all files in a folder.
pub(super) fn size(folder: &Path) -> u64 {
    let mut bytes: u64 = 0;
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(about) if about.is_dir() => folders.push(entry.path()),
                Ok(about) if about.is_file() => bytes = bytes.saturating_add(about.len()),
                _ => {}
            }
        }
    }
    bytes
}
