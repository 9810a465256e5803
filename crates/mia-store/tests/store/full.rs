//! No space left: an error that says so, nothing lost, and the store goes on (M-70).

use mia_api::EventBody;
use mia_store::{Accepted, Deleted, Filter, OpenOptions, Store, StoreErrorKind};
use pretty_assertions::assert_eq;

use crate::fixture::{Home, Sequence, SmallDisk, id, new_task, ok, result, start, talk};

#[tokio::test]
async fn m_070_a_full_disk_stops_recording_and_nothing_else() {
    let home = Home::new();
    let limited = OpenOptions { max_size: Some(512 * 1024), ..OpenOptions::default() };
    let store = Store::open(&home.path, limited).await.unwrap();
    let owner = store.owner().unwrap();
    let claim = start(&store, &owner, "t", "c").await;
    let mut sequence = Sequence::new("t");
    let mut said = String::new();
    let failed = loop {
        let batch = [sequence.next(EventBody::token("word ".repeat(5000)))];
        match store.record(&id("t"), &batch).await {
            Ok(()) => said.push_str(&"word ".repeat(5000)),
            Err(error) => {
                assert_eq!(error.kind(), StoreErrorKind::DiskFull, "{error}");
                assert!(error.to_string().contains("no space is left"), "{error}");
                break batch;
            }
        }
        assert!(said.len() < 1024 * 1024, "the limit has no effect");
    };
    // Whatever is asked of it again and again, it answers.
    let mut large = new_task("t2", "d");
    large.prompt = "large ".repeat(10_000);
    for _ in 0..3 {
        let error = store.record(&id("t"), &failed).await.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::DiskFull);
        let error = store.accept(&large, &owner).await.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::DiskFull);
        assert_eq!(store.recent(&Filter::default()).await.unwrap().len(), 1);
        let page = store.events(&id("t"), Default::default(), usize::MAX).await.unwrap();
        let kept: String = page
            .events
            .iter()
            .map(|event| match &event.body {
                EventBody::Token { text, .. } => text.as_str(),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(kept, said);
    }
    // With space again the same batch goes on record, and the task ends.
    let roomy = home.open().await;
    roomy.record(&id("t"), &failed).await.unwrap();
    said.push_str(&"word ".repeat(5000));
    assert!(matches!(roomy.accept(&large, &owner).await.unwrap(), Accepted::New { .. }));
    roomy.finish(&claim, ok(&result("t", "c", &said))).await.unwrap();
    assert_eq!(roomy.task(&id("t")).await.unwrap().unwrap().result.unwrap().content, said);
}

/// Records until there is no room. Returns the batch that there was no room for.
async fn fill(store: &Store, task: &str, sequence: &mut Sequence) -> [mia_api::Event; 1] {
    for _ in 0..1000 {
        let batch = [sequence.next(EventBody::token("word ".repeat(5000)))];
        if let Err(error) = store.record(&id(task), &batch).await {
            assert_eq!(error.kind(), StoreErrorKind::DiskFull, "{error}");
            return batch;
        }
    }
    panic!("it is never full");
}

#[tokio::test]
async fn m_070_what_goes_off_the_record_makes_room_for_the_same_store() {
    let home = Home::new();
    let limited = OpenOptions { max_size: Some(1024 * 1024), ..OpenOptions::default() };
    let store = Store::open(&home.path, limited).await.unwrap();
    let owner = store.owner().unwrap();
    let claim = start(&store, &owner, "t1", "old").await;
    let text = Sequence::all("t1", [EventBody::token("old ".repeat(50_000))]);
    store.record(&id("t1"), &text).await.unwrap();
    store.finish(&claim, ok(&result("t1", "old", ""))).await.unwrap();
    start(&store, &owner, "t2", "new").await;
    let mut sequence = Sequence::new("t2");
    let left = fill(&store, "t2", &mut sequence).await;
    let deleted = store.delete_conversation(&talk("old")).await.unwrap();
    assert_eq!(deleted, Deleted::Now { tasks: 1 });
    store.record(&id("t2"), &left).await.unwrap();
    // And by retention, which leaves what runs.
    let left = fill(&store, "t2", &mut sequence).await;
    assert_eq!(store.prune(None, Some(1)).await.unwrap().tasks, 0);
    assert_eq!(store.record(&id("t2"), &left).await.unwrap_err().kind(), StoreErrorKind::DiskFull);
    store.check().await.unwrap();
}

#[tokio::test]
async fn m_070_a_disk_that_has_room_again_is_used_by_the_same_store() {
    let home = Home::new();
    // Only who may mount can have a small disk.
    let Some(disk) = SmallDisk::mount(home.folder.path(), "2m") else { return };
    let path = disk.folder.join("mia.db");
    let store = Store::open(&path, OpenOptions::default()).await.unwrap();
    let owner = store.owner().unwrap();
    let claim = start(&store, &owner, "t", "c").await;
    let left = fill(&store, "t", &mut Sequence::new("t")).await;
    assert!(store.task(&id("t")).await.unwrap().is_some());
    // What opens it now can read it.
    let reading = Store::open(&path, OpenOptions::read()).await.unwrap();
    assert!(!reading.recent(&Filter::default()).await.unwrap().is_empty());
    disk.resize("32m");
    store.record(&id("t"), &left).await.unwrap();
    store.finish(&claim, ok(&result("t", "c", "?"))).await.unwrap();
    store.check().await.unwrap();
    reading.close().await;
    store.close().await;
}

#[tokio::test]
async fn m_070_a_database_on_a_full_disk_can_be_read() {
    let home = Home::new();
    // Only who may mount can have a small disk.
    let Some(disk) = SmallDisk::mount(home.folder.path(), "2m") else { return };
    let path = disk.folder.join("mia.db");
    let store = Store::open(&path, OpenOptions::default()).await.unwrap();
    let owner = store.owner().unwrap();
    store.accept(&new_task("t", "c"), &owner).await.unwrap();
    drop(owner);
    store.close().await;
    let mut file = std::fs::File::create(disk.folder.join("large")).unwrap();
    while std::io::Write::write(&mut file, &[1; 4096]).is_ok() {}
    let outcome = Store::open(&path, OpenOptions::default()).await;
    assert_eq!(outcome.map(drop).unwrap_err().kind(), StoreErrorKind::DiskFull);
    let reading = Store::open(&path, OpenOptions::read()).await.unwrap();
    assert_eq!(reading.recent(&Filter::default()).await.unwrap().len(), 1);
    reading.close().await;
    drop(file);
    std::fs::remove_file(disk.folder.join("large")).unwrap();
    let store = Store::open(&path, OpenOptions::default()).await.unwrap();
    store.owner().unwrap();
    store.close().await;
}
