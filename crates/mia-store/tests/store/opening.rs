//! Opening, and what can be wrong with the file.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use mia_store::{Access, Filter, OpenOptions, Store, StoreError, StoreErrorKind};
use pretty_assertions::assert_eq;

use crate::fixture::{Home, Probe, new_task, public_copy};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

async fn refused(path: &Path) -> StoreError {
    let before = fs::read(path).unwrap();
    for options in [OpenOptions::read(), OpenOptions::default()] {
        let error = Store::open(path, options).await.unwrap_err();
        if error.kind() != StoreErrorKind::Corrupt {
            return error;
        }
    }
    let error = Store::open(path, OpenOptions::default()).await.unwrap_err();
    assert_eq!(fs::read(path).unwrap(), before, "the damaged file was changed");
    error
}

/// A database with some hundred pages, all in the one file.
async fn filled(home: &Home) -> Vec<u8> {
    let store = home.open().await;
    let owner = store.owner().unwrap();
    for number in 0..20 {
        let mut task = new_task(&format!("t{number}"), "c");
        task.prompt = "word ".repeat(10_000);
        store.accept(&task, &owner).await.unwrap();
    }
    store.close().await;
    fs::read(&home.path).unwrap()
}

#[tokio::test]
async fn m_070_all_files_are_the_users_alone() {
    let home = Home::new();
    let store = home.open().await;
    let owner = store.owner().unwrap();
    store.accept(&new_task("t", "c"), &owner).await.unwrap();
    for name in ["mia.db", "mia.db-wal", "mia.db-shm"] {
        assert_eq!(mode(&home.folder.path().join(name)), 0o600, "{name}");
    }
    let owners = home.folder.path().join("owners");
    assert_eq!(mode(&owners), 0o700);
    let lock = owners.join(format!("{}.lock", owner.id().as_str()));
    assert_eq!(mode(&lock), 0o600);
    drop(owner);
    assert!(!lock.exists());
}

#[tokio::test]
async fn m_070_wide_permissions_are_narrowed() {
    let home = Home::new();
    home.open().await.close().await;
    fs::set_permissions(&home.path, fs::Permissions::from_mode(0o644)).unwrap();
    home.open().await.close().await;
    assert_eq!(mode(&home.path), 0o600);
}

#[tokio::test]
async fn an_empty_file_is_a_new_database() {
    let home = Home::new();
    fs::write(&home.path, "").unwrap();
    let error = Store::open(&home.path, OpenOptions::read()).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Missing);
    let store = home.open().await;
    assert_eq!(store.recent(&Filter::default()).await.unwrap(), []);
}

#[tokio::test]
async fn an_empty_file_beside_a_log_with_content_is_refused() {
    let home = Home::new();
    fs::write(&home.path, "").unwrap();
    let wal = home.folder.path().join("mia.db-wal");
    fs::write(&wal, "the only copy").unwrap();
    let error = refused(&home.path).await;
    assert!(error.to_string().contains("-wal file with content"), "{error}");
    assert_eq!(fs::read(&wal).unwrap(), b"the only copy");
}

#[tokio::test]
async fn what_is_no_database_is_refused_and_kept() {
    let home = Home::new();
    for content in ["x", "{\"not\": \"a database\"}", &"garbage ".repeat(10_000)] {
        fs::write(&home.path, content).unwrap();
        let error = refused(&home.path).await;
        assert_eq!(error.kind(), StoreErrorKind::Corrupt);
        let text = error.to_string();
        assert!(
            text.contains(home.path.to_str().unwrap()) && text.contains("move it aside"),
            "{text}"
        );
    }
}

#[tokio::test]
async fn a_folder_in_its_place_is_refused() {
    let home = Home::new();
    fs::create_dir(&home.path).unwrap();
    let error = Store::open(&home.path, OpenOptions::default()).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Corrupt);
}

#[tokio::test]
async fn a_database_cut_off_anywhere_is_refused_and_kept() {
    let home = Home::new();
    let whole = filled(&home).await;
    let cuts = [1, 15, 16, 17, 99, 100, 511, 4095, 4096, 4097, 8192, whole.len() / 2];
    for cut in cuts.into_iter().chain([whole.len() - 4096, whole.len() - 1]) {
        fs::write(&home.path, &whole[..cut]).unwrap();
        let error = refused(&home.path).await;
        assert_eq!(error.kind(), StoreErrorKind::Corrupt, "cut at {cut}: {error}");
    }
}

#[tokio::test]
async fn a_damaged_schema_is_refused_and_kept() {
    let home = Home::new();
    let mut bytes = filled(&home).await;
    bytes[100..4096].fill(0x5a);
    fs::write(&home.path, &bytes).unwrap();
    assert_eq!(refused(&home.path).await.kind(), StoreErrorKind::Corrupt);
}

#[tokio::test]
async fn the_database_of_another_program_is_refused_and_kept() {
    let home = Home::new();
    let mut bytes = filled(&home).await;
    // Its application id, and with it all that says that it is ours.
    bytes[68..72].fill(0);
    fs::write(&home.path, &bytes).unwrap();
    let error = refused(&home.path).await;
    assert!(error.to_string().contains("another program"), "{error}");
}

#[tokio::test]
async fn a_missing_database_is_not_created_to_read() {
    let home = Home::new();
    let error = Store::open(&home.path, OpenOptions::read()).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Missing);
    assert!(!home.path.exists());
}

#[tokio::test]
async fn opened_to_read_it_does_not_write() {
    let home = Home::new();
    let store = home.open().await;
    let owner = store.owner().unwrap();
    let reading = Store::open(&home.path, OpenOptions::read()).await.unwrap();
    assert_eq!(reading.access(), Access::Read);
    let error = reading.accept(&new_task("t", "c"), &owner).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::ReadOnly);
    // It sees what others write.
    store.accept(&new_task("t", "c"), &owner).await.unwrap();
    assert_eq!(reading.recent(&Filter::default()).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_name_that_looks_like_an_option_or_a_uri_is_a_name() {
    let home = Home::new();
    for name in ["file:x?mode=memory", "mia.db?immutable=1", "100%25", "a'b\"c #;"] {
        let path = home.folder.path().join(name);
        Store::open(&path, OpenOptions::default()).await.unwrap().close().await;
        assert!(path.exists(), "{name}");
        Store::open(&path, OpenOptions::read()).await.unwrap();
    }
}

#[tokio::test]
async fn a_read_only_folder_can_be_read_and_says_why_it_can_t_be_written() {
    let home = Home::new();
    let elsewhere = tempfile::tempdir().unwrap();
    let probe = public_copy(elsewhere.path());
    fs::set_permissions(elsewhere.path(), fs::Permissions::from_mode(0o755)).unwrap();
    filled(&home).await;
    fs::set_permissions(&home.path, fs::Permissions::from_mode(0o444)).unwrap();
    fs::set_permissions(home.folder.path(), fs::Permissions::from_mode(0o555)).unwrap();
    let path = home.path.to_str().unwrap();
    assert_eq!(Probe::run_unprivileged(&probe, &["read", path]).line, "read 20");
    let refused = Probe::run_unprivileged(&probe, &["write", path, "t", "c"]).line.clone();
    assert!(
        refused.starts_with("store_read_only ") || refused.starts_with("store_permission "),
        "{refused}"
    );
    fs::set_permissions(&home.path, fs::Permissions::from_mode(0o000)).unwrap();
    let refused = Probe::run_unprivileged(&probe, &["read", path]).line.clone();
    assert!(refused.starts_with("store_permission "), "{refused}");
    fs::set_permissions(home.folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_that_create_at_once_all_get_it() {
    for _ in 0..5 {
        let home = Home::new();
        let opened = (0..8).map(|_| {
            let path = home.path.clone();
            tokio::spawn(async move { Store::open(&path, OpenOptions::default()).await })
        });
        for store in futures::future::join_all(opened).await {
            store.unwrap().unwrap().turns(&"c".parse().unwrap()).await.unwrap();
        }
    }
}

fn look() -> OpenOptions {
    OpenOptions { access: Access::Look, ..OpenOptions::default() }
}

#[tokio::test]
async fn m_071_a_look_makes_no_file_and_sees_what_an_open_one_holds() {
    let home = Home::new();
    filled(&home).await;
    let names = || {
        let entries = fs::read_dir(home.folder.path()).unwrap().flatten();
        let mut names: Vec<_> = entries.map(|entry| entry.file_name()).collect();
        names.sort();
        names
    };
    let before = names();
    let looking = Store::open(&home.path, look()).await.unwrap();
    looking.check().await.unwrap();
    assert_eq!((names(), looking.format()), (before, 2));
    looking.close().await;

    let store = home.open().await;
    let owner = store.owner().unwrap();
    store.accept(&new_task("t", "c"), &owner).await.unwrap();
    let looking = Store::open(&home.path, look()).await.unwrap();
    assert!(looking.task(&crate::fixture::id("t")).await.unwrap().is_some(), "from the WAL");
    looking.check().await.unwrap();
}

#[tokio::test]
async fn m_071_damage_that_opening_does_not_notice_is_found() {
    let home = Home::new();
    let mut bytes = filled(&home).await;
    let middle = bytes.len() / 2 / 4096 * 4096;
    bytes[middle..middle + 4 * 4096].fill(0x5a);
    fs::write(&home.path, &bytes).unwrap();
    for options in [look(), OpenOptions::read()] {
        let store = Store::open(&home.path, options).await.unwrap();
        let error = store.check().await.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Corrupt, "{error}");
        store.close().await;
    }
    assert_eq!(fs::read(&home.path).unwrap(), bytes);
}

#[tokio::test]
async fn m_070_damage_under_an_open_store_is_an_error_each_time() {
    let home = Home::new();
    filled(&home).await;
    let store = home.open().await;
    let owner = store.owner().unwrap();
    store.in_place().unwrap();
    let length = fs::metadata(&home.path).unwrap().len();
    // In place, as a failing disk does it.
    let mut file = fs::OpenOptions::new().write(true).open(&home.path).unwrap();
    std::io::Write::write_all(&mut file, &vec![0x5a; usize::try_from(length).unwrap()]).unwrap();
    for _ in 0..2 {
        let error = store.recent(&Filter::default()).await.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Corrupt, "{error}");
        let error = store.prune(Some(i64::MAX), None).await.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Corrupt, "{error}");
        let error = store.check().await.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Corrupt, "{error}");
        if let Err(error) = store.accept(&new_task("t", "c"), &owner).await {
            assert_eq!(error.kind(), StoreErrorKind::Corrupt, "{error}");
        }
    }
}

#[tokio::test]
async fn m_070_another_file_in_its_place_is_noticed() {
    let home = Home::new();
    filled(&home).await;
    let store = home.open().await;
    fs::rename(&home.path, home.folder.path().join("away")).unwrap();
    assert_eq!(store.in_place().unwrap_err().kind(), StoreErrorKind::Missing);
    fs::write(&home.path, "").unwrap();
    assert_eq!(store.in_place().unwrap_err().kind(), StoreErrorKind::Corrupt);
}

#[tokio::test]
async fn m_070_a_log_left_by_a_killed_one_is_read_in_a_read_only_folder() {
    let home = Home::new();
    let elsewhere = tempfile::tempdir().unwrap();
    let probe = public_copy(elsewhere.path());
    fs::set_permissions(elsewhere.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let path = home.path.to_str().unwrap();
    Probe::run(&["accept", path, "t", "c"]).kill();
    assert!(fs::metadata(home.folder.path().join("mia.db-wal")).unwrap().len() > 0);
    for name in ["mia.db", "mia.db-wal", "mia.db-shm"] {
        let file = home.folder.path().join(name);
        fs::set_permissions(file, fs::Permissions::from_mode(0o444)).unwrap();
    }
    fs::set_permissions(home.folder.path(), fs::Permissions::from_mode(0o555)).unwrap();
    assert_eq!(Probe::run_unprivileged(&probe, &["read", path]).line, "read 1");
    fs::set_permissions(home.folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
}
