//! Questions of the agent.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use mia_api::{
    ErrorCode, EventBody, NoticeKind, PermissionRequest, PermissionResolution, ResolvedBy,
};
use mia_plugin::{CodingPlugin, Permissions};
use pretty_assertions::assert_eq;
use serde_json::json;
use tokio::sync::{mpsc, oneshot};

use crate::toy::{DONE, Toy, ask, say, text};
use crate::world::{Ran, SOON, World};

/// A question on somebody's desk, and where the answer goes.
type Asked = (PermissionRequest, oneshot::Sender<Option<String>>);

/// Somebody who gets the questions and answers when the test says so.
#[derive(Debug)]
struct Desk(mpsc::UnboundedSender<Asked>);

impl Desk {
    fn new() -> (Arc<Self>, mpsc::UnboundedReceiver<Asked>) {
        let (questions, asked) = mpsc::unbounded_channel();
        (Arc::new(Self(questions)), asked)
    }
}

impl Permissions for Desk {
    fn somebody_there(&self) -> bool {
        true
    }

    fn ask(&self, request: PermissionRequest) -> BoxFuture<'static, PermissionResolution> {
        let (answer, answered) = oneshot::channel();
        let id = request.id.clone();
        self.0.send((request, answer)).unwrap();
        Box::pin(async move {
            let option_id = answered.await.unwrap();
            PermissionResolution { id, option_id, by: ResolvedBy::Client }
        })
    }
}

fn toy() -> Toy {
    Toy { dialogue: true, ..Toy::default() }
}

/// Asks, waits for the answer, writes it down.
fn asks() -> String {
    ["read-line\n", &ask("q1"), "read-line answer\n", &text("a"), DONE].concat()
}

fn resolutions(ran: &Ran) -> Vec<(Option<&str>, ResolvedBy)> {
    let resolved = ran.events.iter().filter_map(|event| match event {
        EventBody::PermissionResolved(r) => Some((r.option_id.as_deref(), r.by)),
        _ => None,
    });
    resolved.collect()
}

#[tokio::test]
async fn m_004_a_question_is_answered_by_somebody_there() {
    for answer in [Some("yes"), Some("no"), None] {
        let world = World::with(toy(), &asks(), |_| {}).await;
        let (desk, mut asked) = Desk::new();
        let mut dispatch = world.dispatch("p\n");
        dispatch.permissions = desk;
        let mut running = world.start(dispatch);
        running.until(|event| matches!(event, EventBody::Permission(_))).await;
        let (question, reply) = asked.recv().await.unwrap();
        assert_eq!(question, crate::toy::question("q1"));
        reply.send(answer.map(str::to_owned)).unwrap();
        let ran = running.end().await;
        assert_eq!(ran.content(), "a");
        assert_eq!(resolutions(&ran), [(answer, ResolvedBy::Client)]);
        let told = json!({"answer": "q1", "option": answer}).to_string() + "\n";
        assert_eq!(world.file("answer"), told);
    }
}

#[tokio::test]
async fn m_004_with_nobody_there_it_is_denied_at_once() {
    let world = World::with(toy(), &["dump-argv argv\n", &asks()].concat(), |_| {}).await;
    let ran = world.run(world.dispatch("p\n")).await;
    assert_eq!(ran.content(), "a");
    assert_eq!(resolutions(&ran), [(None, ResolvedBy::Nobody)]);
    let denied = ran.notices(NoticeKind::Denied);
    assert_eq!(denied, ["denied, for nobody was there to be asked: may I q1?"]);
    assert_eq!(world.file("answer"), "{\"answer\":\"q1\",\"option\":null}\n");
    assert!(!world.file("argv").contains("--asks"), "the agent is not told to ask");
}

#[tokio::test]
async fn m_004_an_agent_may_withdraw_its_question() {
    let unask = say(&json!({"t": "unask", "id": "q1"}));
    let script = ["read-line\n", &ask("q1"), "wait-file go\n", &unask, &text("a"), DONE].concat();
    let world = World::with(toy(), &script, |_| {}).await;
    let (desk, mut asked) = Desk::new();
    let mut dispatch = world.dispatch("p\n");
    dispatch.permissions = desk;
    let running = world.start(dispatch);
    let (_, mut reply) = asked.recv().await.unwrap();
    assert!(!reply.is_closed());
    world.open_gate("go");
    tokio::time::timeout(SOON, reply.closed()).await.unwrap();
    let ran = running.end().await;
    assert_eq!(ran.content(), "a");
    assert_eq!(resolutions(&ran), [(None, ResolvedBy::End)]);
}

#[tokio::test]
async fn m_004_the_end_withdraws_what_is_open() {
    let script = ["read-line\n", &ask("q1"), &ask("q2"), "wait-file go\n", DONE].concat();
    let world = World::with(toy(), &script, |_| {}).await;
    let (desk, mut asked) = Desk::new();
    let mut dispatch = world.dispatch("p\n");
    dispatch.permissions = desk;
    let running = world.start(dispatch);
    let (_, first) = asked.recv().await.unwrap();
    let (_, second) = asked.recv().await.unwrap();
    world.open_gate("go");
    let ran = running.end().await;
    assert!(first.is_closed() && second.is_closed());
    assert_eq!(resolutions(&ran), [(None, ResolvedBy::End), (None, ResolvedBy::End)]);
}

#[tokio::test]
async fn m_024_an_abort_withdraws_the_question_and_asks_none_any_more() {
    let toy = Toy { interrupt: mia_plugin::Interrupt::Written, ..toy() };
    let script =
        ["read-line\n", &ask("q1"), "read-until interrupt\n", &ask("q2"), "read-until nothing\n"];
    let world = World::with(toy, &script.concat(), |_| {}).await;
    let (desk, mut asked) = Desk::new();
    let mut dispatch = world.dispatch("p\n");
    dispatch.permissions = desk;
    let running = world.start(dispatch);
    let (_, reply) = asked.recv().await.unwrap();
    world.plugin.abort(&running.task.clone()).await;
    assert!(reply.is_closed());
    let ran = running.end().await;
    assert_eq!(ran.code(), Some(ErrorCode::Aborted));
    assert_eq!(resolutions(&ran), [(None, ResolvedBy::End)]);
    assert!(asked.try_recv().is_err(), "q2 was not put to anybody");
}

#[tokio::test]
async fn m_019_an_open_question_suspends_the_stall() {
    let short = Duration::from_millis(300);
    let world = World::with(toy(), &asks(), |config| config.stall_timeout = Some(short)).await;
    let (desk, mut asked) = Desk::new();
    let mut dispatch = world.dispatch("p\n");
    dispatch.permissions = desk;
    let running = world.start(dispatch);
    let (_, reply) = asked.recv().await.unwrap();
    tokio::time::sleep(short * 3).await;
    reply.send(Some("yes".to_owned())).unwrap();
    assert_eq!(running.end().await.content(), "a");
}

#[tokio::test]
async fn m_019_an_open_question_has_the_limit_of_tools() {
    let world = World::with(toy(), &asks(), |config| {
        config.tool_timeout = Some(Duration::from_millis(300));
    })
    .await;
    let (desk, mut asked) = Desk::new();
    let mut dispatch = world.dispatch("p\n");
    dispatch.permissions = desk;
    let running = world.start(dispatch);
    let (_, reply) = asked.recv().await.unwrap();
    let ran = running.end().await;
    assert_eq!(ran.code(), Some(ErrorCode::Timeout));
    assert_eq!(ran.error().phase, Some(mia_api::Phase::Tool));
    assert!(reply.is_closed());
}

#[tokio::test]
async fn m_012_a_flood_of_output_does_not_keep_an_answer_from_the_agent() {
    // It talks and talks until it has its answer: a second process reads stdin.
    let script = [
        "read-line\n",
        &ask("q1"),
        "repeat 200000 {\"t\":\"text\",\"x\":\"{i} \"}\nread-line answer\n",
        DONE,
    ];
    let world = World::with(toy(), &script.concat(), |_| {}).await;
    let ran = world.run(world.dispatch("p\n")).await;
    ran.outcome.as_ref().unwrap();
    assert_eq!(world.file("answer"), "{\"answer\":\"q1\",\"option\":null}\n");
}
