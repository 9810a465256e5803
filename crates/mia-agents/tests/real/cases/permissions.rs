//! What it may do, and who is asked.

use std::sync::Arc;

use mia_api::{EventBody, NoticeKind, OptionKind, PermissionPolicy, ResolvedBy};
use mia_plugin::Ability;
use pretty_assertions::assert_eq;

use crate::world::{Ran, Real, Somebody, World};

const WRITES: &str = "TOOL write made.txt text\nSAY done";
const RUNS: &str = "TOOL bash touch made.txt\nSAY done";
/// A command that no agent takes for harmless.
const ODD: &str = "TOOL bash dd if=/dev/null of=made.txt\nSAY done";

/// Runs in a folder of its own, and says whether the file was made there.
async fn run<A: Real>(
    world: &World<A>,
    prompt: &str,
    policy: PermissionPolicy,
    who: Option<&Arc<Somebody>>,
) -> (Ran, bool) {
    let mut dispatch = world.dispatch(prompt);
    dispatch.options.permissions = Some(policy);
    if let Some(who) = who {
        dispatch.permissions = Arc::clone(who) as _;
    }
    let folder = world.home.work().join(dispatch.options.task_id.to_string());
    std::fs::create_dir(&folder).unwrap();
    dispatch.options.working_directory = folder.clone();
    let ran = world.run(dispatch).await;
    (ran, folder.join("made.txt").exists())
}

fn resolutions(ran: &Ran) -> Vec<(Option<&str>, ResolvedBy)> {
    let all = ran.events.iter().filter_map(|event| match event {
        EventBody::PermissionResolved(r) => Some((r.option_id.as_deref(), r.by)),
        _ => None,
    });
    all.collect()
}

/// What was denied is in the result, as a warning or as a failed tool.
fn denial_is_told(ran: &Ran) {
    let result = ran.result();
    let failed = ran.results().iter().any(|result| result.is_error);
    assert!(failed || !result.warnings.is_empty(), "{ran:?}");
}

pub(crate) async fn m_026_read_only_changes_nothing<A: Real>(world: World<A>) {
    // Even if somebody would allow it.
    let somebody = Somebody::who_says(OptionKind::AllowOnce);
    for prompt in [WRITES, ODD] {
        let (ran, made) = run(&world, prompt, PermissionPolicy::ReadOnly, Some(&somebody)).await;
        assert!(!made, "{ran:?}");
        denial_is_told(&ran);
    }
    std::fs::write(world.home.work().join("readable.txt"), "what is in it").unwrap();
    let mut reads = world.dispatch("TOOL read readable.txt\nSAY done");
    reads.options.permissions = Some(PermissionPolicy::ReadOnly);
    let ran = world.run(reads).await;
    assert_eq!(ran.answer(), "done");
    assert!(!ran.results()[0].is_error, "{ran:?}");
    // Not every agent shows what it read; the model gets it.
    let log = world.llm.log();
    let body = log.turns().last().unwrap().body.as_ref().unwrap().to_string();
    assert!(body.contains("what is in it"), "{body}");
}

pub(crate) async fn m_026_read_only_runs_nothing_of_a_foreign_folder<A: Real>(world: World<A>) {
    for (file, text) in A::TRAP {
        let file = world.home.work().join(file);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
    let mut dispatch = world.dispatch("SAY done");
    dispatch.options.permissions = Some(PermissionPolicy::ReadOnly);
    let ran = world.run(dispatch).await;
    let sprung = world.file("sprung").is_some();
    assert_eq!(sprung, !world.can(Ability::ForeignFolders), "{ran:?}");
    // To refuse the folder is right, too.
    match &ran.outcome {
        Ok(result) => assert_eq!(result.content, "done"),
        Err(error) => assert!(error.hint.is_some(), "{error:?}"),
    }
}

pub(crate) async fn m_026_edit_changes_files_unasked<A: Real>(world: World<A>) {
    let (ran, made) = run(&world, WRITES, PermissionPolicy::Edit, None).await;
    assert!(made, "{ran:?}");
    assert_eq!((ran.answer(), resolutions(&ran)), ("done", vec![]));
    let (ran, made) = run(&world, ODD, PermissionPolicy::Edit, None).await;
    assert!(!made, "other commands are asked for, and nobody is there: {ran:?}");
    denial_is_told(&ran);
}

pub(crate) async fn m_026_full_does_anything_unasked<A: Real>(world: World<A>) {
    for prompt in [WRITES, RUNS] {
        let (ran, made) = run(&world, prompt, PermissionPolicy::Full, None).await;
        assert!(made, "{ran:?}");
        assert_eq!((ran.answer(), resolutions(&ran)), ("done", vec![]));
        assert_eq!(ran.result().warnings, Vec::<String>::new());
    }
}

pub(crate) async fn m_026_a_question_is_asked_and_its_answer_obeyed<A: Real>(world: World<A>) {
    let yes = Somebody::who_says(OptionKind::AllowOnce);
    let no = Somebody::who_says(OptionKind::RejectOnce);
    let asks = format!("{}\nSAY done", A::ASKS);
    let (allowed, made) = run(&world, &asks, PermissionPolicy::Edit, Some(&yes)).await;
    if !world.can(Ability::Questions) {
        assert!(!made && yes.asked().is_empty(), "{allowed:?}");
        denial_is_told(&allowed);
        return;
    }
    assert!(made, "{allowed:?}");
    assert_eq!(allowed.answer(), "done");
    let asked = yes.asked();
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert!(asked[0].title.contains("dd if=/dev/null of=made.txt"), "{asked:?}");
    assert_eq!(asked[0].tool_call_id, allowed.calls()[0].id);
    assert_eq!(resolutions(&allowed).len(), 1);
    assert_eq!(resolutions(&allowed)[0].1, ResolvedBy::Client);
    assert_eq!(allowed.result().warnings, Vec::<String>::new());

    let (denied, made) = run(&world, &asks, PermissionPolicy::Edit, Some(&no)).await;
    assert!(!made, "{denied:?}");
    assert_eq!(no.asked().len(), 1);
    let warnings = &denied.result().warnings;
    assert!(
        warnings[0].starts_with("not allowed: ") && warnings[0].contains("dd if="),
        "{denied:?}"
    );

    let (unasked, made) = run(&world, &asks, PermissionPolicy::Edit, None).await;
    assert!(!made, "{unasked:?}");
    assert_eq!(resolutions(&unasked), [(None, ResolvedBy::Nobody)]);
    assert_eq!(unasked.notices(NoticeKind::Denied).len(), 1, "{unasked:?}");
}
