//! Ends that look like something else.

use std::time::{Duration, Instant};

use mia_api::{Cause, ErrorCode, EventBody, NoticeKind};
use pretty_assertions::assert_eq;

use super::World;

#[tokio::test]
async fn m_023_an_exit_on_a_signal_is_no_answer_though_its_status_is_0() {
    let Some(world) = World::new().await else {
        return;
    };
    let mut running = world.start(world.dispatch("PRE half an\nGATE never\nSAY answer"));
    running.until(|event| matches!(event, EventBody::Token { .. })).await;
    for process in world.alive() {
        process.signal(15);
    }
    let ran = running.end().await;
    let error = ran.error();
    assert_eq!((error.code, error.cause), (ErrorCode::ProcessExit, Some(Cause::NoResult)));
    assert_eq!((error.exit_code, ran.partial()), (Some(0), "half an"));
}

#[tokio::test]
async fn m_006_a_stream_that_always_breaks_says_its_text_once() {
    let Some(world) = World::new().await else {
        return;
    };
    let began = Instant::now();
    let ran = world.ask("STREAMERROR").await;
    assert_eq!(ran.error().code, ErrorCode::ProviderError, "{:?}", ran.error());
    assert!(world.asked().len() > 1, "{:?}", world.asked());
    assert!(began.elapsed() > Duration::from_secs(1));
    assert_eq!(ran.said().matches("fail").count(), 1, "{:?}", ran.events);
    assert!(!ran.notices(NoticeKind::Retry).is_empty(), "{:?}", ran.events);
}
