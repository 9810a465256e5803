//! Aborts and kills: nothing of it lives on, and the conversation can.

use std::process::{Command, Stdio};
use std::time::Duration;

use mia_api::{Cause, ErrorCode, EventBody, PermissionPolicy};
use mia_plugin::{Ability, CodingPlugin as _, event_channel};
use mia_testkit::proc;
use pretty_assertions::assert_eq;

use crate::world::{Killed, Real, SOON, World};

pub(crate) async fn m_024_an_abort_in_mid_stream<A: Real>(world: World<A>) {
    let dispatch = world.dispatch("PRE half an \nGATE never\nREMEMBER fig");
    let conversation = dispatch.options.conversation_id.clone();
    let mut running = world.start(dispatch);
    if world.can(Ability::Deltas) {
        running.until_said("half an").await;
    } else {
        world.until_asked(1).await;
    }
    world.plugin.abort(&running.task.clone()).await;
    assert_eq!(world.alive(), [], "all is gone when the abort is answered");
    let ran = running.end().await;
    assert_eq!((ran.error().code, ran.error().cause), (ErrorCode::Aborted, Some(Cause::Requested)));
    assert_eq!(ran.partial(), ran.said());
    goes_on(
        &world,
        &conversation,
        ran.error().partial.as_ref().and_then(|p| p.session_id.clone()),
        "fig",
    )
    .await;
}

pub(crate) async fn m_024_an_abort_in_mid_tool<A: Real>(world: World<A>) {
    // One child of the tool has left its session.
    let prompt = "TOOL bash setsid tail -f /dev/null & tail -n 3 -f /dev/null\nREMEMBER pear";
    let mut dispatch = world.dispatch(prompt);
    dispatch.options.permissions = Some(PermissionPolicy::Full);
    let conversation = dispatch.options.conversation_id.clone();
    let mut running = world.start(dispatch);
    if world.can(Ability::OpenTools) {
        running.until(|event| matches!(event, EventBody::ToolCall(_))).await;
    }
    let detached = world.process("tail -f /dev/null").await;
    world.process("tail -n 3 -f /dev/null").await;
    assert_eq!(detached.session(), Some(detached.pid()), "it is in a session of its own");
    world.plugin.abort(&running.task.clone()).await;
    assert_eq!(world.alive(), []);
    let ran = running.end().await;
    assert_eq!(ran.error().code, ErrorCode::Aborted);
    goes_on(
        &world,
        &conversation,
        ran.error().partial.as_ref().and_then(|p| p.session_id.clone()),
        "pear",
    )
    .await;
}

/// The conversation goes on, in the same session, and knows what was said.
async fn goes_on<A: Real>(
    world: &World<A>,
    conversation: &mia_api::ConversationId,
    session: Option<String>,
    word: &str,
) {
    let ran = world.run(world.next(conversation, 1, "RECALL")).await;
    if world.can(Ability::ResumeAfterAbort) {
        assert_eq!(ran.answer(), format!("The word is {word}"));
        assert!(session.is_some());
        assert_eq!(ran.result().session_id, session);
        assert!(!ran.result().context_reset);
    } else {
        // Begun anew, and said so.
        assert!(ran.result().context_reset, "{ran:?}");
    }
}

/// Says where it lives, and then waits to be killed in the middle of a tool.
pub(crate) async fn wait_to_be_killed<A: Real>(killed: Killed) {
    let Some(world) = World::<A>::at(killed.url).await else {
        return;
    };
    let mut dispatch =
        world.dispatch("TOOL bash setsid tail -f /dev/null & tail -n 3 -f /dev/null");
    dispatch.options.permissions = Some(PermissionPolicy::Full);
    dispatch.options.env.insert(Killed::MARK.to_owned(), killed.mark.display().to_string());
    // The killed can't remove its home: who kills it does.
    let home = world.home.home();
    let note = home.parent().unwrap().to_str().unwrap();
    std::fs::write(killed.mark.join("home-of-the-killed"), note).unwrap();
    let (sink, _stream) = event_channel();
    let ended = world.plugin.dispatch(dispatch, sink).await;
    panic!("it was not killed: {ended:?}");
}

pub(crate) async fn m_021_nothing_lives_on_when_mia_is_killed<A: Real>(world: World<A>) {
    let mark = world.home.work().to_string_lossy().into_owned();
    let test = format!("matrix::{}::the_mia_that_is_killed", A::AGENT.name().replace('-', "_"));
    let mut killed = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", &test, "--nocapture"])
        .env(Killed::URL, world.llm.url())
        .env(Killed::MARK, &mark)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let family = || proc::with_env(Killed::MARK, &mark);
    let runs = |command: &str| family().into_iter().any(|process| process.command() == command);
    proc::wait_for("the agent and its tools", SOON, || {
        (runs("tail -f /dev/null") && runs("tail -n 3 -f /dev/null")).then_some(())
    })
    .await;
    let family = family();
    assert!(family.len() >= 4, "{family:?}");
    killed.kill().unwrap();
    killed.wait().unwrap();
    let left = proc::wait_until_gone(&family, Duration::from_secs(6)).await;
    assert_eq!(left, Ok(()), "six seconds later");
    std::fs::remove_dir_all(world.file("home-of-the-killed").unwrap()).unwrap();
    assert_eq!(proc::with_env(Killed::MARK, &mark), []);
}
