//! What it may do, and how one learns what it might not.

use mia_api::{NoticeKind, PermissionPolicy};
use pretty_assertions::assert_eq;
use serde_json::json;

use super::{World, settings};

const TRIES: &str = "TOOL write_file {\"file_path\":\"w.txt\",\"content\":\"x\"}\n\
                     TOOL run_shell_command {\"command\":\"touch s.txt\"}\nSAY done";

#[tokio::test]
async fn m_026_read_only_holds_against_the_users_own_rules() {
    let Some(world) = World::new().await else {
        return;
    };
    // All that the user allows for good: commands, writing, a server.
    let server = world.home.work().join("server-was-started");
    settings(
        &world,
        json!({
            "tools": { "allowed": ["run_shell_command"] },
            "mcpServers": { "own": { "command": "touch", "args": [server], "trust": true } },
        }),
    );
    let policies = world.home.home().join(".gemini/policies");
    std::fs::create_dir(&policies).unwrap();
    let rule = "[[rule]]\ntoolName = \"write_file\"\ndecision = \"allow\"\npriority = 500\n";
    std::fs::write(policies.join("own.toml"), rule).unwrap();

    let ran = world.run(world.dispatch(TRIES)).await;
    assert_eq!(ran.answer(), "done");
    let made = || ["w.txt", "s.txt", "server-was-started"].map(|name| world.file(name).is_some());
    assert_eq!(made(), [true; 3], "they hold where nothing is said: {ran:?}");
    for name in ["w.txt", "s.txt", "server-was-started"] {
        std::fs::remove_file(world.home.work().join(name)).unwrap();
    }

    let mut dispatch = world.dispatch(TRIES);
    dispatch.options.permissions = Some(PermissionPolicy::ReadOnly);
    let ran = world.run(dispatch).await;
    assert_eq!(ran.answer(), "done");
    assert_eq!(made(), [false; 3], "{ran:?}");
    let warnings = &ran.result().warnings;
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings[0].ends_with(": write_file w.txt"), "{warnings:?}");
    assert!(warnings[1].ends_with(": run_shell_command touch s.txt"), "{warnings:?}");
}

#[tokio::test]
async fn m_026_what_can_not_be_asked_is_denied_and_told() {
    let Some(world) = World::new().await else {
        return;
    };
    let first = world.dispatch(TRIES);
    let conversation = first.options.conversation_id.clone();
    let ran = world.run(first).await;
    assert_eq!(ran.answer(), "done");
    assert!(world.file("w.txt").is_none() && world.file("s.txt").is_none());
    let told: Vec<_> = ran.notices(NoticeKind::Warning);
    assert!(told.len() == 1 && told[0].contains("can't ask"), "{told:?}");
    let warnings = &ran.result().warnings;
    assert!(warnings.iter().all(|warning| warning.starts_with("not allowed")), "{warnings:?}");
    assert_eq!(warnings.len(), 2);
    // Once in a conversation.
    let ran = world.run(world.next(&conversation, 1, "SAY more")).await;
    assert_eq!((ran.answer(), ran.notices(NoticeKind::Warning)), ("more", vec![]));
}

#[tokio::test]
async fn m_026_full_that_the_settings_forbid_says_so() {
    let Some(world) = World::new().await else {
        return;
    };
    settings(&world, json!({ "security": { "disableYoloMode": true } }));
    let ran = world.ask("SAY x").await;
    let error = ran.error();
    assert!(error.message.contains("forbid `full`"), "{error:?}");
    assert!(error.hint.is_some());
}
