//! Mia's own folder of agents: how it is laid out, and who may remove what.
//!
//! ```text
//! agents/codex/current            → 0.171.0, switched in one step
//! agents/codex/0.171.0/bin/codex  the program
//! agents/codex/0.171.0/in-use     locked, shared, by everybody who runs it
//! agents/codex/new-…              being installed, or left by a killed installation
//! ```
//!
//! A version is never changed once `current` has named it. It is removed only by who holds its lock
//! alone, so that an agent that runs keeps its files while a newer one is installed.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// The link to the version that is run.
const CURRENT: &str = "current";
/// The file whose lock says that a version runs.
const IN_USE: &str = "in-use";
/// How often a version that is removed at this very moment is looked for again.
const TRIES: u32 = 5;

/// The folder of one agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentFolder {
    path: PathBuf,
}

/// As long as one clone of this lives, the version's files stay.
#[derive(Debug, Clone)]
pub struct Hold {
    _locked: Arc<File>,
}

/// The right to remove a version: as long as this lives, nobody begins to run it.
#[derive(Debug)]
pub struct Claim {
    path: PathBuf,
    _lock: Option<File>,
}

impl AgentFolder {
    /// The folder of a plugin's agent, below Mia's folder of agents. Nothing is created.
    #[must_use]
    pub fn new(agents: &Path, plugin: &str) -> Self {
        Self { path: agents.join(plugin) }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The link to the version that is run; a path through it stays right when a newer version is
    /// installed.
    #[must_use]
    pub fn link(&self) -> PathBuf {
        self.path.join(CURRENT)
    }

    /// The folder of the version that is run.
    #[must_use]
    pub fn current(&self) -> Option<PathBuf> {
        let target = fs::read_link(self.link()).ok()?;
        let mut parts = target.components();
        match (parts.next(), parts.next()) {
            (Some(Component::Normal(version)), None) => Some(self.path.join(version)),
            _ => None,
        }
    }

    /// The program of that name in the version that is run, with the right to run it. None where
    /// no version is installed; the program itself need not be there.
    #[must_use]
    pub fn program(&self, name: impl AsRef<Path>) -> Option<(PathBuf, Option<Hold>)> {
        for _ in 0..TRIES {
            let version = self.current()?;
            let hold = match hold(&version) {
                Held::Yes(hold) => Some(hold),
                // A folder that takes no locks is run all the same.
                Held::Unlockable => None,
                // By now `current` names another, or none.
                Held::BeingRemoved => continue,
            };
            return Some((version.join("bin").join(name), hold));
        }
        None
    }

    /// The same for a path that goes through [`link`](AgentFolder::link). None for any other.
    #[must_use]
    pub fn program_at(&self, path: &Path) -> Option<(PathBuf, Option<Hold>)> {
        let name = path.strip_prefix(self.link().join("bin")).ok()?;
        self.program(name)
    }

    /// Makes a version, which is a folder in here, the one that is run. In one step: whoever looks
    /// sees the old one or the new one.
    ///
    /// # Errors
    /// What the system says. The old one is the one that is run then.
    pub fn switch_to(&self, version: &str) -> io::Result<()> {
        let link = self.path.join("new-link");
        match fs::remove_file(&link) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        std::os::unix::fs::symlink(version, &link)?;
        fs::rename(&link, self.link())
    }

    /// Makes a folder one that can be held: to be called before `current` names it.
    ///
    /// # Errors
    /// What the system says.
    pub fn make_holdable(version: &Path) -> io::Result<()> {
        File::create(version.join(IN_USE)).map(drop)
    }

    /// Takes the right to remove a version, or whatever else a killed installation has left in
    /// here. None when it runs.
    ///
    /// # Errors
    /// What the system says.
    pub fn claim(path: PathBuf) -> io::Result<Option<Claim>> {
        if !fs::symlink_metadata(&path)?.is_dir() {
            return Ok(Some(Claim { path, _lock: None }));
        }
        let lock = match File::open(path.join(IN_USE)) {
            Ok(file) => Some(file),
            // It never was a whole version.
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        match lock.as_ref().map(File::try_lock) {
            Some(Err(TryLockError::WouldBlock)) => Ok(None),
            // Without locks nobody can say that it runs.
            Some(Ok(()) | Err(TryLockError::Error(_))) | None => {
                Ok(Some(Claim { path, _lock: lock }))
            }
        }
    }
}

impl Claim {
    /// Removes it.
    ///
    /// # Errors
    /// What the system says; a part may be gone then.
    pub fn remove(self) -> io::Result<()> {
        if fs::symlink_metadata(&self.path)?.is_dir() {
            fs::remove_dir_all(&self.path)
        } else {
            fs::remove_file(&self.path)
        }
    }
}

/// What came of the wish to run a version.
enum Held {
    Yes(Hold),
    BeingRemoved,
    Unlockable,
}

fn hold(version: &Path) -> Held {
    let Ok(file) = File::open(version.join(IN_USE)) else {
        return if version.exists() { Held::Unlockable } else { Held::BeingRemoved };
    };
    match file.try_lock_shared() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Held::BeingRemoved,
        Err(TryLockError::Error(_)) => return Held::Unlockable,
    }
    // Whoever removed it may have been quicker: then it is the lock of a file without a name.
    match file.metadata() {
        Ok(about) if about.nlink() == 0 => Held::BeingRemoved,
        _ => Held::Yes(Hold { _locked: Arc::new(file) }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn with_versions(versions: &[&str]) -> (tempfile::TempDir, AgentFolder) {
        let root = tempfile::tempdir().unwrap();
        let agent = AgentFolder::new(root.path(), "p");
        for version in versions {
            let folder = agent.path().join(version);
            fs::create_dir_all(folder.join("bin")).unwrap();
            AgentFolder::make_holdable(&folder).unwrap();
        }
        (root, agent)
    }

    #[test]
    fn m_010_a_version_that_runs_keeps_its_files() {
        let (_root, agent) = with_versions(&["1.0.0", "2.0.0"]);
        agent.switch_to("1.0.0").unwrap();
        let (program, hold) = agent.program("tool").unwrap();
        assert_eq!(program, agent.path().join("1.0.0/bin/tool"));
        agent.switch_to("2.0.0").unwrap();
        assert_eq!(agent.program("tool").unwrap().0, agent.path().join("2.0.0/bin/tool"));
        let old = agent.path().join("1.0.0");
        assert!(hold.is_some() && AgentFolder::claim(old.clone()).unwrap().is_none());
        drop(hold);
        AgentFolder::claim(old.clone()).unwrap().unwrap().remove().unwrap();
        assert!(!old.exists());
    }

    #[test]
    fn m_010_a_version_that_is_being_removed_is_not_run() {
        let (_root, agent) = with_versions(&["1.0.0"]);
        agent.switch_to("1.0.0").unwrap();
        let claim = AgentFolder::claim(agent.path().join("1.0.0")).unwrap();
        assert!(claim.is_some() && agent.program("tool").is_none());
        drop(claim);
        assert!(agent.program("tool").is_some());
    }

    #[test]
    fn m_010_a_link_that_leads_elsewhere_is_no_version() {
        let (root, agent) = with_versions(&["1.0.0"]);
        assert_eq!(agent.current(), None);
        for target in ["../1.0.0", "/bin", "1.0.0/bin"] {
            let _ = fs::remove_file(agent.link());
            std::os::unix::fs::symlink(target, agent.link()).unwrap();
            assert_eq!(agent.current(), None, "{target}");
        }
        agent.switch_to("1.0.0").unwrap();
        let through = agent.link().join("bin/tool");
        assert_eq!(agent.program_at(&through).unwrap().0, agent.path().join("1.0.0/bin/tool"));
        assert!(agent.program_at(&root.path().join("p/1.0.0/bin/tool")).is_none());
    }

    #[test]
    fn m_010_what_a_killed_installation_left_is_removed() {
        let (_root, agent) = with_versions(&[]);
        fs::create_dir_all(agent.path().join("new-1/node_modules")).unwrap();
        fs::write(agent.path().join("new-link"), "").unwrap();
        for left in ["new-1", "new-link"] {
            AgentFolder::claim(agent.path().join(left)).unwrap().unwrap().remove().unwrap();
        }
        assert_eq!(fs::read_dir(agent.path()).unwrap().count(), 0);
    }
}
