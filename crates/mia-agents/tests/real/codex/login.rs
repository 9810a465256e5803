//! Where it has its key from.

use std::fs;

use mia_api::{Cause, ErrorCode};
use pretty_assertions::assert_eq;

use super::World;

const KEY: &str = "CODEX_API_KEY";

/// With OpenAI's own provider at the model server.
async fn at_openai() -> Option<World> {
    let world = World::new().await?;
    let config = format!(
        "check_for_update_on_startup = false\nopenai_base_url = \"{}/v1\"\n[features]\nplugins = false\n[analytics]\nenabled = false\n",
        world.llm.url()
    );
    fs::write(world.home.home().join(".codex/config.toml"), config).unwrap();
    Some(world)
}

#[tokio::test]
async fn m_026_the_key_of_the_environment_serves_until_there_is_a_login() {
    let Some(world) = at_openai().await else {
        return;
    };
    let first = world.dispatch("REMEMBER kiwi");
    let conversation = first.options.conversation_id.clone();
    assert_eq!(world.run(first).await.answer(), "OK, remembered kiwi");
    let again = world.run(world.next(&conversation, 1, "RECALL")).await;
    assert_eq!(again.answer(), "The word is kiwi");
    let log = world.llm.log();
    assert!(log.turns().all(|request| request.key == "dummy"));

    // What the first turns had their key from is not asked for any more.
    let login = r#"{"auth_mode":"apikey","OPENAI_API_KEY":"dummy"}"#;
    fs::write(world.home.home().join(".codex/auth.json"), login).unwrap();
    let mut next = world.next(&conversation, 2, "RECALL");
    next.environment = world.environment().into_iter().filter(|(name, _)| name != KEY).collect();
    let ran = world.run(next).await;
    assert_eq!(ran.answer(), "The word is kiwi", "{ran:?}");
    assert!(!ran.result().context_reset);
}

#[tokio::test]
async fn m_026_a_login_that_is_gone_is_told_and_its_session_kept() {
    let Some(world) = at_openai().await else {
        return;
    };
    let (login, gone) = (world.home.home().join(".codex/auth.json"), "SAY x");
    fs::write(&login, r#"{"auth_mode":"apikey","OPENAI_API_KEY":"dummy"}"#).unwrap();
    let first = world.dispatch("REMEMBER kiwi");
    let conversation = first.options.conversation_id.clone();
    assert_eq!(world.run(first).await.answer(), "OK, remembered kiwi");
    let login_text = fs::read(&login).unwrap();
    fs::remove_file(&login).unwrap();
    let ran = world.run(world.next(&conversation, 1, gone)).await;
    assert_eq!(ran.error().cause, Some(Cause::Authentication), "{ran:?}");
    fs::write(&login, login_text).unwrap();
    let ran = world.run(world.next(&conversation, 2, "RECALL")).await;
    assert_eq!(ran.answer(), "The word is kiwi");
}

#[tokio::test]
async fn m_026_without_login_and_key_it_says_what_to_do() {
    let Some(world) = at_openai().await else {
        return;
    };
    let mut dispatch = world.dispatch("SAY x");
    dispatch.environment =
        world.environment().into_iter().filter(|(name, _)| name != KEY).collect();
    let ran = world.run(dispatch).await;
    let error = ran.error();
    assert_eq!((error.code, error.cause), (ErrorCode::ProviderError, Some(Cause::Authentication)));
    assert!(error.message.contains("not logged in"), "{error:?}");
    assert!(error.hint.as_ref().unwrap().contains("codex login"), "{error:?}");
    assert_eq!(world.llm.log().total, 0);
}
