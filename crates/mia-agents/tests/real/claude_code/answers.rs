//! Text, thoughts, tools, sub-agents.

use mia_api::{EventBody, ToolKind};
use pretty_assertions::assert_eq;

use super::World;

#[tokio::test]
async fn m_009_parallel_tools_are_paired_with_their_results_by_id() {
    let Some(world) = World::new().await else {
        return;
    };
    let prompt = "PRE I look.\nPTOOL bash echo one\nPTOOL write made.txt some text\nTOOL bash exit 3\nSAY done";
    let ran = world.ask(prompt).await;
    assert_eq!(ran.answer(), "I look.\n\ndone", "two messages are two paragraphs");
    let calls = ran.calls();
    let names: Vec<_> = calls.iter().map(|call| (call.name.as_str(), call.kind)).collect();
    let expected =
        [("Bash", ToolKind::Execute), ("Write", ToolKind::Edit), ("Bash", ToolKind::Execute)];
    assert_eq!(names, expected);
    assert_eq!(calls[0].title, "Bash echo one");
    for call in &calls {
        let result: Vec<_> = ran.results().into_iter().filter(|r| r.id == call.id).collect();
        assert_eq!(result.len(), 1, "{call:?}");
        assert_eq!(result[0].name, call.name);
        assert_eq!(result[0].is_error, call.title == "Bash exit 3", "{result:?}");
    }
    let output = |title: &str| {
        let call = calls.iter().find(|call| call.title == title).unwrap();
        ran.results().into_iter().find(|r| r.id == call.id).unwrap().output.clone()
    };
    assert_eq!(output("Bash echo one"), "one");
    assert_eq!(world.file("made.txt").as_deref(), Some("some text"));
    assert_eq!(ran.result().files_changed.len(), 1);
    assert_eq!(ran.result().tool_calls.len(), 3);
}

#[tokio::test]
async fn m_006_what_a_sub_agent_says_is_not_in_the_content() {
    let Some(world) = World::new().await else {
        return;
    };
    let agent = r#"{"description":"look","prompt":"PRE sub speaks\nTOOL bash echo of-sub\nSAY sub done","subagent_type":"general-purpose"}"#;
    let ran = world.ask(&format!("TOOL Agent {agent}\nSAY main done")).await;
    assert_eq!(ran.answer(), "main done");
    let agent = ran.calls().into_iter().find(|call| call.name == "Agent").unwrap().id.clone();
    let said: Vec<&str> = ran
        .events
        .iter()
        .filter_map(|event| match event {
            EventBody::Token { text, parent_id: Some(parent), .. } if *parent == agent => {
                Some(text.as_str())
            }
            _ => None,
        })
        .collect();
    assert!(
        said.concat().contains("sub speaks") && said.concat().contains("sub done"),
        "{:?}",
        ran.events
    );
    let inner = ran.calls().into_iter().find(|call| call.title == "Bash echo of-sub").unwrap();
    assert_eq!(inner.parent_id.as_deref(), Some(agent.as_str()));
    assert_eq!(ran.results().len(), 2);
    // It is over when it says so: nothing went on behind it.
    assert_eq!(world.alive(), []);
}
