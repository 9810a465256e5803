//! Directories that the user has not trusted.

use mia_api::{Cause, ErrorCode, PermissionPolicy};
use pretty_assertions::assert_eq;
use serde_json::json;

use super::{World, settings};

/// Where gemini asks for trust, as it does unless the user says otherwise.
async fn world() -> Option<World> {
    let world = World::new().await?;
    settings(&world, json!({ "security": { "folderTrust": { "enabled": true } } }));
    Some(world)
}

#[tokio::test]
async fn m_026_a_folder_that_brings_nothing_along_needs_no_trust() {
    let Some(world) = world().await else {
        return;
    };
    let ran = world.ask("TOOL bash touch made.txt\nSAY done").await;
    assert_eq!(ran.answer(), "done");
    assert!(world.file("made.txt").is_some(), "with all that `full` allows: {ran:?}");
}

#[tokio::test]
async fn m_026_a_folder_that_brings_commands_along_is_the_users_to_trust() {
    let Some(world) = world().await else {
        return;
    };
    let hook = json!({ "type": "command", "command": "touch hook-has-run" });
    let hooks = json!({ "hooks": { "SessionStart": [{ "hooks": [hook] }] } });
    let folder = world.home.work().join(".gemini");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("settings.json"), hooks.to_string()).unwrap();
    for policy in [None, Some(PermissionPolicy::ReadOnly), Some(PermissionPolicy::Full)] {
        let mut dispatch = world.dispatch("SAY done");
        dispatch.options.permissions = policy;
        let ran = world.run(dispatch).await;
        let error = ran.error();
        let expected = (ErrorCode::SpawnFailure, Some(Cause::WorkingDirectory));
        assert_eq!((error.code, error.cause), expected, "{error:?}");
        assert!(error.hint.as_ref().is_some_and(|hint| hint.contains("trust")), "{error:?}");
        assert!(world.file("hook-has-run").is_none());
    }
    assert_eq!(world.llm.log().total, 0);
    // The user's own word.
    let mut dispatch = world.dispatch("SAY done");
    let trust = [("GEMINI_CLI_TRUST_WORKSPACE".to_owned(), "true".to_owned())];
    dispatch.environment = world.environment().into_iter().chain(trust).collect();
    assert_eq!(world.run(dispatch).await.answer(), "done");
}

/// Gemini looks above where it is, not along the link that led it there.
#[tokio::test]
async fn m_026_a_link_to_a_folder_hides_nothing_that_lies_above_it() {
    let Some(world) = world().await else {
        return;
    };
    let (real, link) = (world.home.work().join("cloned/src"), world.home.work().join("link"));
    std::fs::create_dir_all(&real).unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    let ask = || {
        let mut dispatch = world.dispatch("SAY done");
        dispatch.options.working_directory = link.clone();
        world.run(dispatch)
    };
    assert_eq!(ask().await.answer(), "done");
    std::fs::write(world.home.work().join("cloned/.env"), "GEMINI_MODEL=other\n").unwrap();
    let ran = ask().await;
    assert_eq!(ran.error().cause, Some(Cause::WorkingDirectory), "{ran:?}");
}
