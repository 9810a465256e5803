//! Aborts and kills: nothing of it lives on, and the conversation can.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use mia_api::{
    Cause, ErrorCode, EventBody, NoticeKind, PermissionPolicy, PermissionRequest,
    PermissionResolution, ResolvedBy,
};
use mia_plugin::{CodingPlugin, Permissions, event_channel};
use mia_testkit::proc;
use pretty_assertions::assert_eq;

use super::World;
use crate::world::SOON;

#[tokio::test]
async fn m_024_an_abort_in_mid_stream_keeps_the_text_and_the_session() {
    let Some(world) = World::new().await else {
        return;
    };
    let dispatch = world.dispatch("REMEMBER fig\nPRE half an \nGATE never\nSAY answer");
    let conversation = dispatch.options.conversation_id.clone();
    let mut running = world.start(dispatch);
    running.until_said("OK, remembered fig").await;
    world.plugin.abort(&running.task.clone()).await;
    assert_eq!(world.alive(), [], "all is gone when the abort is answered");
    let ran = running.end().await;
    assert_eq!((ran.error().code, ran.error().cause), (ErrorCode::Aborted, Some(Cause::Requested)));
    assert_eq!(ran.partial(), ran.said());
    let session = ran.error().partial.as_ref().unwrap().session_id.clone();
    assert!(session.is_some());
    let mut next = world.dispatch("RECALL");
    next.options.conversation_id = conversation;
    next.earlier_turns = 1;
    let ran = world.run(next).await;
    assert_eq!(ran.answer(), "The word is fig");
    assert_eq!(ran.result().session_id, session);
}

/// Somebody who is there and never answers.
#[derive(Debug)]
struct Silent;

impl Permissions for Silent {
    fn somebody_there(&self) -> bool {
        true
    }

    fn ask(&self, _request: PermissionRequest) -> BoxFuture<'static, PermissionResolution> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test]
async fn m_024_an_abort_while_it_asks_withdraws_the_question() {
    let Some(world) = World::new().await else {
        return;
    };
    let mut dispatch = world.dispatch("TOOL bash touch made.txt\nSAY done");
    dispatch.permissions = Arc::new(Silent);
    let mut running = world.start(dispatch);
    running.until(|event| matches!(event, EventBody::Permission(_))).await;
    // Its session is on record while it runs, for a crash now.
    assert_eq!(world.sessions.ids().len(), 1);
    world.plugin.abort(&running.task.clone()).await;
    assert_eq!(world.alive(), []);
    let ran = running.end().await;
    assert_eq!(ran.error().code, ErrorCode::Aborted);
    let ends = ran.events.iter().filter(|event| {
        matches!(event, EventBody::PermissionResolved(answer) if answer.by == ResolvedBy::End)
    });
    assert_eq!(ends.count(), 1, "{:?}", ran.events);
    assert_eq!(world.file("made.txt"), None);
}

#[tokio::test]
async fn m_024_an_abort_in_mid_tool_takes_children_in_other_sessions_along() {
    let Some(world) = World::new().await else {
        return;
    };
    let prompt = "TOOL bash setsid tail -f /dev/null & tail -n 3 -f /dev/null\nSAY done";
    let mut dispatch = world.dispatch(prompt);
    dispatch.options.permissions = Some(PermissionPolicy::Full);
    let conversation = dispatch.options.conversation_id.clone();
    let mut running = world.start(dispatch);
    running.until(|event| matches!(event, EventBody::ToolCall(_))).await;
    let detached = world.process("tail -f /dev/null").await;
    world.process("tail -n 3 -f /dev/null").await;
    assert_eq!(detached.session(), Some(detached.pid()), "it is in a session of its own");
    world.plugin.abort(&running.task.clone()).await;
    assert_eq!(world.alive(), []);
    let ran = running.end().await;
    assert_eq!(ran.error().code, ErrorCode::Aborted);
    let mut next = world.dispatch("SAY still here");
    next.options.conversation_id = conversation;
    next.earlier_turns = 1;
    let ran = world.run(next).await;
    assert_eq!(ran.answer(), "still here");
    assert!(!ran.result().context_reset);
}

#[tokio::test]
async fn m_022_a_helper_that_a_tool_put_away_is_swept_with_a_notice() {
    let Some(world) = World::new().await else {
        return;
    };
    let command = "setsid nohup tail -f /dev/null > /dev/null 2>&1 &";
    let ran = world.ask(&format!("TOOL bash {command}\nSAY done")).await;
    assert_eq!(ran.answer(), "done");
    assert_eq!(world.alive(), []);
    let notices = ran.notices(NoticeKind::Leftover);
    assert_eq!(notices.len(), 1, "{:?}", ran.events);
}

/// Prints the address of its model, and then waits to be killed in the middle of a tool.
#[test]
#[ignore = "it is started and killed by the test below"]
fn the_process_that_is_killed() {
    let Some(url) = std::env::var_os("MODEL_OF_THE_KILLED") else {
        return;
    };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let Some(world) = World::new().await else {
            return;
        };
        let mut dispatch =
            world.dispatch("TOOL bash setsid tail -f /dev/null & tail -n 3 -f /dev/null");
        dispatch.options.permissions = Some(PermissionPolicy::Full);
        dispatch.options.env.insert("ANTHROPIC_BASE_URL".to_owned(), url.into_string().unwrap());
        let mark = std::env::var("MARK_OF_THE_KILLED").unwrap();
        // The killed can't remove its home: who kills it does.
        let home = world.home.home();
        let note = Path::new(&mark).join("home-of-the-killed");
        std::fs::write(note, home.parent().unwrap().to_str().unwrap()).unwrap();
        dispatch.options.env.insert("MARK_OF_THE_KILLED".to_owned(), mark);
        let (sink, _stream) = event_channel();
        let ended = world.plugin.dispatch(dispatch, sink).await;
        panic!("it was not killed: {ended:?}");
    });
}

#[tokio::test]
async fn m_021_nothing_lives_on_when_mia_is_killed() {
    let Some(world) = World::new().await else {
        return;
    };
    let mark = world.home.work().to_string_lossy().into_owned();
    let mut killed = Command::new(std::env::current_exe().unwrap())
        .args([
            "--ignored",
            "--exact",
            "claude_code::ending::the_process_that_is_killed",
            "--nocapture",
        ])
        .env("MODEL_OF_THE_KILLED", world.llm.url())
        .env("MARK_OF_THE_KILLED", &mark)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let family = || proc::with_env("MARK_OF_THE_KILLED", &mark);
    let runs = |command: &str| family().into_iter().any(|process| process.command() == command);
    proc::wait_for("claude and its tools", SOON, || {
        (runs("tail -f /dev/null") && runs("tail -n 3 -f /dev/null")).then_some(())
    })
    .await;
    let family = family();
    let program = world.program().to_string_lossy().into_owned();
    assert!(family.iter().any(|process| process.command().starts_with(&program)), "{family:?}");
    killed.kill().unwrap();
    killed.wait().unwrap();
    let left = proc::wait_until_gone(&family, Duration::from_secs(6)).await;
    assert_eq!(left, Ok(()), "six seconds later");
    std::fs::remove_dir_all(world.file("home-of-the-killed").unwrap()).unwrap();
    assert_eq!(proc::with_env("MARK_OF_THE_KILLED", &mark), []);
}
