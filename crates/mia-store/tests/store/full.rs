//! No space left: an error that says so, nothing lost, and the store goes on (M-70).

use mia_api::EventBody;
use mia_store::{Accepted, Filter, OpenOptions, Store, StoreErrorKind};
use pretty_assertions::assert_eq;

use crate::fixture::{Home, Sequence, id, new_task, ok, result, start};

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
