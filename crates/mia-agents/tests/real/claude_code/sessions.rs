//! Conversations that go on.

use pretty_assertions::{assert_eq, assert_ne};

use super::World;

#[tokio::test]
async fn m_017_its_own_command_begins_another_session_which_is_then_the_conversations() {
    let Some(world) = World::new().await else {
        return;
    };
    let first = world.dispatch("REMEMBER kiwi");
    let conversation = first.options.conversation_id.clone();
    let session = world.run(first).await.result().session_id.clone();
    let cleared = world.run(world.next(&conversation, 1, "/clear")).await;
    assert_ne!(cleared.result().session_id, session, "{cleared:?}");
    assert!(!cleared.result().context_reset, "it was asked to");
    let ran = world.run(world.next(&conversation, 2, "RECALL")).await;
    assert_eq!(ran.answer(), "I do not know any word");
}
