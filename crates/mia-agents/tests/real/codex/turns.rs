//! Commands that outlive a turn, sub-agents, and a provider that is not there.

use mia_api::{Cause, ErrorCode, EventBody, NoticeKind};
use pretty_assertions::assert_eq;

use super::World;

#[tokio::test]
async fn m_022_a_command_in_the_background_ends_with_the_turn() {
    let Some(world) = World::new().await else {
        return;
    };
    let ran = world
        .ask("TOOL bash {\"cmd\":\"tail -f /dev/null\",\"yield_time_ms\":300}\nSAY done")
        .await;
    assert_eq!(ran.answer(), "done");
    let results = ran.results();
    assert_eq!(results.len(), 1);
    assert!(results[0].is_error && results[0].output.contains("still running"), "{results:?}");
    assert_eq!(world.alive(), []);
}

#[tokio::test]
async fn m_006_what_a_sub_agent_says_is_its_own() {
    let Some(world) = World::new().await else {
        return;
    };
    // Codex offers sub-agents to a model that it does not know, and not to its test's usual one.
    let prompt = "TOOL multi_agent_v1.spawn_agent {\"message\":\"SAY from below\",\"agent_type\":\"default\"}\nTOOL bash sleep 2\nSAY done";
    let mut dispatch = world.dispatch(prompt);
    dispatch.options.model = Some("fake-model".to_owned());
    dispatch.options.permissions = Some(mia_api::PermissionPolicy::Full);
    let ran = world.run(dispatch).await;
    assert_eq!(ran.answer(), "done");
    let call = ran.calls()[0].id.clone();
    let said = ran.events.iter().filter_map(|event| match event {
        EventBody::Token { text, parent_id: Some(parent), .. } if *parent == call => {
            Some(text.as_str())
        }
        _ => None,
    });
    assert_eq!(said.collect::<String>(), "from below");
}

#[tokio::test]
async fn m_013_a_later_turn_may_ask_another_model() {
    let Some(world) = World::new().await else {
        return;
    };
    let first = world.dispatch("REMEMBER kiwi");
    let conversation = first.options.conversation_id.clone();
    world.run(first).await.result();
    let mut next = world.next(&conversation, 1, "RECALL");
    next.options.model = Some("gpt-5.6-terra".to_owned());
    let ran = world.run(next).await;
    assert_eq!(ran.answer(), "The word is kiwi");
    assert_eq!(ran.result().model.as_deref(), Some("gpt-5.6-terra"));
    assert_eq!(world.llm.log().turns().last().unwrap().model, "gpt-5.6-terra");
}

#[tokio::test]
async fn m_026_a_provider_that_is_not_there_is_an_error_soon() {
    // Nobody listens on that port.
    let Some(world) = World::at("http://127.0.0.1:9".to_owned()).await else {
        return;
    };
    let ran = world.ask("SAY x").await;
    let error = ran.error();
    assert_eq!((error.code, error.cause), (ErrorCode::ProviderError, Some(Cause::Connection)));
    assert!(error.hint.is_some());
    assert_eq!(ran.notices(NoticeKind::Retry).len(), 3, "of itself codex waits for ever");
    assert_eq!(world.alive(), []);
}
