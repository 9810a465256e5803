//! Tokens, money, and models that it has not.

use mia_api::{Cause, ConversationId, ErrorCode};
use pretty_assertions::assert_eq;

use super::World;

#[tokio::test]
async fn m_006_a_turn_of_several_requests_tells_its_cost_and_no_tokens() {
    let Some(world) = World::new().await else { return };
    let conversation = ConversationId::generate();
    let prompt = "USAGE in=1000 out=100\nTOOL bash true\nUSAGE in=1000 out=100\nSAY done";
    let mut costs = Vec::new();
    for turn in 0..2 {
        let mut dispatch = world.next(&conversation, turn, prompt);
        dispatch.options.permissions = Some(mia_api::PermissionPolicy::Full);
        let ran = world.run(dispatch).await;
        assert_eq!(ran.result().usage, None, "those of the last request are not all");
        costs.push(ran.result().cost_usd.unwrap());
    }
    // In US dollars for a million tokens: 1 of input, 2 of output.
    for cost in costs {
        assert!((cost - 0.0024).abs() < 1e-6, "{cost}");
    }
}

#[tokio::test]
async fn m_026_a_model_that_it_has_not_is_an_error_before_anything_is_asked() {
    let Some(world) = World::new().await else { return };
    let mut dispatch = world.dispatch("SAY x");
    dispatch.options.model = Some("fake/nosuch".to_owned());
    let ran = world.run(dispatch).await;
    let error = ran.error();
    assert_eq!((error.code, error.cause), (ErrorCode::ProviderError, Some(Cause::InvalidRequest)));
    assert!(error.message.contains("fake/nosuch") && error.hint.is_some(), "{error:?}");
    assert_eq!(world.llm.log().total, 0);
}

#[tokio::test]
async fn m_007_a_mistake_in_its_configuration_is_named() {
    let Some(world) = World::new().await else { return };
    for mistake in ["{ broken", r#"{"model": 7}"#] {
        let file = world.home.work().join("opencode.json");
        std::fs::write(&file, mistake).unwrap();
        let ran = world.run(world.dispatch("SAY x")).await;
        let error = ran.error();
        assert_eq!(error.code, ErrorCode::SpawnFailure, "{error:?}");
        assert!(error.message.contains(file.to_str().unwrap()), "{error:?}");
        assert!(error.hint.is_some(), "{error:?}");
    }
}
