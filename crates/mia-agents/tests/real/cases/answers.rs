//! Text, thoughts and tools.

use std::collections::BTreeSet;

use mia_api::{StopReason, ToolKind};
use mia_plugin::Ability;
use pretty_assertions::assert_eq;

use crate::world::{Real, World};

pub(crate) async fn m_026_an_answer_streams<A: Real>(world: World<A>) {
    let mut running = world.start(world.dispatch("PRE one two\nGATE middle\nSAY three four"));
    if world.can(Ability::Deltas) {
        // The beginning is here while the model still holds the rest back.
        running.until_said("one two").await;
    } else {
        world.until_asked(1).await;
    }
    world.llm.open("middle");
    let ran = running.end().await;
    assert_eq!(ran.answer(), "one twothree four");
    let result = ran.result();
    assert_eq!(result.stop_reason, StopReason::EndTurn);
    assert_eq!((result.tool_calls.len(), &result.warnings), (0, &vec![]));
    assert!(result.session_id.is_some());
    assert_eq!(result.session_id, world.sessions.ids().pop());
    assert_eq!(world.alive(), []);
}

pub(crate) async fn m_026_thoughts_are_shown<A: Real>(world: World<A>) {
    let ran = world.ask("THINK let me see\nSAY done").await;
    assert_eq!(ran.answer(), "done");
    let expected = if world.can(Ability::Thoughts) { "let me see" } else { "" };
    assert_eq!(ran.thoughts().trim(), expected);
}

pub(crate) async fn m_009_tools_are_paired_with_their_results<A: Real>(world: World<A>) {
    let prompt = "PRE I look.\nPTOOL bash echo one\nPTOOL write made.txt some text\nTOOL bash echo two\nSAY done";
    let ran = world.ask(prompt).await;
    assert_eq!(ran.answer(), "I look.\n\ndone", "two messages are two paragraphs");
    let calls = ran.calls();
    let mut kinds: Vec<_> = calls.iter().map(|call| call.kind).collect();
    // Parallel calls may be shown in any order.
    kinds[..2].sort_by_key(|kind| *kind != ToolKind::Execute);
    assert_eq!(kinds, [ToolKind::Execute, ToolKind::Edit, ToolKind::Execute], "{calls:?}");
    let ids: BTreeSet<_> = calls.iter().map(|call| call.id.as_str()).collect();
    assert_eq!(ids.len(), 3, "{calls:?}");
    for call in &calls {
        let results: Vec<_> = ran.results().into_iter().filter(|r| r.id == call.id).collect();
        assert_eq!(results.len(), 1, "{call:?}");
        assert_eq!(results[0].name, call.name);
        assert!(!results[0].is_error, "{results:?}");
        let echoes =
            ["one", "two"].into_iter().find(|word| call.title.contains(&format!("echo {word}")));
        if call.kind == ToolKind::Execute {
            assert!(results[0].output.contains(echoes.unwrap()), "{call:?} {results:?}");
        }
    }
    assert_eq!(world.file("made.txt").unwrap().trim(), "some text");
    let changed = &ran.result().files_changed;
    assert!(changed.len() == 1 && changed.iter().all(|f| f.ends_with("made.txt")), "{changed:?}");
    assert_eq!(ran.result().tool_calls.len(), 3);
}
