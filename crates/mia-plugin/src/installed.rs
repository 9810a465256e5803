//! Mia's own folder of agents: how it is laid out, and who may remove what.
//!
//! ```text
//! agents/codex/current            → 0.171.0, switched in one step
//! agents/codex/0.171.0/bin/codex  the program
//! agents/codex/0.171.0/in-use     locked, shared, by everybody who runs it
//! agents/codex/new-…              being installed or removed, or left by who was killed at that
//! ```
//!
//! A version is never changed once `current` has named it. It is removed only by who holds its lock
//! alone, so that an agent that runs keeps its files while a newer one is installed.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// The link to the version that is run.
const CURRENT: &str = "current";
/// The file whose lock says that a version runs.
const IN_USE: &str = "in-use";
/// What `current` is before it is in its place.
const NEW_LINK: &str = "new-link";
/// What the names of folders that are being installed or removed begin with.
const NEW: &str = "new-";
/// Linux's flag for an open that waits for nobody, the same on all processors that agents are made
/// for.
const O_NONBLOCK: i32 = 0o4000;
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
        let link = self.path.join(NEW_LINK);
        remove_link(&link)?;
        // What is no link is not Mia's, and a rename would replace it.
        if is_there_and_no_link(&self.link())? {
            return Err(no_link(&self.link()));
        }
        std::os::unix::fs::symlink(version, &link)?;
        fs::rename(&link, self.link())
    }

    /// Removes `current`, and what a killed [`switch_to`](AgentFolder::switch_to) may have left:
    /// no version is run from here on. What is no link stays.
    ///
    /// # Errors
    /// What the system says.
    pub fn unlink(&self) -> io::Result<()> {
        for link in [self.link(), self.path.join(NEW_LINK)] {
            if !is_there_and_no_link(&link)? {
                remove_link(&link)?;
            }
        }
        Ok(())
    }

    /// Whether something in here is one of Mia's links.
    #[must_use]
    pub fn is_link(name: &str) -> bool {
        matches!(name, CURRENT | NEW_LINK)
    }

    /// A name for a folder in here that is not whole yet, or not any more.
    #[must_use]
    pub fn unfinished_name() -> String {
        let since_1970 = std::time::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
        format!("{NEW}{}-{since_1970}", std::process::id())
    }

    /// Whether a name is one of those.
    #[must_use]
    pub fn is_unfinished(name: &str) -> bool {
        let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        let parts = name.strip_prefix(NEW).and_then(|numbers| numbers.split_once('-'));
        parts.is_some_and(|(pid, time)| is_number(pid) && is_number(time))
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
        let lock = match open_lock(&path.join(IN_USE)) {
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
    /// What may be removed.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes it. Killed meanwhile, what is left has the name of something unfinished.
    ///
    /// # Errors
    /// What the system says; a part may be gone then.
    pub fn remove(self) -> io::Result<()> {
        if fs::symlink_metadata(&self.path)?.is_dir() {
            let going = self.path.with_file_name(AgentFolder::unfinished_name());
            fs::rename(&self.path, &going)?;
            fs::remove_dir_all(going)
        } else {
            fs::remove_file(&self.path)
        }
    }
}

/// Opens a file that is locked. A FIFO or a device in its place must not be waited for, and a link
/// leads to a file of somebody else's.
fn open_lock(path: &Path) -> io::Result<File> {
    let refused = || {
        let what = format!("{} is no regular file", path.display());
        Err(io::Error::new(io::ErrorKind::InvalidInput, what))
    };
    if !fs::symlink_metadata(path)?.is_file() {
        return refused();
    }
    let file = OpenOptions::new().read(true).custom_flags(O_NONBLOCK).open(path)?;
    // It may have been replaced meanwhile.
    if file.metadata()?.is_file() { Ok(file) } else { refused() }
}

fn is_there_and_no_link(path: &Path) -> io::Result<bool> {
    match fs::symlink_metadata(path) {
        Ok(about) => Ok(!about.is_symlink()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Removes a link that may be missing.
fn remove_link(path: &Path) -> io::Result<()> {
    if is_there_and_no_link(path)? {
        return Err(no_link(path));
    }
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn no_link(path: &Path) -> io::Error {
    let what = format!("{} is not the link that Mia makes; move it away", path.display());
    io::Error::new(io::ErrorKind::AlreadyExists, what)
}

/// What came of the wish to run a version.
enum Held {
    Yes(Hold),
    BeingRemoved,
    Unlockable,
}

fn hold(version: &Path) -> Held {
    let Ok(file) = open_lock(&version.join(IN_USE)) else {
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
        let name = AgentFolder::unfinished_name();
        assert!(AgentFolder::is_unfinished(&name), "{name}");
        for other in ["new-", "new-1", "new-1-", "new-ideas", "new-1-2-3", "old-1-2", "new-1-x"] {
            assert!(!AgentFolder::is_unfinished(other), "{other}");
        }
    }

    #[test]
    fn m_010_a_lock_that_is_no_file_is_not_waited_for() {
        let (_root, agent) = with_versions(&["1.0.0", "2.0.0"]);
        agent.switch_to("1.0.0").unwrap();
        let [fifo, link] = ["1.0.0", "2.0.0"].map(|version| agent.path().join(version));
        for version in [&fifo, &link] {
            fs::remove_file(version.join(IN_USE)).unwrap();
        }
        let made = std::process::Command::new("mkfifo").arg(fifo.join(IN_USE)).status().unwrap();
        assert!(made.success());
        std::os::unix::fs::symlink("/etc/passwd", link.join(IN_USE)).unwrap();
        let (program, hold) = agent.program("tool").unwrap();
        assert!(program.starts_with(&fifo) && hold.is_none(), "it is run, without a lock");
        for version in [fifo, link] {
            let error = AgentFolder::claim(version).unwrap_err();
            assert!(error.to_string().ends_with("/in-use is no regular file"), "{error}");
        }
    }

    #[test]
    fn m_010_what_is_no_link_is_never_replaced_or_removed() {
        for name in [CURRENT, NEW_LINK] {
            let (_root, agent) = with_versions(&["1.0.0"]);
            let file = agent.path().join(name);
            fs::write(&file, "precious").unwrap();
            let error = agent.switch_to("1.0.0").unwrap_err().to_string();
            assert!(error.contains(name) && error.contains("is not the link"), "{error}");
            agent.unlink().unwrap();
            assert_eq!(fs::read_to_string(file).unwrap(), "precious");
        }
        let (_root, agent) = with_versions(&["1.0.0"]);
        agent.switch_to("1.0.0").unwrap();
        agent.unlink().unwrap();
        assert!(agent.current().is_none() && agent.path().join("1.0.0").exists());
    }
}
