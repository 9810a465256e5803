//! Where the files of a user are.

use std::ffi::OsString;
use std::fmt;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The longest path that a Unix socket's address holds, less its closing zero byte.
const MAX_SOCKET_PATH: usize = 107;

/// What is around the process, injected so that nothing here reads it.
///
/// The CLI passes `std::env::var_os`, `std::env::current_dir` and `std::env::home_dir`.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// Looks up an environment variable.
    pub var: &'a dyn Fn(&str) -> Option<OsString>,
    /// The working directory, asked for only when `MIA_HOME` is relative.
    pub cwd: &'a dyn Fn() -> io::Result<PathBuf>,
    /// The account's home, asked for only when `HOME` says nothing.
    pub account_home: &'a dyn Fn() -> Option<PathBuf>,
}

impl fmt::Debug for Surroundings<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Surroundings").finish_non_exhaustive()
    }
}

/// Why the files of a user can't be found or made.
#[derive(Debug, thiserror::Error)]
pub enum PathsError {
    /// Neither the environment nor the account says where to put files.
    #[error("find a folder for Mia's files: there is no home (set HOME or MIA_HOME)")]
    NoHome,
    /// `MIA_HOME` begins with a tilde, which only a shell expands.
    #[error("use MIA_HOME={0:?}: the ~ was not expanded (write it without quotes, or in full)")]
    Tilde(PathBuf),
    /// `MIA_HOME` is relative and the working directory is gone or unreadable.
    #[error("use the relative MIA_HOME={path:?}: the working directory can't be found: {source}")]
    NoWorkingDirectory {
        /// What `MIA_HOME` is.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Something else is where a folder has to be.
    #[error("use {0:?}: it is not a folder (move it away, or set MIA_HOME to another place)")]
    NotAFolder(PathBuf),
    /// A folder can't be made.
    #[error("create the folder {path:?}: {source} (make it writable, or set MIA_HOME)")]
    Create {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The folder of the socket belongs to somebody else or is open to others.
    #[error(
        "use {0:?} for the socket: others own it or may write to it (take their permission away: chmod go-w)"
    )]
    NotPrivate(PathBuf),
}

/// The files and folders of a user. All paths are absolute; none needs to exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paths {
    /// The folder of the configuration.
    pub config_dir: PathBuf,
    /// `config.yaml`.
    pub config_file: PathBuf,
    /// Manifests of plugins, `NAME.yaml`.
    pub plugins_dir: PathBuf,
    /// The key that secrets are encrypted with.
    pub key_file: PathBuf,
    /// The folder of the state.
    pub state_dir: PathBuf,
    /// The store.
    pub database: PathBuf,
    /// One folder for each run.
    pub runs_dir: PathBuf,
    /// Logs.
    pub logs_dir: PathBuf,
    /// Agents installed by Mia.
    pub agents_dir: PathBuf,
    /// The daemon's socket; at most 107 bytes.
    pub socket: PathBuf,
    /// The home folder, for `~`; `None` where there is none and none was needed.
    pub home: Option<PathBuf>,
}

impl Paths {
    /// Finds the paths and creates nothing.
    ///
    /// `MIA_HOME` holds everything directly. Without it the XDG base directories are used; empty or
    /// relative ones are ignored, as their specification says. A runtime folder that doesn't exist
    /// is ignored too, and the socket is then with the state.
    ///
    /// # Errors
    ///
    /// No home to be found, a `MIA_HOME` that is not a folder, or a relative one without a working
    /// directory.
    pub fn discover(around: &Surroundings<'_>) -> Result<Self, PathsError> {
        let absolute = |name: &str| {
            (around.var)(name).map(PathBuf::from).filter(|path: &PathBuf| path.is_absolute())
        };
        let home =
            absolute("HOME").or_else(|| (around.account_home)().filter(|path| path.is_absolute()));
        if let Some(mia_home) = (around.var)("MIA_HOME").filter(|value| !value.is_empty()) {
            let root = mia_home_root(PathBuf::from(mia_home), around)?;
            return Ok(Self::below(&root, &root, root.clone(), home));
        }
        let base = |variable: &str, default: &str| {
            let in_home = || home.as_ref().map(|home| home.join(default));
            absolute(variable).or_else(in_home).map(|base| base.join("mia"))
        };
        let config = base("XDG_CONFIG_HOME", ".config").ok_or(PathsError::NoHome)?;
        let state = base("XDG_STATE_HOME", ".local/state").ok_or(PathsError::NoHome)?;
        let runtime = absolute("XDG_RUNTIME_DIR")
            .filter(|path| path.is_dir())
            .map_or_else(|| state.clone(), |path| path.join("mia"));
        Ok(Self::below(&config, &state, runtime, home))
    }

    fn below(config: &Path, state: &Path, runtime: PathBuf, home: Option<PathBuf>) -> Self {
        Self {
            config_file: config.join("config.yaml"),
            plugins_dir: config.join("plugins"),
            key_file: config.join("key"),
            config_dir: config.into(),
            database: state.join("mia.db"),
            runs_dir: state.join("runs"),
            logs_dir: state.join("logs"),
            agents_dir: state.join("agents"),
            socket: socket(&[&runtime, state], state),
            state_dir: state.into(),
            home,
        }
    }

    /// Creates the state folder, 0700, when it is missing. Call it before the first write, not
    /// before a read. Calling it again, or from several processes at once, does no harm.
    ///
    /// # Errors
    ///
    /// The folder that can't be made, or what is in its place.
    pub fn ensure_state(&self) -> Result<(), PathsError> {
        ensure_folder(&self.state_dir)
    }

    /// Creates the configuration folder, 0700, when it is missing; as [`Paths::ensure_state`].
    ///
    /// # Errors
    ///
    /// The folder that can't be made, or what is in its place.
    pub fn ensure_config(&self) -> Result<(), PathsError> {
        ensure_folder(&self.config_dir)
    }

    /// Creates the folder of the socket, 0700, when it is missing, and refuses one that another
    /// user owns or may write to: a short path lies in a folder that everybody can write to. A link
    /// to such a folder is refused as well.
    ///
    /// # Errors
    ///
    /// The folder that can't be made or is not private.
    pub fn ensure_socket_dir(&self) -> Result<(), PathsError> {
        let Some(folder) = self.socket.parent() else {
            return Ok(());
        };
        ensure_folder(folder)?;
        let failed = |source| PathsError::Create { path: folder.into(), source };
        let itself = fs::symlink_metadata(folder).map_err(failed)?;
        let is = fs::metadata(folder).map_err(failed)?;
        let user = rustix::process::geteuid().as_raw();
        let mine = itself.uid() == user && is.uid() == user;
        let linked_into_shared = itself.is_symlink() && folder.parent() == Some(shared_dir());
        if !mine || linked_into_shared || is.mode() & 0o022 != 0 {
            return Err(PathsError::NotPrivate(folder.into()));
        }
        Ok(())
    }
}

fn mia_home_root(path: PathBuf, around: &Surroundings<'_>) -> Result<PathBuf, PathsError> {
    if path.as_os_str().as_bytes().starts_with(b"~") {
        return Err(PathsError::Tilde(path));
    }
    let root = if path.is_absolute() {
        path
    } else {
        match (around.cwd)() {
            Ok(cwd) => cwd.join(path),
            Err(source) => return Err(PathsError::NoWorkingDirectory { path, source }),
        }
    };
    // Only what surely is something else: a folder that can't be seen may yet be readable in part.
    match fs::metadata(&root) {
        Ok(metadata) if !metadata.is_dir() => Err(PathsError::NotAFolder(root)),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            Err(PathsError::NotAFolder(root))
        }
        _ => Ok(root),
    }
}

pub(crate) fn ensure_folder(path: &Path) -> Result<(), PathsError> {
    match DirBuilder::new().recursive(true).mode(0o700).create(path) {
        Ok(()) => Ok(()),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory
            ) =>
        {
            Err(PathsError::NotAFolder(path.into()))
        }
        Err(source) => Err(PathsError::Create { path: path.into(), source }),
    }
}

fn shared_dir() -> &'static Path {
    Path::new("/tmp")
}

/// The first folder whose socket's path is short enough; at last one below `/tmp`, told apart by
/// user and state folder.
fn socket(folders: &[&Path], state: &Path) -> PathBuf {
    folders
        .iter()
        .map(|folder| folder.join("daemon.sock"))
        .find(|path| path.as_os_str().len() <= MAX_SOCKET_PATH)
        .unwrap_or_else(|| {
            let user = rustix::process::geteuid().as_raw();
            let hash = fnv1a(state.as_os_str().as_bytes());
            shared_dir().join(format!("mia-{user}-{hash:016x}")).join("daemon.sock")
        })
}

/// The same in every process and version, unlike the standard library's hashers.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
