//! Sub-agents, of whose work and questions opencode says nothing.

use pretty_assertions::assert_eq;

use super::World;

const SUB_AGENT: &str =
    r#"TOOL task {"description":"sub","subagent_type":"general","prompt":"PROMPT"}"#;

#[tokio::test]
async fn m_026_a_sub_agent_is_denied_what_it_would_ask_for() {
    let Some(world) = World::new().await else { return };
    let prompt = SUB_AGENT.replace("PROMPT", r"TOOL read /etc/hosts\nSAY from the sub-agent");
    // Nobody could answer its question, and it would wait for ever.
    let ran = world.run(world.dispatch(&format!("{prompt}\nSAY done"))).await;
    assert_eq!(ran.answer(), "done");
    assert!(ran.results()[0].output.contains("from the sub-agent"), "{:?}", ran.results());
    let log = world.llm.log();
    let bodies: Vec<_> = log.turns().map(|asked| asked.body.clone().unwrap().to_string()).collect();
    assert!(bodies.iter().any(|body| body.contains("rule which prevents")), "{bodies:?}");
    assert_eq!(ran.result().cost_usd, None, "what a sub-agent costs is not told");
}

#[tokio::test]
async fn m_026_with_full_a_sub_agent_asks_nothing() {
    let Some(world) = World::new().await else { return };
    let prompt = SUB_AGENT.replace("PROMPT", r"TOOL read /etc/hosts\nSAY from the sub-agent");
    let ran = world.ask(&format!("{prompt}\nSAY done")).await;
    assert_eq!(ran.answer(), "done");
    assert!(ran.results()[0].output.contains("from the sub-agent"), "{:?}", ran.results());
}
