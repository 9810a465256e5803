//! The versions of the tables, and the way from one to the next.

use std::fs;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Executor, Row};

use crate::{StoreError, StoreErrorKind};

/// Steps from each version of the tables to the next; the first makes version 1 of nothing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Steps(&'static [&'static str]);

/// The steps of this program.
pub(crate) const STEPS: Steps = Steps(&[
    include_str!("../migrations/0001_first.sql"),
    include_str!("../migrations/0002_retention.sql"),
]);

impl Steps {
    /// The version that they lead to.
    pub(crate) const fn newest(self) -> i64 {
        self.0.len() as i64
    }
}

/// "MiaS": how a database of ours is told from any other SQLite file.
const APPLICATION: i64 = 0x4d69_6153;

/// How long two processes that create the same file may be in each other's way.
const CREATION: Duration = Duration::from_secs(10);

/// What an opened database holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Version {
    /// Nothing yet.
    Empty,
    /// Tables of that older version.
    Older(i64),
    /// The newest.
    Current,
}

/// Reads the version.
///
/// # Errors
/// Also for a database of a newer or another program.
pub(crate) async fn version(
    path: &Path,
    connection: &mut SqliteConnection,
    steps: Steps,
) -> Result<Version, StoreError> {
    let known = steps.newest();
    // Reading the schema makes SQLite parse all of it: half of what a damaged file can show.
    let row = sqlx::query(
        "SELECT (SELECT user_version FROM pragma_user_version), \
                (SELECT application_id FROM pragma_application_id), \
                (SELECT count(*) FROM sqlite_schema)",
    )
    .fetch_one(connection)
    .await
    .map_err(|error| StoreError::from_sqlx(path, error))?;
    let (found, application, tables): (i64, i64, i64) = (row.get(0), row.get(1), row.get(2));
    match (application, found) {
        (0, 0) if tables == 0 => Ok(Version::Empty),
        (APPLICATION, _) if found > known => {
            Err(StoreError::NewerSchema { path: path.to_owned(), found, known })
        }
        (APPLICATION, _) if found == known => Ok(Version::Current),
        (APPLICATION, 1..) => Ok(Version::Older(found)),
        _ => Err(StoreError::Corrupt {
            path: path.to_owned(),
            detail: "it is the database of another program".to_owned(),
        }),
    }
}

/// Creates or migrates the tables where needed. Of several processes one does it, the others find
/// it done.
pub(crate) async fn bring_up_to_date(
    path: &Path,
    connection: &mut SqliteConnection,
    options: &SqliteConnectOptions,
    steps: Steps,
) -> Result<(), StoreError> {
    match version(path, connection, steps).await? {
        Version::Current => Ok(()),
        Version::Empty => {
            into_wal_mode(path, connection).await?;
            migrate(path, connection, options, steps).await
        }
        Version::Older(_) => migrate(path, connection, options, steps).await,
    }
}

/// Turns a new file to write-ahead logging. SQLite doesn't wait when another process does the same
/// at this moment, so this does.
async fn into_wal_mode(path: &Path, connection: &mut SqliteConnection) -> Result<(), StoreError> {
    let begun = Instant::now();
    loop {
        // Freed pages can then be given back in small steps.
        let done = connection
            .execute(sqlx::raw_sql("PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL"))
            .await
            .map_err(|error| StoreError::from_sqlx(path, error));
        match done {
            Err(error) if error.kind() == StoreErrorKind::Locked && begun.elapsed() < CREATION => {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            other => return other.map(drop),
        }
    }
}

async fn migrate(
    path: &Path,
    connection: &mut SqliteConnection,
    options: &SqliteConnectOptions,
    steps: Steps,
) -> Result<(), StoreError> {
    let to = steps.newest();
    let failed = |error| StoreError::from_sqlx(path, error);
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await.map_err(failed)?;
    // Now nobody else can migrate; somebody may just have.
    let from = match version(path, &mut transaction, steps).await? {
        Version::Current => return transaction.rollback().await.map_err(failed),
        Version::Empty => 0,
        Version::Older(found) => found,
    };
    let explain =
        |reason: String| StoreError::Migration { path: path.to_owned(), from, to, reason };
    let backup = match from {
        0 => None,
        _ => Some(back_up(path, from, options).await.map_err(|error| match error.kind() {
            StoreErrorKind::DiskFull => error,
            _ => explain(format!("no backup could be made: {error}")),
        })?),
    };
    let done = async {
        let missing = steps.0.iter().skip(usize::try_from(from).unwrap_or(usize::MAX));
        for step in missing {
            transaction.execute(sqlx::raw_sql(*step)).await?;
        }
        let mark = format!("PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {to}");
        transaction.execute(sqlx::raw_sql(AssertSqlSafe(mark))).await?;
        transaction.commit().await
    }
    .await;
    done.map_err(|error| {
        // The database is as it was, so the copy is of no use and must not pile up.
        if let Some(backup) = backup {
            let _ = fs::remove_file(backup);
        }
        match StoreError::from_sqlx(path, error) {
            StoreError::Database { source, .. } => explain(source.to_string()),
            known => known,
        }
    })
}

/// The most backups of one version: a migration that is killed each time is not to fill the disk.
const BACKUPS: usize = 3;

/// Removes copies that somebody was killed over, and all but the newest backups of that version, so
/// that one more makes [`BACKUPS`]. The caller has the write lock, so nobody else makes one.
fn tidy(path: &Path, version: i64) {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name().and_then(|n| n.to_str()))
    else {
        return;
    };
    let Ok(entries) = fs::read_dir(folder) else { return };
    let kept = format!("{name}.backup-v{version}");
    let mut backups = Vec::new();
    for entry in entries.flatten() {
        let found = entry.file_name();
        let Some(found) = found.to_str() else { continue };
        let number = found.strip_prefix(&kept).and_then(|rest| match rest {
            "" => Some(1),
            _ => rest.strip_prefix('.').and_then(|number| number.parse::<u32>().ok()),
        });
        if number.is_some() {
            let changed = entry.metadata().and_then(|about| about.modified()).ok();
            backups.push((changed, number, entry.path()));
        } else if found.starts_with(&format!("{name}.backup-")) && found.contains(".unfinished") {
            // With the journal that SQLite has beside it.
            let _ = fs::remove_file(entry.path());
        }
    }
    backups.sort();
    for (_, _, oldest) in backups.iter().take((backups.len() + 1).saturating_sub(BACKUPS)) {
        let _ = fs::remove_file(oldest);
    }
}

/// Copies the database, whole and checked, to `mia.db.backup-v<version>` beside it, or to the first
/// such name with a number after it that is free. The caller has the write lock.
async fn back_up(
    path: &Path,
    version: i64,
    options: &SqliteConnectOptions,
) -> Result<PathBuf, StoreError> {
    tidy(path, version);
    let unfinished = beside(path, &format!(".backup-{}.unfinished", uuid::Uuid::now_v7()));
    let made = copy_to(path, &unfinished, version, options).await;
    let kept = made.and_then(|()| keep(path, &unfinished, version));
    if kept.is_err() {
        let _ = fs::remove_file(&unfinished);
    }
    kept
}

async fn copy_to(
    path: &Path,
    copy: &Path,
    version: i64,
    options: &SqliteConnectOptions,
) -> Result<(), StoreError> {
    let broken =
        |what: &str| StoreError::Corrupt { path: copy.to_owned(), detail: what.to_owned() };
    // SQLite writes into an empty file that is there, and leaves its permissions.
    let file = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(copy)
        .map_err(|error| StoreError::from_io(copy, error))?;
    let name = copy.to_str().ok_or_else(|| broken("its name is not UTF-8"))?;

    let failed = |error| StoreError::from_sqlx(path, error);
    let mut reader = options.connect().await.map_err(failed)?;
    sqlx::query("VACUUM INTO $1").bind(name).execute(&mut reader).await.map_err(failed)?;
    reader.close().await.map_err(failed)?;

    let failed = |error| StoreError::from_sqlx(copy, error);
    let check = SqliteConnectOptions::new().filename(copy).read_only(true).immutable(true);
    let mut check = check.disable_statement_logging().connect().await.map_err(failed)?;
    let row = sqlx::query("PRAGMA quick_check(1)").fetch_one(&mut check).await.map_err(failed)?;
    let verdict: String = row.get(0);
    let row = sqlx::query("PRAGMA user_version").fetch_one(&mut check).await.map_err(failed)?;
    let copied: i64 = row.get(0);
    check.close().await.map_err(failed)?;
    if verdict != "ok" || copied != version {
        return Err(broken(&verdict));
    }
    file.sync_all().map_err(|error| StoreError::from_io(copy, error))
}

/// Gives the copy a name that is not taken: a hard link never replaces a file.
fn keep(path: &Path, copy: &Path, version: i64) -> Result<PathBuf, StoreError> {
    let names = std::iter::once(String::new()).chain((2..1000).map(|n| format!(".{n}")));
    for number in names {
        let name = beside(path, &format!(".backup-v{version}{number}"));
        match fs::hard_link(copy, &name) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(StoreError::from_io(&name, error)),
            Ok(()) => {
                let _ = fs::remove_file(copy);
                return Ok(name);
            }
        }
    }
    Err(StoreError::Io {
        path: beside(path, &format!(".backup-v{version}")),
        source: std::io::Error::other("1000 backups of this version are there; remove some"),
    })
}

/// The path with something after its name.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::{OpenOptions, Store};

    const NEXT: Steps =
        Steps(&[STEPS.0[0], STEPS.0[1], "ALTER TABLE conversations ADD COLUMN name TEXT"]);
    const BROKEN: Steps = Steps(&[
        STEPS.0[0],
        STEPS.0[1],
        "ALTER TABLE conversations ADD COLUMN name TEXT; INSERT INTO nowhere VALUES (1)",
    ]);

    async fn database(folder: &Path) -> PathBuf {
        let path = folder.join("mia.db");
        let store = Store::open(&path, OpenOptions::default()).await.unwrap();
        let owner = store.owner().unwrap();
        let task = crate::NewTask {
            task_id: "t".parse().unwrap(),
            conversation_id: "c".parse().unwrap(),
            prompt: "hello".to_owned(),
            plugin: None,
            model: None,
            cwd: "/".into(),
            queue_limit: None,
        };
        store.accept(&task, &owner).await.unwrap();
        store.close().await;
        path
    }

    fn options(path: &Path) -> SqliteConnectOptions {
        SqliteConnectOptions::new().filename(path).busy_timeout(Duration::from_secs(10))
    }

    async fn bring(path: &Path, steps: Steps) -> Result<(), StoreError> {
        let options = options(path);
        let mut connection = options.connect().await.unwrap();
        let done = bring_up_to_date(path, &mut connection, &options, steps).await;
        connection.close().await.unwrap();
        done
    }

    fn backups(path: &Path) -> Vec<String> {
        let names = fs::read_dir(path.parent().unwrap()).unwrap();
        let mut names: Vec<String> =
            names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.retain(|name| name.contains("backup"));
        names.sort();
        names
    }

    async fn count(path: &Path, sql: &'static str) -> i64 {
        let mut connection = options(path).connect().await.unwrap();
        let count = sqlx::query(sql).fetch_one(&mut connection).await.unwrap().get(0);
        connection.close().await.unwrap();
        count
    }

    #[tokio::test]
    async fn a_migration_is_preceded_by_a_backup_of_the_old_version() {
        let folder = tempfile::tempdir().unwrap();
        let path = database(folder.path()).await;
        bring(&path, NEXT).await.unwrap();
        assert_eq!(backups(&path), ["mia.db.backup-v2"]);
        assert_eq!(count(&path, "SELECT count(name) + count(*) FROM conversations").await, 1);
        let backup = folder.path().join("mia.db.backup-v2");
        assert_eq!(fs::metadata(&backup).unwrap().permissions().mode() & 0o777, 0o600);
        // The backup is a database of the version before, and works as one.
        let store = Store::open(&backup, OpenOptions::default()).await.unwrap();
        assert_eq!(store.turns(&"c".parse().unwrap()).await.unwrap(), 1);
    }

    #[tokio::test]
    async fn a_backup_never_replaces_another() {
        let folder = tempfile::tempdir().unwrap();
        let path = database(folder.path()).await;
        fs::write(folder.path().join("mia.db.backup-v2"), "precious").unwrap();
        bring(&path, NEXT).await.unwrap();
        assert_eq!(backups(&path), ["mia.db.backup-v2", "mia.db.backup-v2.2"]);
        assert_eq!(fs::read(folder.path().join("mia.db.backup-v2")).unwrap(), b"precious");
    }

    #[tokio::test]
    async fn backups_and_what_the_killed_left_do_not_pile_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = database(folder.path()).await;
        let name = |end: &str| folder.path().join(format!("mia.db.backup-{end}"));
        for (end, age) in [("v2", 50), ("v2.2", 40), ("v2.7", 30), ("v2.9", 20), ("v1", 90)] {
            let file = fs::File::create(name(end)).unwrap();
            let then = std::time::SystemTime::now() - Duration::from_secs(age);
            file.set_modified(then).unwrap();
        }
        fs::write(name("0198.unfinished"), "half").unwrap();
        fs::write(name("v2.mine"), "not one of ours").unwrap();
        bring(&path, NEXT).await.unwrap();
        let left =
            ["v1", "v2", "v2.7", "v2.9", "v2.mine"].map(|end| format!("mia.db.backup-{end}"));
        assert_eq!(backups(&path), left);
        assert!(fs::metadata(name("v2")).unwrap().len() > 0, "the new one");
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn of_many_that_open_at_once_one_migrates() {
        let folder = tempfile::tempdir().unwrap();
        let path = database(folder.path()).await;
        let opened = (0..8).map(|_| {
            let path = path.clone();
            tokio::spawn(async move { bring(&path, NEXT).await })
        });
        for done in futures::future::join_all(opened).await {
            done.unwrap().unwrap();
        }
        assert_eq!(backups(&path), ["mia.db.backup-v2"]);
    }

    #[tokio::test]
    async fn a_migration_that_fails_leaves_the_database_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = database(folder.path()).await;
        let error = bring(&path, BROKEN).await.unwrap_err();
        let text = error.to_string();
        assert!(text.contains("from format 2 to 3: ") && text.contains("nowhere"), "{text}");
        assert_eq!(backups(&path), Vec::<String>::new());
        let store = Store::open(&path, OpenOptions::default()).await.unwrap();
        assert_eq!(store.turns(&"c".parse().unwrap()).await.unwrap(), 1);
    }

    #[tokio::test]
    async fn a_newer_database_is_refused_and_not_touched() {
        let folder = tempfile::tempdir().unwrap();
        let path = database(folder.path()).await;
        bring(&path, NEXT).await.unwrap();
        let before = fs::read(&path).unwrap();
        for options in [OpenOptions::default(), OpenOptions::read()] {
            let error = Store::open(&path, options).await.unwrap_err();
            assert_eq!(error.kind(), StoreErrorKind::NewerSchema);
            assert!(error.to_string().contains("made by a newer mia (format 3, this one knows 2)"));
        }
        assert_eq!(fs::read(&path).unwrap(), before);
    }
}
