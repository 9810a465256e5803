//! One task of a conversation at a time, in order of acceptance (M-37), and acceptance itself (M-38).

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use mia_api::{Cause, ErrorCode, PluginError, TaskStatus};
use mia_store::{
    Accepted, Filter, Finished, OpenOptions, Store, StoreError, StoreErrorKind, Turn, Withdrawn,
};
use pretty_assertions::assert_eq;

use crate::fixture::{Home, Probe, id, new_task, ok, result, start};

fn aborted() -> PluginError {
    PluginError::new(ErrorCode::Aborted, "fake", "somebody aborted it").with_cause(Cause::Requested)
}

#[tokio::test]
async fn m_038_the_same_task_again_is_the_same_task() {
    let home = Home::new();
    let store = home.open().await;
    let owner = store.owner().unwrap();
    let task = new_task("t", "c");
    assert_eq!(
        store.accept(&task, &owner).await.unwrap(),
        Accepted::New { place: 1, queue_place: 0, earlier_turns: 0 }
    );
    let again = store.accept(&task, &owner).await.unwrap();
    assert_eq!(again, Accepted::Already { status: TaskStatus::Queued });
    let mut other = task.clone();
    other.prompt.push('!');
    let error = store.accept(&other, &owner).await.unwrap_err();
    assert!(matches!(error, StoreError::TaskConflict { .. }), "{error}");
    let elsewhere = new_task("t", "another");
    let error = store.accept(&elsewhere, &owner).await.unwrap_err();
    assert!(matches!(error, StoreError::TaskConflict { .. }), "{error}");
    assert_eq!(store.recent(&Filter::default()).await.unwrap().len(), 1);
}

#[tokio::test]
async fn m_037_two_owners_take_turns_in_order_of_acceptance() {
    let home = Home::new();
    let (one, two) = (home.open().await, home.open().await);
    let (first, second) = (one.owner().unwrap(), two.owner().unwrap());
    let claim = start(&one, &first, "t1", "c").await;
    assert_eq!(
        two.accept(&new_task("t2", "c"), &second).await.unwrap(),
        Accepted::New { place: 2, queue_place: 1, earlier_turns: 1 }
    );
    one.accept(&new_task("t3", "c"), &first).await.unwrap();
    let waiting = |ahead| Turn::Waiting { ahead, running: Some(id("t1")) };
    assert_eq!(one.try_start(&id("t3"), &first).await.unwrap(), waiting(2));
    assert_eq!(two.try_start(&id("t2"), &second).await.unwrap(), waiting(1));
    // Another conversation waits for nobody.
    start(&two, &second, "other", "d").await;

    one.finish(&claim, ok(&result("t1", "c", ""))).await.unwrap();
    let ahead = one.try_start(&id("t3"), &first).await.unwrap();
    assert_eq!(ahead, Turn::Waiting { ahead: 1, running: None });
    let Turn::Started(claim) = two.try_start(&id("t2"), &second).await.unwrap() else {
        panic!("t2 is next");
    };
    assert_eq!(claim.epoch, 2);
    let error = one.try_start(&id("t2"), &first).await.unwrap_err();
    assert!(matches!(error, StoreError::WrongStatus { status: TaskStatus::Running, .. }));
}

#[tokio::test]
async fn m_037_an_accepted_task_knows_its_turn_in_the_conversation() {
    let home = Home::new();
    let store = home.open().await;
    let owner = store.owner().unwrap();
    let claim = start(&store, &owner, "t1", "c").await;
    store.finish(&claim, ok(&result("t1", "c", ""))).await.unwrap();
    store.accept(&new_task("t2", "c"), &owner).await.unwrap();
    store.accept(&new_task("other", "d"), &owner).await.unwrap();
    assert_eq!(
        store.accept(&new_task("t3", "c"), &owner).await.unwrap(),
        Accepted::New { place: 4, queue_place: 1, earlier_turns: 2 }
    );
}

#[tokio::test]
async fn m_037_no_more_than_the_limit_wait() {
    let home = Home::new();
    let store = home.open().await;
    let owner = store.owner().unwrap();
    for number in 0..=2 {
        let mut task = new_task(&format!("t{number}"), "c");
        task.queue_limit = Some(2);
        let accepted = store.accept(&task, &owner).await.unwrap();
        assert_eq!(
            accepted,
            Accepted::New { place: number + 1, queue_place: number, earlier_turns: number }
        );
    }
    let mut task = new_task("t3", "c");
    task.queue_limit = Some(2);
    let full = store.accept(&task, &owner).await.unwrap();
    assert_eq!(full, Accepted::QueueFull { waiting: 2 });
    assert!(store.task(&id("t3")).await.unwrap().is_none());
    // A place is free again when one has gone.
    assert_eq!(store.withdraw(&id("t1"), &aborted()).await.unwrap(), Withdrawn::Done);
    assert!(matches!(store.accept(&task, &owner).await.unwrap(), Accepted::New { .. }));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn m_037_who_waits_is_told_and_then_starts() {
    let home = Home::new();
    let (one, two) = (home.open().await, home.open().await);
    let (first, second) = (one.owner().unwrap(), two.owner().unwrap());
    let claim = start(&one, &first, "t1", "c").await;
    two.accept(&new_task("t2", "c"), &second).await.unwrap();
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    let waiter = tokio::spawn(async move {
        let task = id("t2");
        two.wait_turn(&task, &second, |ahead, running| {
            tell.send((ahead, running.cloned())).unwrap();
        })
        .await
    });
    assert_eq!(told.recv().await.unwrap(), (1, Some(id("t1"))));
    one.finish(&claim, ok(&result("t1", "c", ""))).await.unwrap();
    assert_eq!(waiter.await.unwrap().unwrap().epoch, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn m_037_who_is_first_may_wait_on_and_is_not_started() {
    let home = Home::new();
    let store = home.open().await;
    let owner = store.owner().unwrap();
    let claim = start(&store, &owner, "t1", "c").await;
    for task in ["t2", "t3"] {
        store.accept(&new_task(task, "c"), &owner).await.unwrap();
    }
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    let waiting = store.clone();
    let waiter = tokio::spawn(async move {
        waiting
            .wait_first(&id("t2"), |ahead, running| tell.send((ahead, running.cloned())).unwrap())
            .await
    });
    assert_eq!(told.recv().await.unwrap(), (1, Some(id("t1"))));
    store.finish(&claim, ok(&result("t1", "c", ""))).await.unwrap();
    waiter.await.unwrap().unwrap();
    let status = store.task(&id("t2")).await.unwrap().unwrap().summary.status;
    assert_eq!(status, TaskStatus::Queued);
    // It stays first: the next one has to wait for it, and asking again says the same.
    let behind = store.try_start(&id("t3"), &owner).await.unwrap();
    assert_eq!(behind, Turn::Waiting { ahead: 1, running: None });
    store.wait_first(&id("t2"), |_, _| panic!("somebody is before it")).await.unwrap();
    assert!(matches!(store.try_start(&id("t2"), &owner).await.unwrap(), Turn::Started(_)));
    let error = store.wait_first(&id("t2"), |_, _| {}).await.unwrap_err();
    assert!(matches!(error, StoreError::WrongStatus { status: TaskStatus::Running, .. }));
}

#[tokio::test]
async fn m_039_who_waits_to_be_first_ends_what_the_dead_left() {
    let home = Home::new();
    let probe = Probe::run(&["run", home.path.to_str().unwrap(), "t1", "c"]);
    let store = home.open().await;
    let owner = store.owner().unwrap();
    store.accept(&new_task("t2", "c"), &owner).await.unwrap();
    probe.kill();
    store.wait_first(&id("t2"), |_, _| panic!("only the dead are before it")).await.unwrap();
    let first = store.task(&id("t1")).await.unwrap().unwrap().summary.status;
    let second = store.task(&id("t2")).await.unwrap().unwrap().summary.status;
    assert_eq!((first, second), (TaskStatus::Interrupted, TaskStatus::Queued));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn m_037_never_two_of_a_conversation_at_once() {
    let home = Home::new();
    let running = Arc::new(AtomicU32::new(0));
    let mut tasks = Vec::new();
    for number in 0..12 {
        let (path, running) = (home.path.clone(), Arc::clone(&running));
        tasks.push(tokio::spawn(async move {
            let store = Store::open(&path, OpenOptions::default()).await.unwrap();
            let owner = store.owner().unwrap();
            let task = new_task(&format!("t{number}"), "c");
            store.accept(&task, &owner).await.unwrap();
            let claim = store.wait_turn(&task.task_id, &owner, |_, _| {}).await.unwrap();
            assert_eq!(running.fetch_add(1, Ordering::SeqCst), 0);
            tokio::task::yield_now().await;
            store.begin_attempt(&task.task_id, 0, "fake").await.unwrap();
            assert_eq!(running.fetch_sub(1, Ordering::SeqCst), 1);
            let result = result(task.task_id.as_str(), "c", "");
            store.finish(&claim, ok(&result)).await.unwrap();
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
}

#[test]
fn m_037_processes_share_a_conversation_without_an_error() {
    let home = Home::new();
    let path = home.path.to_str().unwrap();
    let workers: Vec<_> =
        ["a", "b", "c", "d"].iter().map(|name| Probe::start(&["work", path, name, "15"])).collect();
    for mut worker in workers {
        let mut said = String::new();
        worker.stdout.take().unwrap().read_to_string(&mut said).unwrap();
        worker.wait().unwrap();
        assert_eq!(said, "worked\n");
    }
}

#[tokio::test]
async fn m_024_a_queued_task_is_withdrawn_once() {
    let home = Home::new();
    let store = home.open().await;
    let owner = store.owner().unwrap();
    let claim = start(&store, &owner, "t1", "c").await;
    store.accept(&new_task("t2", "c"), &owner).await.unwrap();
    assert_eq!(store.withdraw(&id("t2"), &aborted()).await.unwrap(), Withdrawn::Done);
    let ended = Withdrawn::Ended(TaskStatus::Failed);
    assert_eq!(store.withdraw(&id("t2"), &aborted()).await.unwrap(), ended);
    assert_eq!(store.withdraw(&id("t1"), &aborted()).await.unwrap(), Withdrawn::Running);
    assert!(store.try_start(&id("t2"), &owner).await.is_err());
    assert_eq!(store.task(&id("t2")).await.unwrap().unwrap().error, Some(aborted()));
    let error = store.withdraw(&id("nobody"), &aborted()).await.unwrap_err();
    assert!(matches!(error, StoreError::UnknownTask { .. }));
    store.finish(&claim, ok(&result("t1", "c", ""))).await.unwrap();
    // The one withdrawn holds nobody up.
    start(&store, &owner, "t3", "c").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn m_024_who_waits_learns_that_the_task_was_withdrawn() {
    let home = Home::new();
    let store = home.open().await;
    let owner = store.owner().unwrap();
    start(&store, &owner, "t1", "c").await;
    store.accept(&new_task("t2", "c"), &owner).await.unwrap();
    let (tell, told) = tokio::sync::oneshot::channel();
    let mut tell = Some(tell);
    let waiter = {
        let (store, owner) = (store.clone(), owner.clone());
        tokio::spawn(async move {
            let told = |_, _: Option<&_>| {
                if let Some(tell) = tell.take() {
                    tell.send(()).unwrap();
                }
            };
            store.wait_turn(&id("t2"), &owner, told).await
        })
    };
    told.await.unwrap();
    store.withdraw(&id("t2"), &aborted()).await.unwrap();
    let error = waiter.await.unwrap().unwrap_err();
    assert!(matches!(error, StoreError::WrongStatus { status: TaskStatus::Failed, .. }), "{error}");
}

#[tokio::test]
async fn m_008_a_task_ends_once() {
    let home = Home::new();
    let store = home.open().await;
    let owner = store.owner().unwrap();
    let claim = start(&store, &owner, "t", "c").await;
    let result = result("t", "c", "");
    assert_eq!(store.finish(&claim, ok(&result)).await.unwrap(), Finished::Now);
    let already = Finished::Already(TaskStatus::Completed);
    assert_eq!(store.finish(&claim, ok(&result)).await.unwrap(), already);
    let error = aborted();
    let ending = mia_store::Ending { outcome: Err(&error), seq: None, session: None };
    assert_eq!(store.finish(&claim, ending).await.unwrap(), already);
    let events = store.events(&id("t"), Default::default(), usize::MAX).await.unwrap().events;
    assert_eq!(events.iter().filter(|event| event.body.is_terminal()).count(), 1);
    assert_eq!(store.task(&id("t")).await.unwrap().unwrap().result, Some(result));
}

#[tokio::test]
async fn a_claim_of_another_epoch_is_refused() {
    let home = Home::new();
    let store = home.open().await;
    let owner = store.owner().unwrap();
    let mut claim = start(&store, &owner, "t", "c").await;
    claim.epoch += 1;
    let error = store.finish(&claim, ok(&result("t", "c", ""))).await.unwrap_err();
    assert!(matches!(error, StoreError::Stale { .. }), "{error}");
    assert_eq!(error.kind(), StoreErrorKind::Conflict);
}

#[tokio::test]
async fn a_call_that_is_dropped_leaves_the_store_usable() {
    let home = Home::new();
    let store = home.open().await;
    let owner = store.owner().unwrap();
    for number in 0..200_u32 {
        let task = new_task(&format!("t{number}"), &format!("c{number}"));
        // Polled a few times, then dropped, wherever it is.
        let accepting = std::pin::pin!(store.accept(&task, &owner));
        let _ =
            tokio::time::timeout(std::time::Duration::from_micros(u64::from(number)), accepting)
                .await;
    }
    let other = home.open().await;
    start(&other, &owner, "after", "c").await;
    start(&store, &owner, "after-too", "d").await;
    let listed = store.recent(&Filter { limit: 1000, ..Filter::default() }).await.unwrap();
    for task in listed {
        assert_eq!(store.turns(&task.conversation_id).await.unwrap(), 1);
    }
}
