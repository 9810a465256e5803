//! What goes off the record, and what stays (M-70).

use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use mia_api::{EventBody, ToolCallInfo};
use mia_store::{Filter, OpenOptions, Owner, Pruned, Session, Store, StoreErrorKind};
use pretty_assertions::assert_eq;
use sqlx::Connection;

use crate::conversations::rows;
use crate::fixture::{Home, Sequence, id, new_task, ok, result, start, talk};

const DAY: i64 = 86_400_000;

/// An ended task of about that many bytes in events.
async fn ended(store: &Store, owner: &Owner, task: &str, conversation: &str, bytes: usize) {
    let claim = start(store, owner, task, conversation).await;
    store.begin_attempt(&id(task), 0, "fake").await.unwrap();
    let mut sequence = Sequence::new(task);
    let call = ToolCallInfo { id: "x".to_owned(), ..ToolCallInfo::default() };
    let mut events = vec![sequence.next(EventBody::ToolCall(call))];
    let mut said = String::new();
    while said.len() < bytes {
        let text = format!("{task} says {} ", said.len()).repeat(300);
        said.push_str(&text);
        events.push(sequence.next(EventBody::token(text)));
    }
    store.record(&id(task), &events).await.unwrap();
    store.finish(&claim, ok(&result(task, conversation, &said))).await.unwrap();
    store
        .put_session(&Session {
            conversation_id: talk(conversation),
            plugin: "fake".to_owned(),
            cwd: None,
            session_id: "s".to_owned(),
            state: serde_json::Value::Null,
        })
        .await
        .unwrap();
}

async fn on_record(store: &Store) -> Vec<String> {
    let filter = Filter { limit: 10_000, ..Filter::default() };
    let tasks = store.recent(&filter).await.unwrap();
    tasks.into_iter().map(|task| task.task_id.to_string()).collect()
}

async fn accepted_at(store: &Store, task: &str) -> i64 {
    store.task(&id(task)).await.unwrap().unwrap().summary.created_at
}

#[tokio::test]
async fn m_070_what_is_old_goes_and_what_waits_or_runs_stays() {
    let home = Home::new();
    let store = home.open().await;
    let owner = store.owner().unwrap();
    ended(&store, &owner, "t1", "gone", 1000).await;
    ended(&store, &owner, "t2", "busy", 1000).await;
    start(&store, &owner, "t3", "busy").await;
    store.accept(&new_task("t4", "busy"), &owner).await.unwrap();
    let now = accepted_at(&store, "t4").await;
    assert_eq!(store.prune(Some(now - DAY), None).await.unwrap(), Pruned::default());
    assert_eq!(store.prune(None, None).await.unwrap(), Pruned::default());
    assert_eq!(on_record(&store).await.len(), 4);

    let pruned = store.prune(Some(now + DAY), Some(1)).await.unwrap();
    assert_eq!((pruned.tasks, pruned.conversations), (2, 1));
    assert_eq!(on_record(&store).await, ["t4", "t3"]);
    assert!(store.sessions_of(&talk("gone")).await.unwrap().is_empty());
    assert_eq!(store.sessions_of(&talk("busy")).await.unwrap().len(), 1, "it goes on");
    let left = [
        ("conversations", 1),
        ("tasks", 2),
        ("events", 0),
        ("attempts", 0),
        ("tool_calls", 0),
        ("sessions", 1),
        ("graves", 0),
    ];
    assert_eq!(rows(&home.path).await, left);
    store.check().await.unwrap();
}

#[tokio::test]
async fn m_070_age_counts_from_acceptance_to_the_millisecond() {
    let home = Home::new();
    let store = home.open().await;
    let owner = store.owner().unwrap();
    ended(&store, &owner, "t1", "a", 10).await;
    let at = accepted_at(&store, "t1").await;
    assert_eq!(store.prune(Some(at), None).await.unwrap().tasks, 0);
    assert_eq!(store.prune(Some(i64::MIN), None).await.unwrap().tasks, 0);
    assert_eq!(store.prune(Some(at + 1), None).await.unwrap().tasks, 1);
    assert_eq!(on_record(&store).await, Vec::<String>::new());
}

#[tokio::test]
async fn m_070_over_the_size_the_oldest_go_and_the_file_shrinks() {
    let home = Home::new();
    let store = home.open().await;
    let owner = store.owner().unwrap();
    for number in 0..40 {
        ended(&store, &owner, &format!("t{number}"), &format!("c{number}"), 100_000).await;
    }
    // All of it in the file, and none in the log.
    store.prune(None, Some(u64::MAX)).await.unwrap();
    let size = || std::fs::metadata(&home.path).unwrap().len();
    let before = size();
    let limit = before / 4;
    let pruned = store.prune(None, Some(limit)).await.unwrap();
    let after = size();
    assert!(after <= limit, "{after} of {before} bytes are left, {limit} were allowed");
    assert!(after > limit / 2, "{after} of {before} bytes are left, {limit} were allowed");
    // The file has pages of SQLite's own, too.
    assert!((before - after).abs_diff(pruned.bytes) < 10 * 4096, "{pruned:?}");
    let left = on_record(&store).await;
    let newest: Vec<_> =
        (0..40).rev().take(left.len()).map(|number| format!("t{number}")).collect();
    assert_eq!(left, newest);
    assert_eq!(pruned.tasks + left.len() as u64, 40);
    let wal = std::fs::metadata(home.folder.path().join("mia.db-wal")).unwrap().len();
    assert_eq!(wal, 0, "the log was not given back");
    for task in left {
        assert!(store.task(&id(&task)).await.unwrap().unwrap().result.unwrap().content.len() > 9);
    }
    store.check().await.unwrap();
}

#[tokio::test]
async fn m_070_dropped_anywhere_the_record_is_whole_and_the_next_one_goes_on() {
    let home = Home::new();
    let store = home.open().await;
    let owner = store.owner().unwrap();
    let first = 3_000_000;
    for (task, bytes) in [("t1", first), ("t2", 10), ("t3", 2_000_000), ("t4", 10)] {
        ended(&store, &owner, task, task, bytes).await;
    }
    let mut polls = 1;
    loop {
        let mut left = polls;
        let finished = {
            let mut pruning = pin!(store.prune(Some(i64::MAX), None));
            std::future::poll_fn(|context| match pruning.as_mut().poll(context) {
                Poll::Ready(done) => Poll::Ready(Some(done)),
                Poll::Pending if left == 0 => Poll::Ready(None),
                Poll::Pending => {
                    left -= 1;
                    Poll::Pending
                }
            })
            .await
        };
        if let Some(done) = finished {
            done.unwrap();
            break;
        }
        // What is listed is there in full, and the store can be used at once.
        for task in on_record(&store).await.into_iter().filter(|task| task != "new") {
            // A step that was under way may have ended since they were listed.
            let Some(record) = store.task(&id(&task)).await.unwrap() else {
                assert!(!on_record(&store).await.contains(&task));
                continue;
            };
            let least = if task == "t1" { first } else { 10 };
            assert!(record.result.unwrap().content.len() >= least);
            assert_eq!((record.attempts.len(), record.tools.len()), (1, 1));
        }
        store.accept(&new_task("new", "new"), &owner).await.unwrap();
        polls += 3;
    }
    assert_eq!(on_record(&store).await, ["new"]);
    let rows = rows(&home.path).await;
    assert_eq!(rows.iter().find(|(table, _)| *table == "events").unwrap().1, 0);
    assert_eq!(rows.iter().find(|(table, _)| *table == "graves").unwrap().1, 0);
    store.check().await.unwrap();
}

#[tokio::test]
async fn m_070_a_place_with_events_in_it_is_not_given_away() {
    let home = Home::new();
    let store = home.open().await;
    let owner = store.owner().unwrap();
    ended(&store, &owner, "t1", "c", 10).await;
    // As it is when somebody is killed between the steps.
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(&home.path);
    let mut raw = sqlx::SqliteConnection::connect_with(&options.foreign_keys(false)).await.unwrap();
    for sql in ["INSERT INTO graves SELECT place FROM tasks", "DELETE FROM tasks"] {
        sqlx::query(sql).execute(&mut raw).await.unwrap();
    }
    raw.close().await.unwrap();
    ended(&store, &owner, "t2", "c", 10).await;
    let content = store.task(&id("t2")).await.unwrap().unwrap().result.unwrap().content;
    assert!(!content.contains("t1"));
    store.prune(None, None).await.unwrap();
    assert_eq!(store.task(&id("t2")).await.unwrap().unwrap().result.unwrap().content, content);
    let kept = store.events(&id("t2"), Default::default(), usize::MAX).await.unwrap().events;
    assert!(matches!(&kept[1].body, EventBody::Token { text, .. } if *text == content));
    assert_eq!((kept.len(), &kept[2].body.is_terminal()), (3, &true));
    assert_eq!(rows(&home.path).await.last().unwrap(), &("graves", 0));
}

#[tokio::test]
async fn m_072_an_error_of_the_store_removes_nothing() {
    let home = Home::new();
    let options = OpenOptions { busy_timeout: Duration::from_millis(20), ..OpenOptions::default() };
    let store = Store::open(&home.path, options).await.unwrap();
    let owner = store.owner().unwrap();
    ended(&store, &owner, "t1", "c", 10).await;
    let reading = Store::open(&home.path, OpenOptions::read()).await.unwrap();
    let error = reading.prune(Some(i64::MAX), None).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::ReadOnly);
    let error = reading.delete_conversation(&talk("c")).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::ReadOnly);

    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(&home.path);
    let mut other = sqlx::SqliteConnection::connect_with(&options).await.unwrap();
    let held = other.begin_with("BEGIN IMMEDIATE").await.unwrap();
    let error = store.prune(Some(i64::MAX), None).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Locked);
    let error = store.delete_conversation(&talk("c")).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Locked);
    let error = store.remove_older_sessions(None, Duration::ZERO).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Locked);
    held.rollback().await.unwrap();
    assert_eq!(on_record(&store).await, ["t1"]);
    assert_eq!(store.sessions_of(&talk("c")).await.unwrap().len(), 1);
    store.prune(Some(i64::MAX), None).await.unwrap();
    assert_eq!(on_record(&store).await, Vec::<String>::new());
}
