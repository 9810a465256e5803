//! Prompts that it does not take, and the model that it chooses.

use mia_api::{Cause, ErrorCode, PermissionPolicy};
use pretty_assertions::assert_eq;

use super::World;

#[tokio::test]
async fn m_026_what_does_not_fit_is_an_error_that_names_the_limit() {
    let Some(world) = World::new().await else {
        return;
    };
    for (prompt, words) in [
        // It would drop what is over in silence.
        ("x".repeat(8 * 1024 * 1024 + 1), "8 MiB"),
        // It does not send what the model can't read, and calls that a success.
        ("word ".repeat(1_200_000), "longer than it can read"),
    ] {
        let ran = world.ask(&prompt).await;
        let error = ran.error();
        let expected = (ErrorCode::ProviderError, Some(Cause::TooLong));
        assert_eq!((error.code, error.cause), expected, "{}", error.message);
        assert!(error.message.contains(words), "{}", error.message);
        assert!(error.hint.is_some());
    }
    let ran = world.ask("").await;
    assert_eq!(ran.error().cause, Some(Cause::InvalidRequest));
    assert_eq!(world.llm.log().turns().count(), 0);
}

#[tokio::test]
async fn m_006_requests_that_choose_the_model_are_counted() {
    let Some(world) = World::new().await else {
        return;
    };
    let mut dispatch = world.dispatch("USAGE in=1000 out=10 cached=0\nSAY hello");
    dispatch.options.permissions = Some(PermissionPolicy::Full);
    dispatch.options.model = Some("auto".to_owned());
    let ran = world.run(dispatch).await;
    assert_eq!(ran.answer(), "hello");
    let log = world.llm.log();
    assert!(log.requests.len() > 1, "{:?}", log.requests);
    let answered = &log.turns().last().unwrap().model;
    assert_eq!(ran.result().model.as_ref(), Some(answered), "not `auto`");
    let usage = ran.result().usage.clone().unwrap();
    assert!(usage.input_tokens > 1000 && usage.output_tokens > 10, "{usage:?}");
}
