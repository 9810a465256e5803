//! From the first version of the tables to this one, with what is in them (M-70).

use std::fs;
use std::path::Path;

use mia_api::TaskStatus;
use mia_store::{Filter, OpenOptions, Store, StoreErrorKind};
use pretty_assertions::assert_eq;
use sqlx::Connection;

use crate::fixture::{Home, Probe, SmallDisk, id, talk};

/// A database as the first version left it.
async fn first_version(path: &Path, tasks: u32, prompt: usize) {
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(path).create_if_missing(true);
    let mut raw = sqlx::SqliteConnection::connect_with(&options).await.unwrap();
    let tables = include_str!("../../migrations/0001_first.sql");
    for sql in [
        "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL",
        tables,
        "PRAGMA application_id = 1298751827; PRAGMA user_version = 1",
        "INSERT INTO conversations (id, created_at, updated_at) VALUES ('c', 1, 2)",
    ] {
        sqlx::raw_sql(sql).execute(&mut raw).await.unwrap();
    }
    sqlx::query(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1) \
         INSERT INTO tasks (id, conversation_id, status, owner, plugin, created_at, ended_at, \
         input_tokens, output_tokens, cwd, prompt) SELECT 't' || i, 'c', 'completed', 'o', 'fake', \
         i, i, 10, 1, CAST('/work' AS BLOB), HEX(ZEROBLOB($2)) FROM n",
    )
    .bind(tasks)
    .bind(i64::try_from(prompt / 2).unwrap())
    .execute(&mut raw)
    .await
    .unwrap();
    sqlx::query("INSERT INTO events (task, seq, last_seq, attempt, kind, text) VALUES (1, 1, 1, 0, 'token', 'said')")
        .execute(&mut raw)
        .await
        .unwrap();
    raw.close().await.unwrap();
}

fn backups(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter(|name| name.contains("backup")).collect();
    names.sort();
    names
}

async fn is_whole(store: &Store, tasks: usize) {
    store.check().await.unwrap();
    let filter = Filter { limit: 100_000, prompt_chars: Some(1), ..Filter::default() };
    assert_eq!(store.recent(&filter).await.unwrap().len(), tasks);
    let first = store.task(&id("t1")).await.unwrap().unwrap();
    assert_eq!(first.summary.status, TaskStatus::Completed);
    assert_eq!(store.events(&id("t1"), Default::default(), 100).await.unwrap().events.len(), 1);
    let used = store.usage(None).await.unwrap().rows.pop().unwrap();
    assert_eq!(used.usage.input_tokens, 10 * tasks as u64);
}

#[tokio::test]
async fn m_070_a_first_version_comes_over_with_all_that_is_in_it() {
    let home = Home::new();
    first_version(&home.path, 50, 2000).await;
    // Only to read it is not changed, and says so.
    let error = Store::open(&home.path, OpenOptions::read()).await.unwrap_err();
    assert!(error.to_string().contains("from format 1 to 2"), "{error}");
    let store = home.open().await;
    is_whole(&store, 50).await;
    assert_eq!(store.format(), 2);
    assert!(store.rename_conversation(&talk("c"), Some("old one")).await.unwrap());
    assert_eq!(backups(home.folder.path()), ["mia.db.backup-v1"]);
    store.close().await;
    // The backup is the first version still, and can be brought over in its turn.
    let backup = home.folder.path().join("mia.db.backup-v1");
    let error = Store::open(&backup, OpenOptions::read()).await.unwrap_err();
    assert!(error.to_string().contains("from format 1 to 2"), "{error}");
    is_whole(&Store::open(&backup, OpenOptions::default()).await.unwrap(), 50).await;
}

#[tokio::test]
async fn m_070_of_two_processes_one_brings_it_over() {
    let home = Home::new();
    first_version(&home.path, 2000, 2000).await;
    let path = home.path.to_str().unwrap();
    let both = ["a", "b"].map(|name| Probe::start(&["work", path, name, "1"]));
    for child in both {
        let said = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8(said.stdout).unwrap(), "worked\n");
    }
    assert_eq!(backups(home.folder.path()), ["mia.db.backup-v1"]);
    assert_eq!(home.open().await.turns(&talk("c")).await.unwrap(), 2000);
}

#[tokio::test]
async fn m_070_killed_while_it_is_brought_over_nothing_is_lost() {
    let home = Home::new();
    first_version(&home.path, 3000, 4000).await;
    let path = home.path.to_str().unwrap();
    for round in 0..6 {
        let before = backups(home.folder.path());
        let mut child = Probe::start(&["work", path, "x", "0"]);
        // Killed when the copy appears, and in other rounds when it has its name.
        let has_come = || {
            let new = backups(home.folder.path()).into_iter().find(|name| !before.contains(name));
            new.is_some_and(|name| round % 2 == 0 || !name.contains(".unfinished"))
        };
        while !has_come() && child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    is_whole(&home.open().await, 3000).await;
    let left = backups(home.folder.path());
    assert!(!left.is_empty() && left.len() <= 3, "{left:?}");
    assert!(left.iter().all(|name| !name.contains(".unfinished")), "{left:?}");
}

#[tokio::test]
async fn m_070_without_room_for_the_backup_it_stays_as_it_is() {
    let home = Home::new();
    // Only who may mount can have a small disk.
    let Some(disk) = SmallDisk::mount(home.folder.path(), "3m") else { return };
    let path = disk.folder.join("mia.db");
    first_version(&path, 400, 4000).await;
    let error = Store::open(&path, OpenOptions::default()).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::DiskFull, "{error}");
    assert_eq!(backups(&disk.folder), Vec::<String>::new());
    // With room it goes on as if nothing had been.
    disk.resize("32m");
    let store = Store::open(&path, OpenOptions::default()).await.unwrap();
    is_whole(&store, 400).await;
    assert_eq!(backups(&disk.folder), ["mia.db.backup-v1"]);
    store.close().await;
}
