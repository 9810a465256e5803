//! What it may do, and who is asked.

use std::sync::Arc;

use mia_api::{EventBody, NoticeKind, OptionKind, PermissionPolicy, ResolvedBy};
use pretty_assertions::assert_eq;

use super::World;
use crate::world::{Ran, Somebody};

const WRITES: &str = "TOOL write made.txt text\nSAY done";
const RUNS: &str = "TOOL bash touch made.txt\nSAY done";

async fn run(
    world: &World,
    prompt: &str,
    policy: Option<PermissionPolicy>,
    who: Option<Arc<Somebody>>,
) -> Ran {
    let mut dispatch = world.dispatch(prompt);
    dispatch.options.permissions = policy;
    if let Some(who) = who {
        dispatch.permissions = who;
    }
    // A folder for each, for they write the same file.
    let folder = world.home.work().join(dispatch.options.task_id.to_string());
    std::fs::create_dir(&folder).unwrap();
    dispatch.options.working_directory = folder;
    world.run(dispatch).await
}

/// Whether a run that was made by [`run`] has written its file.
fn made(ran: &Ran, world: &World) -> bool {
    let task = match &ran.outcome {
        Ok(result) => result.task_id.to_string(),
        Err(error) => panic!("{error:?}"),
    };
    world.home.work().join(task).join("made.txt").exists()
}

fn resolutions(ran: &Ran) -> Vec<(Option<&str>, ResolvedBy)> {
    let all = ran.events.iter().filter_map(|event| match event {
        EventBody::PermissionResolved(r) => Some((r.option_id.as_deref(), r.by)),
        _ => None,
    });
    all.collect()
}

#[tokio::test]
async fn m_026_a_question_is_asked_and_its_answer_obeyed() {
    let Some(world) = World::new().await else {
        return;
    };
    let yes = Somebody::who_says(OptionKind::AllowOnce);
    let no = Somebody::who_says(OptionKind::RejectOnce);
    let always = Somebody::who_says(OptionKind::AllowAlways);
    let more =
        "TOOL bash touch made.txt\nTOOL bash touch made.txt\nTOOL bash rm made.txt\nSAY done";
    let (allowed, denied, unasked, remembered) = tokio::join!(
        run(&world, WRITES, None, Some(Arc::clone(&yes))),
        run(&world, WRITES, None, Some(Arc::clone(&no))),
        run(&world, WRITES, None, None),
        run(&world, more, None, Some(Arc::clone(&always))),
    );
    for ran in [&allowed, &denied, &unasked, &remembered] {
        assert_eq!(ran.answer(), "done");
    }

    assert!(made(&allowed, &world));
    assert_eq!(resolutions(&allowed), [(Some("allow_once"), ResolvedBy::Client)]);
    assert_eq!(allowed.result().warnings, Vec::<String>::new());
    let asked = yes.asked();
    assert_eq!(asked[0].tool_call_id, allowed.calls()[0].id);
    assert!(
        asked[0].title.starts_with("Write ") && asked[0].title.ends_with("made.txt"),
        "{asked:?}"
    );

    assert!(!made(&denied, &world));
    assert_eq!(resolutions(&denied), [(Some("reject_once"), ResolvedBy::Client)]);
    assert!(denied.results()[0].is_error);
    assert!(denied.result().warnings[0].starts_with("not allowed: Write "));

    assert!(!made(&unasked, &world));
    assert_eq!(resolutions(&unasked), [(None, ResolvedBy::Nobody)]);
    assert_eq!(unasked.notices(NoticeKind::Denied).len(), 1);
    assert!(unasked.result().warnings[0].starts_with("not allowed: Write "));

    // Always is for the same call, and for no other.
    let asked: Vec<_> = always.asked().into_iter().map(|question| question.title).collect();
    assert_eq!(asked, ["Bash touch made.txt", "Bash rm made.txt"]);
    assert_eq!(remembered.calls().len(), 3);
    let project = world.home.work().join(remembered.result().task_id.to_string());
    assert!(!project.join(".claude").exists(), "nothing is written into the project");
}

#[tokio::test]
async fn m_026_the_policies_do_what_they_say() {
    let Some(world) = World::new().await else {
        return;
    };
    let both =
        "PTOOL write made.txt text\nPTOOL bash touch made.txt\nTOOL read ../readable.txt\nSAY done";
    std::fs::write(world.home.work().join("readable.txt"), "x").unwrap();
    let (read_only, edit, full) =
        (PermissionPolicy::ReadOnly, PermissionPolicy::Edit, PermissionPolicy::Full);
    let somebody = Somebody::who_says(OptionKind::AllowOnce);
    let other = "TOOL bash dd if=/dev/null of=made.txt\nSAY done";
    let (nothing, edits, asks, commands) = tokio::join!(
        run(&world, both, Some(read_only), Some(Arc::clone(&somebody))),
        run(&world, WRITES, Some(edit), None),
        run(&world, other, Some(edit), None),
        run(&world, RUNS, Some(full), None),
    );
    assert!(!made(&nothing, &world), "read-only writes even if somebody would allow it");
    let failed: Vec<bool> = nothing.results().iter().map(|result| result.is_error).collect();
    assert_eq!(failed[..2], [true, true], "{:?}", nothing.results());
    assert!(somebody.asked().iter().all(|asked| asked.title.starts_with("Read ")), "{somebody:?}");

    assert!(made(&edits, &world));
    assert_eq!(resolutions(&edits), []);

    assert!(!made(&asks, &world), "other commands ask, and nobody is there");
    assert_eq!(resolutions(&asks), [(None, ResolvedBy::Nobody)]);

    assert!(made(&commands, &world), "full, as whoever runs this: CI does as root");
    assert_eq!(resolutions(&commands), []);
}
