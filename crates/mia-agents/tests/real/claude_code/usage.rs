//! Tokens and money of each dispatch.

use mia_api::{ConversationId, EventBody};
use pretty_assertions::assert_eq;

use super::World;

#[tokio::test]
async fn m_006_usage_and_cost_are_of_the_dispatch_not_of_the_session() {
    let Some(world) = World::new().await else {
        return;
    };
    let conversation = ConversationId::generate();
    let mut costs = Vec::new();
    for turn in 1..=3 {
        let prompt = format!("USAGE in={turn}000 out={turn}00 cached=7\nSAY turn {turn}");
        let mut dispatch = world.dispatch(&prompt);
        dispatch.options.conversation_id = conversation.clone();
        dispatch.earlier_turns = turn - 1;
        let ran = world.run(dispatch).await;
        let result = ran.result();
        let usage = result.usage.clone().unwrap();
        assert_eq!(
            (usage.input_tokens, usage.output_tokens, usage.cache_read),
            (turn * 1000, turn * 100, Some(7))
        );
        let told = ran.events.iter().rev().find_map(|event| match event {
            EventBody::Usage { tokens: Some(tokens), cost_usd, .. } => {
                Some((tokens.clone(), *cost_usd))
            }
            _ => None,
        });
        assert_eq!(told, Some((usage, result.cost_usd)));
        costs.push(result.cost_usd.unwrap());
    }
    for (turn, cost) in costs.iter().enumerate() {
        let expected = costs[0] * (turn + 1) as f64;
        assert!((cost - expected).abs() < costs[0] / 10.0, "{costs:?}");
    }
    assert!(costs[0] > 0.0);
}
