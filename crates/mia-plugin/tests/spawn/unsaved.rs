//! The record of sessions fails once the agent runs: what the agent said is not lost for that.

use std::time::{Duration, Instant};

use mia_api::{Cause, ConversationId, ErrorCode, Phase};
use mia_plugin::CodingPlugin;
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::memory::Writes;
use crate::toy::{DONE, say, session, text};
use crate::world::{SOON, World};

#[tokio::test]
async fn m_017_an_answer_whose_session_cannot_be_saved_is_an_answer_with_a_warning() {
    let world = World::new(&[&session("s1"), &text("a"), DONE].concat()).await;
    world.sessions.set_writes(Writes::Fail);
    let ran = world.run(world.dispatch("x")).await;
    let result = ran.outcome.unwrap();
    assert_eq!((result.content.as_str(), result.session_id.as_deref()), ("a", Some("s1")));
    let warning =
        "the session could not be saved, so the next turn may begin a fresh one: the disk is full";
    assert_eq!(result.warnings, [warning]);
}

#[tokio::test]
async fn m_017_a_failure_whose_session_cannot_be_forgotten_stays_that_failure() {
    let fails = say(&json!({"t": "fail", "m": "overloaded"}));
    let world = World::new(&[session("s1"), text("a"), fails].concat()).await;
    world.sessions.set_writes(Writes::Fail);
    let ran = world.run(world.dispatch("x")).await;
    let error = ran.error();
    assert_eq!((error.code, error.cause), (ErrorCode::ProviderError, Some(Cause::Server)));
    assert_eq!(error.message, "overloaded");
    let detail = "the session could not be forgotten, so the next turn may go on in it: \
                  the disk is full";
    assert_eq!(error.detail.as_deref(), Some(detail));
}

#[tokio::test]
async fn m_024_an_abort_whose_session_cannot_be_saved_is_an_abort() {
    let world = World::new(&[&session("s1"), &text("a"), "hang"].concat()).await;
    world.sessions.set_writes(Writes::Fail);
    let mut running = world.start(world.dispatch("x"));
    running.until_said("a").await;
    world.plugin.abort(&running.task.clone()).await;
    let ran = running.end().await;
    let error = ran.error();
    assert_eq!((error.code, error.cause), (ErrorCode::Aborted, Some(Cause::Requested)));
    assert_eq!(error.partial.as_ref().unwrap().content, "a");
    let detail = error.detail.as_deref().unwrap();
    assert!(detail.starts_with("the session could not be saved"), "{detail}");
}

#[tokio::test]
async fn m_018_a_stale_session_that_cannot_be_forgotten_is_retried_all_the_same() {
    let world = World::new(&[&session("s1"), &text("a"), DONE].concat()).await;
    let conversation = ConversationId::generate();
    let turn = || {
        let mut dispatch = world.dispatch("x");
        dispatch.options.conversation_id = conversation.clone();
        dispatch
    };
    world.run(turn()).await.outcome.unwrap();
    world.cli.next_script(&say(&json!({"t": "stale", "m": "No conversation found"})));
    world.sessions.set_writes(Writes::Fail);
    let ran = world.run(turn()).await;
    let result = ran.outcome.unwrap();
    assert_eq!((result.content.as_str(), result.context_reset), ("a", true));
    assert_eq!(result.warnings.len(), 1, "{:?}", result.warnings);
}

#[tokio::test]
async fn m_024_a_record_that_hangs_holds_up_neither_reading_nor_an_abort() {
    let world = World::new(&[&session("s1"), &text("a"), "hang"].concat()).await;
    world.sessions.set_writes(Writes::FirstHangs);
    let mut running = world.start(world.dispatch("x"));
    running.until_said("a").await;
    assert_eq!(world.sessions.log(), ["hung"]);
    tokio::time::timeout(SOON, world.plugin.abort(&running.task.clone())).await.unwrap();
    assert_eq!(running.end().await.code(), Some(ErrorCode::Aborted));
    assert_eq!(world.sessions.ids(), ["s1"], "the write at the end counts");
}

#[tokio::test]
async fn m_019_a_record_that_hangs_does_not_hold_up_the_total_limit() {
    let world = World::new(&[&session("s1"), &text("a"), "hang"].concat()).await;
    world.sessions.set_writes(Writes::FirstHangs);
    let mut dispatch = world.dispatch("x");
    dispatch.options.timeout_ms = Some(500);
    let ran = world.run(dispatch).await;
    assert_eq!(ran.error().phase, Some(Phase::Total));
}

#[tokio::test]
async fn m_017_the_last_write_is_waited_for_but_not_for_ever() {
    let world = World::new(&[&session("s1"), &text("a"), DONE].concat()).await;
    world.sessions.set_writes(Writes::Hang);
    let began = Instant::now();
    let ran = world.run(world.dispatch("x")).await;
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    let warnings = ran.outcome.unwrap().warnings;
    assert!(warnings.concat().contains("did not answer within 5s"), "{warnings:?}");
}

#[tokio::test]
async fn a_silent_agent_whose_events_nobody_reads_is_ended() {
    let world = World::new(&[&text("a"), "hang"].concat()).await;
    let mut running = world.start(world.dispatch("x"));
    running.until_said("a").await;
    drop(running.stream);
    let outcome = tokio::time::timeout(SOON, running.dispatched).await.unwrap().unwrap();
    let error = outcome.unwrap_err();
    assert_eq!((error.code, error.cause), (ErrorCode::Aborted, Some(Cause::Interrupted)));
    assert_eq!(world.alive(), []);
}
