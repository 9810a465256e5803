//! Prompts that are none for qwen.

use mia_api::{Cause, ErrorCode, PermissionPolicy};
use pretty_assertions::assert_eq;

use super::World;

#[tokio::test]
async fn m_011_an_empty_prompt_is_refused_at_once() {
    let Some(world) = World::new().await else {
        return;
    };
    let ran = world.run(world.dispatch("")).await;
    assert_eq!(
        (ran.error().code, ran.error().cause),
        (ErrorCode::ProviderError, Some(Cause::InvalidRequest))
    );
    assert!(ran.error().hint.is_some());
    assert_eq!(world.llm.log().total, 0);
}

#[tokio::test]
async fn m_018_the_command_clear_begins_another_session_and_that_one_goes_on() {
    let Some(world) = World::new().await else {
        return;
    };
    let first = world.dispatch("REMEMBER kiwi");
    let conversation = first.options.conversation_id.clone();
    let session = world.run(first).await.result().session_id.clone();
    let cleared = world.run(world.next(&conversation, 1, "/clear")).await;
    assert!(!cleared.result().context_reset, "{cleared:?}");
    assert_ne!(cleared.result().session_id, session);
    let ran = world.run(world.next(&conversation, 2, "RECALL")).await;
    assert_eq!(ran.answer(), "I do not know any word");
}

#[tokio::test]
async fn m_026_a_command_of_its_own_writes_nothing_under_read_only() {
    let Some(world) = World::new().await else {
        return;
    };
    for prompt in ["/init", " \n/init"] {
        let mut dispatch = world.dispatch(&format!("{prompt}\nSAY done"));
        dispatch.options.permissions = Some(PermissionPolicy::ReadOnly);
        assert_eq!(world.run(dispatch).await.answer(), "done");
    }
    let made = std::fs::read_dir(world.home.work()).unwrap().flatten().map(|e| e.file_name());
    assert_eq!(made.collect::<Vec<_>>(), Vec::<std::ffi::OsString>::new());
}
