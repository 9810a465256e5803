//! Conversations that go on.

use mia_api::{ConversationId, ErrorCode, NoticeKind};
use mia_plugin::{SessionKey, SessionRecord, Sessions};
use pretty_assertions::assert_eq;

use super::World;

#[tokio::test]
async fn m_017_a_conversation_goes_on_in_a_second_process() {
    let Some(mut world) = World::new().await else {
        return;
    };
    let first = world.dispatch("REMEMBER kiwi");
    let conversation = first.options.conversation_id.clone();
    let session = world.run(first).await.result().session_id.clone();
    world.restart().await;
    let mut second = world.dispatch("RECALL");
    second.options.conversation_id = conversation.clone();
    second.earlier_turns = 1;
    let ran = world.run(second).await;
    assert_eq!(ran.answer(), "The word is kiwi");
    assert_eq!(ran.result().session_id, session);
    assert!(!ran.result().context_reset);

    // Claude's own command begins another session, which is then the conversation's.
    let mut clear = world.dispatch("/clear");
    clear.options.conversation_id = conversation.clone();
    clear.earlier_turns = 2;
    let cleared = world.run(clear).await;
    assert_ne!(cleared.result().session_id, session, "{cleared:?}");
    assert!(!cleared.result().context_reset, "it was asked to");
    let mut third = world.dispatch("RECALL");
    third.options.conversation_id = conversation;
    third.earlier_turns = 3;
    assert_eq!(world.run(third).await.answer(), "I do not know any word");
}

#[tokio::test]
async fn m_018_a_stale_session_is_replaced_once_and_the_fresh_one_is_told() {
    let Some(world) = World::new().await else {
        return;
    };
    world.sessions.set_recap("They asked for a kiwi. You said: fine.");
    for stale in ["11111111-2222-4333-8444-555555555555", "not-a-uuid"] {
        let mut dispatch = world.dispatch("SAY hello again");
        dispatch.earlier_turns = 1;
        let key = SessionKey {
            plugin: "claude-code".to_owned(),
            conversation: dispatch.options.conversation_id.clone(),
            cwd: Some(world.home.work()),
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

#[tokio::test]
async fn m_018_an_error_of_the_provider_does_not_cost_the_session() {
    let Some(world) = World::new().await else {
        return;
    };
    let conversation = ConversationId::generate();
    let turn = |prompt: &str, earlier| {
        let mut dispatch = world.dispatch(prompt);
        dispatch.options.conversation_id = conversation.clone();
        dispatch.earlier_turns = earlier;
        dispatch
    };
    let session = world.run(turn("REMEMBER plum", 0)).await.result().session_id.clone();
    let failed = world.run(turn("ERROR 400", 1)).await;
    assert_eq!(failed.error().code, ErrorCode::ProviderError);
    let ran = world.run(turn("RECALL", 2)).await;
    assert_eq!(ran.answer(), "The word is plum");
    assert_eq!(ran.result().session_id, session);
}
