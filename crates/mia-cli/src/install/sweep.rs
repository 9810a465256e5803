//! Removing versions that are not run any more, and what killed installations left.

use std::fs;
use std::path::{Path, PathBuf};

use mia_plugin::AgentFolder;

use super::lock;

/// What is in an agent's folder besides the version that is run.
pub(super) fn others(agent: &AgentFolder) -> Vec<PathBuf> {
    let current = agent.current();
    let spared = [agent.link(), agent.path().join(lock::FILE)];
    let entries = fs::read_dir(agent.path()).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    paths.filter(|path| Some(path) != current.as_ref() && !spared.contains(path)).collect()
}

/// Removes all of that but versions that still run. Only for who holds the lock. What can't be
/// removed is in nobody's way, and the next one tries again.
pub(super) async fn sweep(agent: &AgentFolder) {
    for path in others(agent) {
        remove(path).await;
    }
}

/// Removes something that nobody runs.
pub(super) async fn remove(path: PathBuf) {
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
