//! Limits of time. They are short here, and what they must not cut off waits for a gate: so no
//! test hopes that something is quick.

use std::time::Duration;

use mia_api::{ErrorCode, EventBody, Phase, PluginError};
use mia_plugin::PluginConfig;
use pretty_assertions::assert_eq;

use crate::toy::{DONE, Toy, call, result, session, text};
use crate::world::{SOON, World};

const SHORT: Duration = Duration::from_millis(300);

fn limits(
    total: Option<Duration>,
    stall: Option<Duration>,
    tool: Option<Duration>,
) -> impl FnOnce(&mut PluginConfig) {
    move |config| {
        config.timeout = total;
        config.stall_timeout = stall;
        config.tool_timeout = tool;
    }
}

fn phase(error: &PluginError) -> (ErrorCode, Option<Phase>) {
    (error.code, error.phase)
}

#[tokio::test]
async fn m_019_the_total_limit_ends_a_dispatch_that_works() {
    // It says something all the time, so that it is no stall.
    let world = World::with(
        Toy::default(),
        &["repeat 2000000000 {\"t\":\"text\",\"x\":\"{i} \"}\n"].concat(),
        limits(Some(SHORT), Some(SOON), Some(SOON)),
    )
    .await;
    let ran = world.run(world.dispatch("x")).await;
    assert_eq!(phase(ran.error()), (ErrorCode::Timeout, Some(Phase::Total)));
    assert!(ran.error().message.contains("0.3 s"), "{}", ran.error().message);
    assert!(ran.error().hint.as_ref().unwrap().contains("plugins.toy.timeout"));
    assert!(ran.error().partial.is_some());
    assert!(ran.took >= SHORT);
    assert_eq!(world.alive(), []);
}

#[tokio::test]
async fn m_019_the_limit_of_a_dispatch_wins_over_the_plugins() {
    let world = World::with(Toy::default(), "hang", limits(Some(SOON), None, None)).await;
    let mut dispatch = world.dispatch("x");
    dispatch.options.timeout_ms = Some(300);
    assert_eq!(phase(world.run(dispatch).await.error()), (ErrorCode::Timeout, Some(Phase::Total)));
}

#[tokio::test]
async fn m_019_silence_is_a_stall() {
    let world = World::with(
        Toy::default(),
        &[&text("a"), "hang"].concat(),
        limits(None, Some(SHORT), None),
    )
    .await;
    let ran = world.run(world.dispatch("x")).await;
    assert_eq!(phase(ran.error()), (ErrorCode::Timeout, Some(Phase::Stall)));
    assert_eq!(ran.error().partial.as_ref().unwrap().content, "a");
    assert!(ran.took >= SHORT);
    assert_eq!(world.alive(), []);
}

#[tokio::test]
async fn m_019_silence_from_the_start_is_a_stall() {
    let world = World::with(Toy::default(), "hang", limits(None, Some(SHORT), None)).await;
    let ran = world.run(world.dispatch("x")).await;
    assert_eq!(phase(ran.error()), (ErrorCode::Timeout, Some(Phase::Stall)));
}

#[tokio::test]
async fn m_019_any_byte_is_a_sign_of_life() {
    // Half a line, noise, stderr: each before the limit has run out, all together long after it.
    let mut script = String::new();
    for step in
        ["raw {\"t\":", "err x", "raw \"text\",", "errfill 1", "raw \"x\":\"a\"", "raw }\\n"]
    {
        script.push_str(&format!("sleep 250\n{step}\n"));
    }
    script.push_str(DONE);
    let limit = Duration::from_millis(1000);
    let world = World::with(Toy::default(), &script, limits(None, Some(limit), None)).await;
    let ran = world.run(world.dispatch("x")).await;
    assert_eq!(ran.content(), "a");
    assert!(ran.took > limit);
}

#[tokio::test]
async fn m_019_an_open_tool_suspends_the_stall() {
    let script =
        [&call("1"), "touch open\nwait-file go\n", &result("1", "ok"), &text("a"), DONE].concat();
    let world = World::with(Toy::default(), &script, limits(None, Some(SHORT), Some(SOON))).await;
    let mut running = world.start(world.dispatch("x"));
    running.until(|event| matches!(event, EventBody::ToolCall(_))).await;
    // Three times the limit for silence.
    tokio::time::sleep(SHORT * 3).await;
    world.open_gate("go");
    assert_eq!(running.end().await.content(), "a");
}

#[tokio::test]
async fn m_019_an_open_tool_has_its_own_limit() {
    let world = World::with(
        Toy::default(),
        &[&call("1"), "hang"].concat(),
        limits(None, Some(SOON), Some(SHORT)),
    )
    .await;
    let ran = world.run(world.dispatch("x")).await;
    assert_eq!(phase(ran.error()), (ErrorCode::Timeout, Some(Phase::Tool)));
    assert!(ran.error().hint.as_ref().unwrap().contains("tool_timeout"));
}

#[tokio::test]
async fn m_019_after_the_tool_silence_is_a_stall_again() {
    let script = [&call("1"), &result("1", "ok"), "hang"].concat();
    let world = World::with(Toy::default(), &script, limits(None, Some(SHORT), Some(SOON))).await;
    let ran = world.run(world.dispatch("x")).await;
    assert_eq!(phase(ran.error()), (ErrorCode::Timeout, Some(Phase::Stall)));
}

#[tokio::test]
async fn m_019_a_reader_that_is_behind_makes_no_stall() {
    let script = [
        "repeat 20000 {\"t\":\"text\",\"x\":\"0123456789012345678901234567890123456789\"}\n",
        DONE,
    ];
    let world =
        World::with(Toy::default(), &script.concat(), limits(None, Some(SHORT), None)).await;
    let running = world.start(world.dispatch("x"));
    tokio::time::sleep(SHORT * 3).await;
    assert_eq!(running.end().await.content().len(), 20_000 * 40);
}

#[tokio::test]
async fn m_019_the_total_limit_ends_a_dispatch_whose_reader_has_stopped() {
    let script = [&session("s"), "repeat 2000000000 {\"t\":\"text\",\"x\":\"{i} \"}\n"].concat();
    let world = World::with(Toy::default(), &script, limits(Some(SHORT), Some(SOON), None)).await;
    let running = world.start(world.dispatch("x"));
    // Nobody reads before the outcome is there.
    let proof = tokio::time::timeout(SOON, async {
        while !running.dispatched.is_finished() {
            tokio::task::yield_now().await;
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    proof.await.unwrap();
    assert_eq!(phase(running.end().await.error()), (ErrorCode::Timeout, Some(Phase::Total)));
}

#[tokio::test]
async fn m_019_off_is_off() {
    let script = [&text("a"), "touch said\nwait-file go\n", DONE].concat();
    let world = World::with(Toy::default(), &script, limits(None, None, None)).await;
    let running = world.start(world.dispatch("x"));
    world.made("said").await;
    world.open_gate("go");
    running.end().await.outcome.unwrap();
}

#[tokio::test]
async fn m_019_a_second_try_has_its_own_silence() {
    // The first try uses up most of the limit for silence before it says that its session is lost.
    let limit = Duration::from_millis(2500);
    let world = World::with(Toy::default(), "", limits(None, Some(limit), None)).await;
    let mut first = world.dispatch("x");
    first.options.conversation_id = mia_api::ConversationId::generate();
    let conversation = first.options.conversation_id.clone();
    world.cli.script(&[&session("s1"), DONE].concat());
    world.run(first).await.outcome.unwrap();
    world.cli.next_script("sleep 1500\nout {\"t\":\"stale\",\"m\":\"gone\"}\n");
    world.cli.next_script(&["sleep 1500\n", &text("a"), DONE].concat());
    let mut second = world.dispatch("x");
    second.options.conversation_id = conversation;
    assert_eq!(world.run(second).await.content(), "a");
}
