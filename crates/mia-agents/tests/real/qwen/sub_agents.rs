//! Sub-agents.

use mia_api::{EventBody, PermissionPolicy, ToolKind};
use pretty_assertions::assert_eq;

use super::World;

/// A prompt that has a sub-agent run a command.
fn delegates(background: bool) -> String {
    format!(
        "TOOL agent {{\"description\":\"look\",\"prompt\":\"TOOL bash echo in-sub\\nSAY I am sub\",\
         \"subagent_type\":\"general-purpose\",\"run_in_background\":{background}}}\nSAY done"
    )
}

#[tokio::test]
async fn m_006_what_a_sub_agent_does_is_shown_as_its_own() {
    let Some(world) = World::new().await else {
        return;
    };
    let ran = world.ask(&delegates(false)).await;
    assert_eq!(ran.answer(), "done");
    let calls = ran.calls();
    assert_eq!((calls[0].name.as_str(), calls[0].parent_id.as_deref()), ("agent", None));
    assert_eq!(
        (calls[1].kind, calls[1].parent_id.as_ref()),
        (ToolKind::Execute, Some(&calls[0].id))
    );
    let results = ran.results();
    assert!(results[0].output.contains("in-sub") && results[1].output.contains("I am sub"));
    // Its tokens count, though its messages tell none.
    let own: u64 = world.llm.log().turns().count() as u64;
    assert_eq!(own, 4, "two of each");
    assert!(ran.result().usage.is_some());
}

#[tokio::test]
async fn m_022_the_answer_waits_for_a_sub_agent_in_the_background() {
    let Some(world) = World::new().await else {
        return;
    };
    let ran = world.ask(&delegates(true)).await;
    assert!(ran.answer().starts_with("done\n\n"), "it goes on when the other has ended: {ran:?}");
    assert_eq!(world.alive(), []);
}

#[tokio::test]
async fn m_019_no_sub_agent_waits_for_an_answer_that_never_comes() {
    let Some(world) = World::new().await else {
        return;
    };
    for policy in [None, Some(PermissionPolicy::Edit)] {
        let mut dispatch = world.dispatch(&delegates(false));
        dispatch.options.permissions = policy;
        let ran = world.run(dispatch).await;
        assert_eq!(ran.answer(), "done");
        assert!(ran.results()[0].is_error, "{:?}", ran.results());
        assert!(ran.result().warnings[0].starts_with("not allowed: agent"), "{ran:?}");
        assert!(!ran.events.iter().any(|event| matches!(event, EventBody::Permission(_))));
    }
}
