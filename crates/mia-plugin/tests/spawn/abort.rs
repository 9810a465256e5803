//! Somebody asks for the end.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mia_api::{Cause, ErrorCode};
use mia_plugin::{CodingPlugin, Interrupt, event_channel};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::toy::{DONE, Toy, say, session, text};
use crate::world::World;

fn usage() -> String {
    say(&json!({"t": "usage", "input": 3, "output": 4}))
}

#[tokio::test]
async fn m_024_an_abort_keeps_text_usage_and_session_and_is_answered_when_all_is_gone() {
    let world = World::new(&[&session("s"), &usage(), &text("half an ans"), "hang"].concat()).await;
    let mut running = world.start(world.dispatch("x"));
    running.until_said("half an ans").await;
    world.plugin.abort(&running.task.clone()).await;
    assert_eq!(world.alive(), []);
    assert_eq!(world.plugin.running_task_count(), 0);
    let ran = running.end().await;
    let error = ran.error();
    assert_eq!((error.code, error.cause), (ErrorCode::Aborted, Some(Cause::Requested)));
    let partial = error.partial.as_ref().unwrap();
    assert_eq!(partial.content, "half an ans");
    assert_eq!(partial.usage.as_ref().unwrap().output_tokens, 4);
    assert_eq!(partial.session_id.as_deref(), Some("s"));
}

#[tokio::test]
async fn m_024_many_aborts_are_one() {
    let world = World::new(&[&text("a"), "hang"].concat()).await;
    let mut running = world.start(world.dispatch("x"));
    running.until_said("a").await;
    let task = running.task.clone();
    let all = (0..10).map(|_| world.plugin.abort(&task));
    futures::future::join_all(all).await;
    assert_eq!(running.end().await.code(), Some(ErrorCode::Aborted));
    world.plugin.abort(&task).await;
}

#[tokio::test]
async fn m_024_a_late_abort_changes_nothing_in_the_next_task() {
    let world = World::new(&[&text("a"), DONE].concat()).await;
    let dispatch = world.dispatch("x");
    let task = dispatch.options.task_id.clone();
    assert_eq!(world.run(dispatch).await.content(), "a");
    let mut next = world.dispatch("y");
    next.options.conversation_id = mia_api::ConversationId::generate();
    world.cli.script(&[&text("b"), "wait-file go\n", DONE].concat());
    let mut running = world.start(next);
    running.until_said("b").await;
    world.plugin.abort(&task).await;
    world.open_gate("go");
    assert_eq!(running.end().await.content(), "b");
}

#[tokio::test]
async fn m_024_an_abort_after_the_last_word_leaves_the_answer() {
    // Its stdin is closed once we have heard its last word; then it would take long to leave.
    let toy = Toy { dialogue: true, ..Toy::default() };
    let script = ["ignore TERM\n", &text("a"), DONE, "read-stdin\ntouch heard\nhang"].concat();
    let world = World::with(toy, &script, |_| {}).await;
    let running = world.start(world.dispatch("x"));
    world.made("heard").await;
    let began = Instant::now();
    world.plugin.abort(&running.task).await;
    assert!(began.elapsed() < Duration::from_secs(4), "an abort hurries: {:?}", began.elapsed());
    assert_eq!(world.alive(), []);
    assert_eq!(running.end().await.content(), "a");
}

#[tokio::test]
async fn m_024_an_abort_before_anything_was_started_starts_nothing() {
    let world = World::new("touch started\n").await;
    let dispatch = world.dispatch("x");
    let task = dispatch.options.task_id.clone();
    let (sink, _stream) = event_channel();
    let dispatched = world.plugin.dispatch(dispatch, sink);
    let (outcome, ()) = tokio::join!(
        async {
            // The abort is asked first.
            tokio::task::yield_now().await;
            dispatched.await
        },
        world.plugin.abort(&task)
    );
    assert_eq!(outcome.unwrap_err().code, ErrorCode::Aborted);
    assert!(!world.cli.beside("started").exists());
}

#[tokio::test]
async fn m_024_the_polite_way_by_stdin() {
    let toy = Toy { dialogue: true, interrupt: Interrupt::Written, ..Toy::default() };
    let script = ["read-line\n", &text("a"), "read-until interrupt\n", &usage(), &text("b"), DONE];
    let world = World::with(toy, &script.concat(), |_| {}).await;
    let mut running = world.start(world.dispatch("p\n"));
    running.until_said("a").await;
    world.plugin.abort(&running.task.clone()).await;
    let ran = running.end().await;
    assert_eq!(ran.code(), Some(ErrorCode::Aborted));
    let partial = ran.error().partial.as_ref().unwrap();
    assert_eq!((partial.content.as_str(), partial.usage.is_some()), ("ab", true));
}

#[tokio::test]
async fn m_024_the_polite_way_by_sigint() {
    let toy = Toy { interrupt: Interrupt::Signal, ..Toy::default() };
    // TERM would not end it, and KILL comes only after 8 s.
    let script = ["ignore TERM\n", &text("a"), "hang"].concat();
    let world = World::with(toy, &script, |_| {}).await;
    let mut running = world.start(world.dispatch("x"));
    running.until_said("a").await;
    let began = Instant::now();
    world.plugin.abort(&running.task.clone()).await;
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
    assert_eq!(running.end().await.code(), Some(ErrorCode::Aborted));
}

#[tokio::test]
async fn m_024_what_is_deaf_to_politeness_is_ended_otherwise() {
    for interrupt in [Interrupt::Written, Interrupt::Signal] {
        let toy = Toy { dialogue: true, interrupt, ..Toy::default() };
        let script = ["ignore INT\nread-line\n", &text("a"), "hang"].concat();
        let world = World::with(toy, &script, |_| {}).await;
        let mut running = world.start(world.dispatch("p\n"));
        running.until_said("a").await;
        world.plugin.abort(&running.task.clone()).await;
        assert_eq!(world.alive(), []);
        assert_eq!(running.end().await.code(), Some(ErrorCode::Aborted));
    }
}

#[tokio::test]
async fn m_024_a_second_abort_hurries() {
    let toy = Toy { dialogue: true, interrupt: Interrupt::Written, ..Toy::default() };
    let script =
        ["ignore TERM\nread-line\n", &text("a"), "read-until interrupt\n", &text("b"), "hang"];
    let world = World::with(toy, &script.concat(), |_| {}).await;
    let mut running = world.start(world.dispatch("p\n"));
    running.until_said("a").await;
    let task = running.task.clone();
    let plugin = Arc::clone(&world.plugin);
    let first = tokio::spawn({
        let task = task.clone();
        async move { plugin.abort(&task).await }
    });
    running.until_said("b").await;
    let began = Instant::now();
    world.plugin.abort(&task).await;
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    first.await.unwrap();
    running.end().await.outcome.unwrap_err();
}

#[tokio::test]
async fn m_024_an_abort_is_answered_though_nobody_reads_the_events() {
    let world = World::new("repeat 2000000000 {\"t\":\"text\",\"x\":\"{i} \"}\n").await;
    let running = world.start(world.dispatch("x"));
    world.stuck().await;
    tokio::time::timeout(crate::world::SOON, world.plugin.abort(&running.task)).await.unwrap();
    assert_eq!(world.alive(), []);
    assert_eq!(running.end().await.code(), Some(ErrorCode::Aborted));
}

#[tokio::test]
async fn m_024_an_abort_while_it_starts_is_answered_when_all_is_gone() {
    let world = World::new("hang").await;
    let supervisor = world.supervisor().await;
    // It stands still, so that a start takes as long as we like.
    supervisor.signal(19);
    let dispatch = world.dispatch("x");
    let task = dispatch.options.task_id.clone();
    let (sink, _stream) = event_channel();
    let mut both = Box::pin(async {
        tokio::join!(world.plugin.dispatch(dispatch, sink), world.plugin.abort(&task))
    });
    let early = tokio::time::timeout(Duration::from_millis(200), &mut both).await;
    assert!(early.is_err(), "nobody knows yet what was started");
    supervisor.signal(18);
    let (outcome, ()) = both.await;
    assert_eq!(outcome.unwrap_err().code, ErrorCode::Aborted);
    assert_eq!(world.alive(), []);
}

#[tokio::test]
async fn m_019_a_start_that_takes_too_long_is_a_timeout_and_leaves_nothing() {
    let world = World::new("hang").await;
    let supervisor = world.supervisor().await;
    supervisor.signal(19);
    let mut dispatch = world.dispatch("x");
    dispatch.options.timeout_ms = Some(50);
    let running = world.start(dispatch);
    tokio::time::sleep(Duration::from_millis(200)).await;
    supervisor.signal(18);
    let ran = running.end().await;
    assert_eq!(ran.code(), Some(ErrorCode::Timeout));
    assert_eq!(ran.error().phase, Some(mia_api::Phase::Start));
    assert_eq!(world.alive(), []);
}
