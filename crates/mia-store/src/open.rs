//! Opening the database, quickly, and telling what is wrong with it.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sqlx::ConnectOptions;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteConnection, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};
use tokio::sync::{Mutex, Notify};

use crate::connection::Shared;
use crate::migration::{self, STEPS, Version};
use crate::{Store, StoreError};

/// The first bytes of every SQLite file.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// What a store is opened for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Access {
    /// Only to read. Nothing is created, migrated or changed; works in a read-only folder and on a
    /// full disk.
    Read,
    /// As `Read`, and no file is made beside it either, where nobody has it open. Somebody who opens
    /// it meanwhile is not seen: when it seems damaged then, look again.
    Look,
    /// To read and write; the file is created when missing.
    #[default]
    Write,
}

/// How a store is opened.
#[derive(Debug, Clone)]
pub struct OpenOptions {
    /// What for.
    pub access: Access,
    /// How long a call waits for another process that writes.
    pub busy_timeout: Duration,
    /// The most bytes that the file may have; more is refused as on a full disk.
    pub max_size: Option<u64>,
    /// The most bytes of one tool's output that are kept (M-70).
    pub tool_output: usize,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            access: Access::Write,
            busy_timeout: Duration::from_secs(10),
            max_size: None,
            tool_output: 16 * 1024 * 1024,
        }
    }
}

impl OpenOptions {
    /// Options to read only.
    #[must_use]
    pub fn read() -> Self {
        Self { access: Access::Read, ..Self::default() }
    }
}

impl Store {
    /// Opens the database at `path`, and creates it (0600) when it is missing and the options allow
    /// to write. Its folder must exist.
    ///
    /// Checks the header and the tables' version, not every page. An older version is migrated,
    /// after a backup beside the file. Owners keep their locks in the folder `owners` beside it.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`], [`StoreError::NewerSchema`], [`StoreError::Migration`],
    /// [`StoreError::Permission`], [`StoreError::ReadOnly`], [`StoreError::Missing`] and what a disk
    /// can do. The file is as it was then.
    pub async fn open(path: impl AsRef<Path>, options: OpenOptions) -> Result<Self, StoreError> {
        let given = path.as_ref();
        // Absolute, so that SQLite never takes it for a URI, and a later chdir moves nothing.
        let path = std::path::absolute(given).map_err(|e| StoreError::from_io(given, e))?;
        match options.access {
            Access::Write => Self::open_to_write(path, options).await,
            Access::Read | Access::Look => Self::open_to_read(path, options).await,
        }
    }

    async fn open_to_write(path: PathBuf, options: OpenOptions) -> Result<Self, StoreError> {
        create(&path)?;
        check_file(&path)?;
        let mut writer_options = base(&path, &options).synchronous(SqliteSynchronous::Normal);
        if let Some(bytes) = options.max_size {
            writer_options =
                writer_options.pragma("max_page_count", (bytes / 4096).max(1).to_string());
        }
        // The WAL is cut back to this after a large transaction.
        let writer_options = writer_options.pragma("journal_size_limit", "16777216");
        let failed = |error| StoreError::from_sqlx(&path, error);
        let mut writer = writer_options.connect().await.map_err(failed)?;
        migration::bring_up_to_date(&path, &mut writer, &writer_options, STEPS).await?;
        let readers = pool(base(&path, &options).read_only(true));
        Ok(Self::assemble(path, options, Some(writer), writer_options, readers))
    }

    async fn open_to_read(path: PathBuf, options: OpenOptions) -> Result<Self, StoreError> {
        check_file(&path)?;
        // Who reads a database with a WAL makes the files that belong to it, and leaves them.
        let alone = options.access == Access::Look && !is_open(&path);
        let reading = base(&path, &options).read_only(true).immutable(alone);
        let mut readers = pool(reading.clone());
        let version = match read_version(&path, &readers).await {
            // A read-only folder or a full disk, where nobody can make the shared memory of the WAL.
            // With nothing in the WAL nobody needs it.
            Err(
                StoreError::Permission { .. }
                | StoreError::ReadOnly { .. }
                | StoreError::DiskFull { .. },
            ) if wal_is_empty(&path) => {
                readers = pool(reading.immutable(true));
                read_version(&path, &readers).await?
            }
            other => other?,
        };
        match version {
            Version::Current => {}
            Version::Empty => return Err(StoreError::Missing { path }),
            Version::Older(found) => {
                return Err(StoreError::Migration {
                    path,
                    from: found,
                    to: STEPS.newest(),
                    reason: "it is opened only to read; send a prompt or start the daemon first"
                        .to_owned(),
                });
            }
        }
        let unused = base(&path, &options);
        Ok(Self::assemble(path, options, None, unused, readers))
    }

    fn assemble(
        path: PathBuf,
        options: OpenOptions,
        writer: Option<SqliteConnection>,
        writer_options: SqliteConnectOptions,
        readers: SqlitePool,
    ) -> Self {
        let owners = path.with_file_name("owners");
        let shared = Shared {
            file: file_id(&path),
            path,
            access: options.access,
            writer: writer.map(|connection| Mutex::new(Some(connection))),
            writer_options,
            readers,
            owners,
            tool_output: options.tool_output,
            turn_ended: Notify::new(),
        };
        Self { shared: Arc::new(shared) }
    }
}

/// What all connections have in common: 2 MiB of page cache, no memory map, no log.
fn base(path: &Path, options: &OpenOptions) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .busy_timeout(options.busy_timeout)
        .pragma("cache_size", "-2000")
        .pragma("mmap_size", "0")
        .disable_statement_logging()
}

/// A few connections, opened when they are needed and closed after a while without use.
fn pool(options: SqliteConnectOptions) -> SqlitePool {
    SqlitePoolOptions::new()
        .min_connections(0)
        .max_connections(4)
        .idle_timeout(Duration::from_secs(60))
        .test_before_acquire(false)
        .connect_lazy_with(options)
}

async fn read_version(path: &Path, readers: &SqlitePool) -> Result<Version, StoreError> {
    let mut reader = readers.acquire().await.map_err(|e| StoreError::from_sqlx(path, e))?;
    migration::version(path, &mut reader, STEPS).await
}

/// Makes the file, for this user only, or narrows the permissions of one that is there (M-70).
fn create(path: &Path) -> Result<(), StoreError> {
    let failed = |error| StoreError::from_io(path, error);
    match fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let permissions = fs::metadata(path).map_err(failed)?.permissions();
            if permissions.mode() & 0o077 != 0 {
                // Not ours to change means not ours to worry about.
                let _ = fs::set_permissions(path, fs::Permissions::from_mode(0o600));
            }
            Ok(())
        }
        Err(error) => Err(failed(error)),
    }
}

/// Finds out by the file alone what is wrong with it. SQLite would take some of it for granted: a
/// file without content beside a WAL with content, or a cut in the last page.
fn check_file(path: &Path) -> Result<(), StoreError> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => StoreError::Missing { path: path.to_owned() },
        _ => StoreError::from_io(path, error),
    };
    let corrupt = |detail: String| StoreError::Corrupt { path: path.to_owned(), detail };
    let about = fs::metadata(path).map_err(failed)?;
    if !about.is_file() {
        return Err(corrupt("it is not a file".to_owned()));
    }
    let mut head = Vec::with_capacity(100);
    File::open(path).map_err(failed)?.take(100).read_to_end(&mut head).map_err(failed)?;
    if head.is_empty() {
        return if wal_is_empty(path) {
            Ok(())
        } else {
            Err(corrupt("it is empty, though there is a -wal file with content".to_owned()))
        };
    }
    if !head.starts_with(MAGIC) {
        return Err(corrupt("it does not begin as a SQLite file does".to_owned()));
    }
    let &[high, low] = head.get(16..18).and_then(|b| b.first_chunk()).unwrap_or(&[0, 0]);
    // 1 stands for 65536.
    let page = match u16::from_be_bytes([high, low]) {
        1 => 65536,
        size => u64::from(size),
    };
    if head.len() < 100 || page < 512 {
        return Err(corrupt("its header is cut off or damaged".to_owned()));
    }
    // With a WAL a part of a page may be the rest of a full disk, and the WAL still has it whole.
    if about.len() % page != 0 && wal_is_empty(path) {
        return Err(corrupt(format!("it is cut off after {} bytes", about.len())));
    }
    Ok(())
}

/// Which file it is, whatever its name.
pub(crate) fn file_id(path: &Path) -> Option<(u64, u64)> {
    fs::metadata(path).ok().map(|about| (about.dev(), about.ino()))
}

/// True when the write-ahead log has no content.
fn wal_is_empty(path: &Path) -> bool {
    fs::metadata(beside(path, "-wal")).map_or(true, |about| about.len() == 0)
}

/// True when somebody has it open, or had it when he was killed: the last one who closes it takes
/// these files away.
fn is_open(path: &Path) -> bool {
    ["-wal", "-shm", "-journal"].iter().any(|end| beside(path, end).exists())
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}
