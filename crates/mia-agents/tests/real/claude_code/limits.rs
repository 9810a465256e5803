//! Time limits, and many at once.

use std::time::Duration;

use mia_api::{ErrorCode, Phase};
use mia_plugin::CodingPlugin;
use pretty_assertions::assert_eq;

use super::World;

#[tokio::test]
async fn m_019_a_stream_that_stalls_is_ended() {
    let Some(world) = World::with(|config| {
        config.stall_timeout = Some(Duration::from_secs(4));
    })
    .await
    else {
        return;
    };
    let ran = world.ask("TOOL bash true\nSTALL").await;
    assert_eq!((ran.error().code, ran.error().phase), (ErrorCode::Timeout, Some(Phase::Stall)));
    assert_eq!(ran.partial(), "stalling ");
    assert_eq!(world.alive(), []);
}

#[tokio::test]
async fn m_020_ten_at_once() {
    let Some(world) = World::new().await else {
        return;
    };
    let prompts: Vec<String> =
        (0..10).map(|n| format!("PRE begin {n},\nGATE all\nSAY end {n}")).collect();
    let mut running: Vec<_> = prompts.iter().map(|p| world.start(world.dispatch(p))).collect();
    for (n, one) in running.iter_mut().enumerate() {
        one.until_said(&format!("begin {n},")).await;
    }
    assert_eq!(world.plugin.running_task_count(), 10);
    world.llm.open("all");
    for (n, one) in running.into_iter().enumerate() {
        assert_eq!(one.end().await.answer(), format!("begin {n},end {n}"));
    }
    assert_eq!(world.plugin.running_task_count(), 0);
    let sessions = world.sessions.ids().into_iter().collect::<std::collections::BTreeSet<_>>();
    assert_eq!(sessions.len(), 10);
}
