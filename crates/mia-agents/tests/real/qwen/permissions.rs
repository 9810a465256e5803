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

#[tokio::test]
async fn m_026_a_folder_that_brings_settings_along_is_refused_under_a_policy() {
    let Some(world) = World::new().await else {
        return;
    };
    let work = world.home.work();
    std::fs::create_dir(work.join(".qwen")).unwrap();
    for (name, text) in [
        (".qwen/settings.json", r#"{"permissions":{"allow":["run_shell_command"]}}"#),
        (".qwen/.env", "OPENAI_BASE_URL=http://127.0.0.1:9/v1"),
        (".env", "OPENAI_BASE_URL=http://127.0.0.1:9/v1"),
    ] {
        let file = work.join(name);
        std::fs::write(&file, text).unwrap();
        for policy in [PermissionPolicy::ReadOnly, PermissionPolicy::Edit] {
            let mut dispatch = world.dispatch("TOOL bash touch made.txt\nSAY done");
            dispatch.options.permissions = Some(policy);
            let ran = world.run(dispatch).await;
            let error = ran.error();
            assert!(error.message.ends_with(file.to_str().unwrap()), "{error:?}");
            assert!(error.hint.is_some());
        }
        std::fs::remove_file(file).unwrap();
    }
    assert_eq!((world.file("made.txt"), world.llm.log().total), (None, 0));
}

#[tokio::test]
async fn m_026_edits_outside_of_the_folder_are_asked_for() {
    let Some(world) = World::new().await else {
        return;
    };
    let outside = tempfile::tempdir().unwrap();
    let (work, outside) = (world.home.work().to_owned(), outside.path().canonicalize().unwrap());
    std::os::unix::fs::symlink(&outside, work.join("link")).unwrap();
    std::os::unix::fs::symlink(outside.join("new.txt"), work.join("dangling.txt")).unwrap();
    let paths = [
        work.join("link/a.txt"),
        work.join("dangling.txt"),
        work.join("../beside.txt"),
        world.home.home().join(".bashrc"),
        outside.join("away.txt"),
    ];
    let write = |path: &std::path::Path| {
        let input = serde_json::json!({"file_path": path, "content": "x"});
        format!("TOOL write_file {input}\n")
    };
    let inside = work.join("new/inside.txt");
    let calls: String = paths.iter().map(|path| write(path)).collect();
    let mut dispatch = world.dispatch(&format!("{}{calls}SAY done", write(&inside)));
    dispatch.options.permissions = Some(PermissionPolicy::Edit);
    let nobody = Somebody::who_says(OptionKind::RejectOnce);
    dispatch.permissions = Arc::clone(&nobody) as _;
    let ran = world.run(dispatch).await;
    assert_eq!(ran.answer(), "done");
    let asked: Vec<_> = nobody.asked().into_iter().map(|question| question.title).collect();
    let expected: Vec<_> =
        paths.iter().map(|path| format!("write_file {}", path.display())).collect();
    assert_eq!(asked, expected);
    assert_eq!(std::fs::read_to_string(inside).unwrap(), "x");
    assert!(paths.iter().all(|path| std::fs::read_to_string(path).is_err()), "{ran:?}");
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
}
