//! Conversations that go on.

use mia_api::{ErrorCode, NoticeKind};
use mia_plugin::{SessionKey, SessionRecord, Sessions as _};
use pretty_assertions::assert_eq;

use crate::world::{Real, World};

pub(crate) async fn m_017_the_conversation_goes_on_in_a_second_process<A: Real>(
    mut world: World<A>,
) {
    let first = world.dispatch("REMEMBER kiwi");
    let conversation = first.options.conversation_id.clone();
    let session = world.run(first).await.result().session_id.clone();
    world.restart().await;
    let ran = world.run(world.next(&conversation, 1, "RECALL")).await;
    assert_eq!(ran.answer(), "The word is kiwi");
    assert_eq!(ran.result().session_id, session);
    assert!(!ran.result().context_reset);
}

pub(crate) async fn m_018_a_stale_session_is_replaced_and_told<A: Real>(world: World<A>) {
    world.sessions.set_recap("They asked for a kiwi. You said: fine.");
    let needs_cwd = A::default().profile().session_needs_cwd;
    for stale in ["11111111-2222-4333-8444-555555555555", "no-such-session"] {
        let mut dispatch = world.dispatch("SAY hello again");
        dispatch.earlier_turns = 1;
        let key = SessionKey {
            plugin: A::AGENT.name().to_owned(),
            conversation: dispatch.options.conversation_id.clone(),
            cwd: needs_cwd.then(|| world.home.work()),
        };
        let record = SessionRecord { session_id: stale.to_owned(), state: serde_json::Value::Null };
        world.sessions.put(&key, &record).await.unwrap();
        let before = world.llm.log().turns().count();
        let ran = world.run(dispatch).await;
        assert_eq!(ran.answer(), "hello again");
        assert!(ran.result().context_reset);
        assert_eq!(ran.notices(NoticeKind::ContextReset).len(), 1);
        let session = ran.result().session_id.clone().unwrap();
        assert_ne!(session, stale);
        assert_eq!(world.sessions.get(&key).await.unwrap().unwrap().session_id, session);
        let log = world.llm.log();
        assert_eq!(log.turns().count(), before + 1, "retried once");
        let body = log.turns().last().unwrap().body.as_ref().unwrap().to_string();
        assert!(body.contains("They asked for a kiwi."), "{body}");
    }
}

pub(crate) async fn m_018_an_error_of_the_provider_does_not_cost_the_session<A: Real>(
    world: World<A>,
) {
    let first = world.dispatch("REMEMBER plum");
    let conversation = first.options.conversation_id.clone();
    let session = world.run(first).await.result().session_id.clone();
    let failed = world.run(world.next(&conversation, 1, "ERROR 400")).await;
    assert_eq!(failed.error().code, ErrorCode::ProviderError);
    let ran = world.run(world.next(&conversation, 2, "RECALL")).await;
    assert_eq!(ran.answer(), "The word is plum");
    assert_eq!(ran.result().session_id, session);
}
