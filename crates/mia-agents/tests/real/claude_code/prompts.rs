//! Prompts that Claude Code could take for something else.

use pretty_assertions::assert_eq;

use super::World;

#[tokio::test]
async fn m_011_no_prefix_makes_a_prompt_something_else() {
    let Some(world) = World::new().await else {
        return;
    };
    for prompt in ["!ls", "# note", "  blanks  "] {
        let said = world.ask(&format!("{prompt}\nECHO")).await;
        assert!(said.answer().contains(prompt.trim()), "{prompt:?}: {said:?}");
    }
}

#[tokio::test]
async fn m_011_an_empty_prompt_and_one_with_a_nul_byte() {
    let Some(world) = World::new().await else {
        return;
    };
    let nul = world.ask("before\0after\nECHO").await;
    assert_eq!(nul.answer(), "before\0after\nECHO");
    // Claude has its own words around it, so the model is asked all the same.
    assert!(!world.ask("").await.answer().is_empty());
}
