//! Processes that die: nothing accepted is lost, nothing stays locked (M-39, M-17).

use mia_api::{Cause, ErrorCode, EventBody, TaskStatus};
use mia_store::{Accepted, Ending, Interrupted, StoreError, Turn};
use pretty_assertions::assert_eq;

use crate::fixture::{Home, Probe, Sequence, id, new_task, ok, result, start, talk};

#[tokio::test]
async fn m_039_what_was_accepted_survives_a_kill() {
    let home = Home::new();
    let probe = Probe::run(&["accept", home.path.to_str().unwrap(), "t", "c"]);
    assert_eq!(probe.line, "accepted 0");
    probe.kill();
    let store = home.open().await;
    let task = store.task(&id("t")).await.unwrap().unwrap();
    assert_eq!(task.summary.prompt, "prompt of t");
    assert_eq!(task.summary.status, TaskStatus::Queued);
    let ended = store.recover().await.unwrap();
    let expected =
        Interrupted { task_id: id("t"), conversation_id: talk("c"), was: TaskStatus::Queued };
    assert_eq!(ended, [expected]);
    assert_eq!(store.recover().await.unwrap(), []);
}

#[tokio::test]
async fn m_039_a_dead_owners_task_is_interrupted_with_its_text() {
    let home = Home::new();
    let probe = Probe::run(&["run", home.path.to_str().unwrap(), "t", "c"]);
    assert_eq!(probe.line, "running 1");
    let store = home.open().await;
    // It lives, so it is left alone.
    assert_eq!(store.recover().await.unwrap(), []);
    probe.kill();
    assert_eq!(store.recover().await.unwrap().len(), 1);

    let task = store.task(&id("t")).await.unwrap().unwrap();
    assert_eq!(task.summary.status, TaskStatus::Interrupted);
    let error = task.error.unwrap();
    assert_eq!((error.code, error.cause), (ErrorCode::Aborted, Some(Cause::Interrupted)));
    assert_eq!(error.plugin_name, "fake");
    assert_eq!(error.partial.clone().unwrap().content, "partial words");
    assert_eq!(task.attempts[0].error, Some(error.clone()));
    let events = store.events(&id("t"), Default::default(), usize::MAX).await.unwrap().events;
    assert_eq!(events[0].body, EventBody::token("partial words"));
    assert_eq!(events[1].body, EventBody::Error { error: Box::new(error) });
    assert_eq!(events.len(), 2);
    // Nothing of the dead is left beside the database.
    assert_eq!(std::fs::read_dir(home.folder.path().join("owners")).unwrap().count(), 0);
    // The conversation goes on, and knows what was said.
    let owner = store.owner().unwrap();
    start(&store, &owner, "t2", "c").await;
    let said = store.transcript(&talk("c"), &id("t2"), None, Default::default()).await.unwrap();
    assert_eq!(said[0].answer, "partial words");
}

#[tokio::test]
async fn m_039_who_waits_for_a_dead_one_takes_its_turn() {
    let home = Home::new();
    let store = home.open().await;
    let owner = store.owner().unwrap();
    let probe = Probe::run(&["run", home.path.to_str().unwrap(), "t1", "c"]);
    let accepted = store.accept(&new_task("t2", "c"), &owner).await.unwrap();
    assert_eq!(accepted, Accepted::New { place: 2, queue_place: 1, earlier_turns: 1 });
    let waiting = store.try_start(&id("t2"), &owner).await.unwrap();
    assert_eq!(waiting, Turn::Waiting { ahead: 1, running: Some(id("t1")) });
    probe.kill();
    let claim = store.wait_turn(&id("t2"), &owner, |_, _| {}).await.unwrap();
    assert_eq!(claim.epoch, 2);
    let first = store.task(&id("t1")).await.unwrap().unwrap();
    assert_eq!(first.summary.status, TaskStatus::Interrupted);
    store.finish(&claim, ok(&result("t2", "c", ""))).await.unwrap();
}

#[tokio::test]
async fn m_039_the_dead_don_t_fill_the_queue() {
    let home = Home::new();
    Probe::run(&["run", home.path.to_str().unwrap(), "t1", "c"]).kill();
    let store = home.open().await;
    let owner = store.owner().unwrap();
    let mut task = new_task("t2", "c");
    task.queue_limit = Some(0);
    let accepted = store.accept(&task, &owner).await.unwrap();
    assert_eq!(accepted, Accepted::New { place: 2, queue_place: 0, earlier_turns: 1 });
}

#[tokio::test]
async fn m_039_one_that_was_thought_dead_can_t_write_any_more() {
    let home = Home::new();
    let store = home.open().await;
    let owner = store.owner().unwrap();
    let claim = start(&store, &owner, "t", "c").await;
    // Somebody removes the folder of the locks under a living process.
    std::fs::remove_dir_all(home.folder.path().join("owners")).unwrap();
    let other = home.open().await;
    assert_eq!(other.recover().await.unwrap().len(), 1);
    let words = Sequence::all("t", [EventBody::token("late")]);
    let error = store.record(&id("t"), &words).await.unwrap_err();
    assert!(matches!(error, StoreError::Stale { .. }), "{error}");
    let error = store.finish(&claim, ok(&result("t", "c", "late"))).await.unwrap_err();
    assert!(matches!(error, StoreError::Stale { .. }), "{error}");
}

#[tokio::test]
async fn m_017_the_session_survives_a_kill_after_the_end() {
    let home = Home::new();
    let probe = Probe::run(&["finish", home.path.to_str().unwrap(), "t", "c"]);
    assert_eq!(probe.line, "finished");
    probe.kill();
    let store = home.open().await;
    assert_eq!(store.recover().await.unwrap(), []);
    let task = store.task(&id("t")).await.unwrap().unwrap();
    assert_eq!(task.summary.status, TaskStatus::Completed);
    assert_eq!(task.result.unwrap().content, "partial words");
    let session = store.session("fake", &talk("c"), None).await.unwrap().unwrap();
    assert_eq!(session.session_id, "session-1");
}

#[tokio::test]
async fn m_024_the_tokens_of_an_interrupted_task_are_kept() {
    let home = Home::new();
    let store = home.open().await;
    let owner = store.owner().unwrap();
    let claim = start(&store, &owner, "t", "c").await;
    let tokens = mia_api::Usage { input_tokens: 7, output_tokens: 3, ..Default::default() };
    let usage = EventBody::Usage {
        tokens: Some(tokens.clone()),
        context: None,
        cost_usd: Some(0.1),
        raw: None,
    };
    store.record(&id("t"), &Sequence::all("t", [usage])).await.unwrap();
    drop(owner);
    store.recover().await.unwrap();
    let task = store.task(&id("t")).await.unwrap().unwrap();
    assert_eq!(task.summary.usage, Some(tokens.clone()));
    assert_eq!(task.error.unwrap().partial.unwrap().usage, Some(tokens));
    let late = result("t", "c", "");
    let ending = Ending { outcome: Ok(&late), seq: None, session: None };
    assert!(store.finish(&claim, ending).await.is_err());
}
