//! Aborts and kills: nothing of it lives on, and the conversation can.

use std::sync::Arc;

use futures::future::BoxFuture;
use mia_api::{
    ErrorCode, EventBody, NoticeKind, PermissionRequest, PermissionResolution, ResolvedBy,
};
use mia_plugin::{CodingPlugin, Permissions};
use pretty_assertions::assert_eq;

use super::World;

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
