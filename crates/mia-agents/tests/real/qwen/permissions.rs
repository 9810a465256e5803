//! What it may do, and who is asked.

use std::sync::Arc;

use mia_api::{NoticeKind, OptionKind, PermissionPolicy};
use pretty_assertions::assert_eq;

use super::World;
use crate::world::Somebody;

#[tokio::test]
async fn m_026_always_is_for_the_same_call_and_for_this_turn() {
    let Some(world) = World::new().await else {
        return;
    };
    let before = settings(&world);
    let always = Somebody::who_says(OptionKind::AllowAlways);
    let prompt = "TOOL run_shell_command {\"command\":\"touch made.txt\",\"description\":\"one\"}\n\
        TOOL run_shell_command {\"command\":\"touch made.txt\",\"description\":\"two\"}\n\
        TOOL run_shell_command {\"command\":\"rm made.txt\",\"description\":\"two\"}\n\
        SAY done";
    let mut dispatch = world.dispatch(prompt);
    dispatch.options.permissions = Some(PermissionPolicy::Edit);
    dispatch.permissions = Arc::clone(&always) as _;
    let ran = world.run(dispatch).await;
    assert_eq!(ran.answer(), "done");
    let asked: Vec<_> = always.asked().into_iter().map(|question| question.title).collect();
    assert_eq!(asked, ["run_shell_command touch made.txt", "run_shell_command rm made.txt"]);
    assert_eq!(ran.results().iter().filter(|result| !result.is_error).count(), 3);
    assert_eq!(world.file("made.txt"), None);
    // Nothing of it is kept, neither in the project nor in the home.
    assert!(!world.home.work().join(".qwen").exists());
    assert_eq!(settings(&world), before);
}

/// What of the settings says who may do what.
fn settings(world: &World) -> Option<serde_json::Value> {
    let text = std::fs::read_to_string(world.home.home().join(".qwen/settings.json")).unwrap();
    serde_json::from_str::<serde_json::Value>(&text).unwrap().get("permissions").cloned()
}

#[tokio::test]
async fn m_026_read_only_has_no_way_round() {
    let Some(world) = World::new().await else {
        return;
    };
    let somebody = Somebody::who_says(OptionKind::AllowOnce);
    let file = world.home.work().join("made.txt");
    let file = file.display();
    let prompt = format!(
        "TOOL tool_call {{\"name\":\"write_file\",\"arguments\":{{\"file_path\":\"{file}\",\"content\":\"x\"}}}}\n\
         TOOL agent {{\"description\":\"x\",\"prompt\":\"TOOL write made.txt x\",\"subagent_type\":\"general-purpose\"}}\n\
         TOOL skill {{\"skill\":\"batch\"}}\n\
         TOOL enter_worktree {{\"name\":\"made\"}}\n\
         TOOL monitor {{\"command\":\"touch {file}\",\"description\":\"x\"}}\n\
         SAY done"
    );
    let mut dispatch = world.dispatch(&prompt);
    dispatch.options.permissions = Some(PermissionPolicy::ReadOnly);
    dispatch.permissions = Arc::clone(&somebody) as _;
    let ran = world.run(dispatch).await;
    assert_eq!(ran.answer(), "done");
    assert!(ran.results().iter().all(|result| result.is_error), "{:?}", ran.results());
    assert_eq!(ran.results().len(), 5);
    assert_eq!(world.file("made.txt"), None);
    assert_eq!(somebody.asked(), []);
}

#[tokio::test]
async fn m_026_the_users_own_mode_asks_and_says_what_was_denied() {
    let Some(world) = World::new().await else {
        return;
    };
    // Of itself it is in the mode `auto`, where a model judges what has to be asked.
    let file = world.home.home().join(".qwen/settings.json");
    let text = std::fs::read_to_string(&file).unwrap();
    let mut settings: serde_json::Value = serde_json::from_str(&text).unwrap();
    settings["tools"]["approvalMode"] = "default".into();
    std::fs::write(file, settings.to_string()).unwrap();
    let ran = world.run(world.dispatch("TOOL bash dd if=/dev/null of=made.txt\nSAY done")).await;
    assert_eq!(ran.answer(), "done");
    assert_eq!(world.file("made.txt"), None);
    assert_eq!(
        ran.result().warnings,
        ["not allowed: run_shell_command dd if=/dev/null of=made.txt"]
    );
    assert_eq!(ran.notices(NoticeKind::Denied).len(), 1);
}
