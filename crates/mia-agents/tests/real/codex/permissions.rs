//! What it may do, for how long, and who is asked.

use std::sync::Arc;

use mia_api::{OptionKind, PermissionPolicy};
use pretty_assertions::assert_eq;

use super::World;
use crate::world::{Ran, Somebody};

const WRITES: &str = "TOOL write made.txt text\nSAY done";

/// A command that the model wants to run outside of the sandbox.
fn outside(command: &str) -> String {
    format!(
        r#"TOOL bash {{"cmd":"{command}","sandbox_permissions":"require_escalated","justification":"It is needed"}}"#
    )
}

async fn run(
    world: &World,
    prompt: &str,
    policy: Option<PermissionPolicy>,
    who: Option<&Arc<Somebody>>,
) -> Ran {
    let mut dispatch = world.dispatch(prompt);
    dispatch.options.permissions = policy;
    if let Some(who) = who {
        dispatch.permissions = Arc::clone(who) as _;
    }
    world.run(dispatch).await
}

fn titles(somebody: &Somebody) -> Vec<String> {
    somebody.asked().into_iter().map(|question| question.title).collect()
}

#[tokio::test]
async fn m_026_always_is_for_the_same_command() {
    let Some(world) = World::new().await else {
        return;
    };
    let always = Somebody::who_says(OptionKind::AllowAlways);
    let (touch, remove) = (outside("touch made.txt"), outside("rm made.txt"));
    let prompt = format!("{touch}\n{touch}\n{remove}\nSAY done");
    let ran = run(&world, &prompt, None, Some(&always)).await;
    assert_eq!(ran.answer(), "done");
    assert_eq!(
        titles(&always),
        ["Run touch made.txt (It is needed)", "Run rm made.txt (It is needed)"]
    );
    assert_eq!(ran.results().iter().filter(|result| !result.is_error).count(), 3, "{ran:?}");
    let rules = world.home.home().join(".codex/rules/default.rules");
    assert!(!rules.exists(), "nothing lasts longer than the turn");
}

#[tokio::test]
async fn m_026_its_own_rules_ask_for_a_change_of_a_file() {
    let Some(world) = World::new().await else {
        return;
    };
    let no = Somebody::who_says(OptionKind::RejectOnce);
    let ran = run(&world, WRITES, None, Some(&no)).await;
    assert_eq!((ran.answer(), titles(&no)), ("done", vec!["Write made.txt".to_owned()]));
    assert_eq!(world.file("made.txt"), None);
    assert_eq!(ran.result().warnings, ["not allowed: Write made.txt"]);
    assert_eq!(ran.result().files_changed, Vec::<String>::new());

    let yes = Somebody::who_says(OptionKind::AllowOnce);
    let ran = run(&world, WRITES, None, Some(&yes)).await;
    assert_eq!(world.file("made.txt").as_deref(), Some("text\n"));
    assert_eq!(yes.asked()[0].tool_call_id, ran.calls()[0].id);
    assert_eq!(ran.result().warnings, Vec::<String>::new());
    assert_eq!(ran.result().files_changed.len(), 1);
}

#[tokio::test]
async fn m_026_edit_asks_for_what_is_no_edit_of_the_project() {
    let Some(world) = World::new().await else {
        return;
    };
    std::fs::create_dir_all(world.home.work().join(".git/hooks")).unwrap();
    let no = Somebody::who_says(OptionKind::RejectOnce);
    let prompt = "TOOL write ../outside.txt x\nTOOL write .git/hooks/pre-commit x\nTOOL write made.txt x\nSAY done";
    let ran = run(&world, prompt, Some(PermissionPolicy::Edit), Some(&no)).await;
    assert_eq!(ran.answer(), "done");
    let asked = titles(&no);
    assert_eq!(asked.len(), 2, "{asked:?}");
    assert!(asked[0].ends_with("/outside.txt"), "{asked:?}");
    assert_eq!(asked[1], "Write .git/hooks/pre-commit");
    assert!(!world.home.work().parent().unwrap().join("outside.txt").exists());
    assert!(!world.home.work().join(".git/hooks/pre-commit").exists());
    assert!(world.file("made.txt").is_some());
}

#[tokio::test]
async fn m_026_what_a_turn_was_allowed_ends_with_it() {
    let Some(world) = World::new().await else {
        return;
    };
    let mut first = world.dispatch("REMEMBER kiwi");
    first.options.permissions = Some(PermissionPolicy::Full);
    let conversation = first.options.conversation_id.clone();
    let session = world.run(first).await.result().session_id.clone();
    // Of itself codex goes on with what the last turn was allowed.
    let next =
        world.next(&conversation, 1, "TOOL bash touch made.txt\nTOOL write made.txt x\nRECALL");
    let ran = world.run(next).await;
    assert_eq!(ran.answer(), "The word is kiwi");
    assert_eq!(ran.result().session_id, session);
    assert_eq!(world.file("made.txt"), None, "{ran:?}");
    assert_eq!(ran.result().warnings, ["not allowed: Write made.txt"]);
}

#[tokio::test]
async fn m_026_no_project_becomes_trusted() {
    let Some(world) = World::new().await else {
        return;
    };
    let file = world.home.home().join(".codex/config.toml");
    let before = std::fs::read_to_string(&file).unwrap();
    std::fs::create_dir(world.home.work().join(".git")).unwrap();
    for policy in [PermissionPolicy::Edit, PermissionPolicy::Full] {
        let ran = run(&world, WRITES, Some(policy), None).await;
        assert_eq!(ran.answer(), "done");
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), before);
}
