//! Why the store could not do something.

use std::io;
use std::path::{Path, PathBuf};

use mia_api::TaskId;

use mia_api::TaskStatus;

/// Why the store could not do something. `Display` is a lower-case fragment that fits after
/// "failed to open the history: ", and says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// No space is left, or the size limit is reached. What was written before can be read.
    #[error("no space is left for {}; free some, then try again", path.display())]
    DiskFull {
        /// The database.
        path: PathBuf,
    },
    /// The file or its folder can't be written.
    #[error("{} can't be written; check the permissions of the file and its folder", path.display())]
    ReadOnly {
        /// The database.
        path: PathBuf,
    },
    /// Another process kept the database for longer than the busy timeout.
    #[error("{} is locked by another process; try again, or see which one has it open", path.display())]
    Locked {
        /// The database.
        path: PathBuf,
    },
    /// The file is damaged or is no database of Mia. It was left as it is.
    #[error(
        "{} is not a usable database of Mia ({detail}); it was not changed: move it aside to start afresh, or put a backup in its place", path.display()
    )]
    Corrupt {
        /// The database.
        path: PathBuf,
        /// What is wrong with it.
        detail: String,
    },
    /// A newer Mia made the file. It was left as it is.
    #[error(
        "{} was made by a newer mia (format {found}, this one knows {known}); update mia, or use another state folder", path.display()
    )]
    NewerSchema {
        /// The database.
        path: PathBuf,
        /// The version of its tables.
        found: i64,
        /// The newest version that this program knows.
        known: i64,
    },
    /// The file can't even be read.
    #[error("no permission to open {}; check the owner and permissions of the file and its folder", path.display())]
    Permission {
        /// The file.
        path: PathBuf,
    },
    /// There is no database yet, and it was opened only to read.
    #[error("{} does not exist yet; it is made with the first prompt", path.display())]
    Missing {
        /// The database.
        path: PathBuf,
    },
    /// A migration was needed and not done. The database is as it was.
    #[error("{} could not be brought from format {from} to {to}: {reason}", path.display())]
    Migration {
        /// The database.
        path: PathBuf,
        /// The version that it has.
        from: i64,
        /// The version that is needed.
        to: i64,
        /// What went wrong.
        reason: String,
    },
    /// The id of the task is taken by another prompt or conversation.
    #[error(
        "task {task} is already on record with another prompt or conversation; choose another id"
    )]
    TaskConflict {
        /// The task.
        task: TaskId,
    },
    /// No such task is on record.
    #[error("no task {task} is on record")]
    UnknownTask {
        /// The task.
        task: TaskId,
    },
    /// The task is not in the state that is needed.
    #[error("task {task} is {status}")]
    WrongStatus {
        /// The task.
        task: TaskId,
        /// Its status.
        status: TaskStatus,
    },
    /// The task was taken from its owner, who was thought dead; what it says is not recorded.
    #[error("task {task} was ended by another process, which found its owner gone")]
    Stale {
        /// The task.
        task: TaskId,
    },
    /// A file beside the database could not be used.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Something on record can't be understood.
    #[error("a record in {} can't be read: {detail}", path.display())]
    BadRecord {
        /// The database.
        path: PathBuf,
        /// Which, and why.
        detail: String,
    },
    /// Anything else that the database says.
    #[error("{}: {source}", path.display())]
    Database {
        /// The database.
        path: PathBuf,
        /// What it says.
        source: sqlx::Error,
    },
}

/// The kinds of [`StoreError`], to decide by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// No space is left.
    DiskFull,
    /// It can be read and not written.
    ReadOnly,
    /// Another process holds it.
    Locked,
    /// It is damaged, or is something else.
    Corrupt,
    /// A newer Mia made it.
    NewerSchema,
    /// It can't be read.
    Permission,
    /// It isn't there.
    Missing,
    /// The request does not fit what is on record.
    Conflict,
    /// Anything else.
    Other,
}

impl StoreError {
    /// The kind.
    #[must_use]
    pub const fn kind(&self) -> StoreErrorKind {
        match self {
            Self::DiskFull { .. } => StoreErrorKind::DiskFull,
            Self::ReadOnly { .. } => StoreErrorKind::ReadOnly,
            Self::Locked { .. } => StoreErrorKind::Locked,
            Self::Corrupt { .. } | Self::BadRecord { .. } => StoreErrorKind::Corrupt,
            Self::NewerSchema { .. } => StoreErrorKind::NewerSchema,
            Self::Permission { .. } => StoreErrorKind::Permission,
            Self::Missing { .. } => StoreErrorKind::Missing,
            Self::TaskConflict { .. }
            | Self::UnknownTask { .. }
            | Self::WrongStatus { .. }
            | Self::Stale { .. } => StoreErrorKind::Conflict,
            Self::Migration { .. } | Self::Io { .. } | Self::Database { .. } => {
                StoreErrorKind::Other
            }
        }
    }

    /// A stable name of the kind, for programs.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self.kind() {
            StoreErrorKind::DiskFull => "store_disk_full",
            StoreErrorKind::ReadOnly => "store_read_only",
            StoreErrorKind::Locked => "store_locked",
            StoreErrorKind::Corrupt => "store_corrupt",
            StoreErrorKind::NewerSchema => "store_newer_schema",
            StoreErrorKind::Permission => "store_permission",
            StoreErrorKind::Missing => "store_missing",
            StoreErrorKind::Conflict => "store_conflict",
            StoreErrorKind::Other => "store_other",
        }
    }

    /// Sorts what SQLite says about the database at `path`.
    pub(crate) fn from_sqlx(path: &Path, source: sqlx::Error) -> Self {
        let path = path.to_owned();
        match &source {
            sqlx::Error::Database(said) => {
                let extended = said.code().and_then(|code| code.parse::<i32>().ok()).unwrap_or(0);
                // The low byte is the primary code of https://www.sqlite.org/rescode.html.
                match (extended & 0xff, extended) {
                    // SQLITE_FULL, and IOERR_SHMSIZE: the WAL's index could not grow.
                    (13, _) | (10, 4874) => Self::DiskFull { path },
                    (8, _) => Self::ReadOnly { path },
                    (5 | 6, _) => Self::Locked { path },
                    (11 | 26, _) => Self::Corrupt { path, detail: said.message().to_owned() },
                    // SQLITE_PERM and SQLITE_CANTOPEN.
                    (3 | 14, _) => Self::Permission { path },
                    _ => Self::Database { path, source },
                }
            }
            sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) => {
                Self::BadRecord { path, detail: source.to_string() }
            }
            _ => Self::Database { path, source },
        }
    }

    /// Sorts what the system says about a file.
    pub(crate) fn from_io(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull { path },
            io::ErrorKind::ReadOnlyFilesystem => Self::ReadOnly { path },
            io::ErrorKind::PermissionDenied => Self::Permission { path },
            _ => Self::Io { path, source },
        }
    }
}
