//! Tokens and money of each dispatch.

use mia_api::{ConversationId, EventBody};
use mia_plugin::Ability;
use pretty_assertions::assert_eq;

use crate::world::{Ran, Real, World};

/// Three turns, each with the tokens of its number.
async fn three_turns<A: Real>(world: &World<A>) -> Vec<Ran> {
    let conversation = ConversationId::generate();
    let mut turns = Vec::new();
    for turn in 1..=3 {
        let prompt = format!("USAGE in={turn}000 out={turn}00 cached=7\nSAY turn {turn}");
        let ran = world.run(world.next(&conversation, turn - 1, &prompt)).await;
        assert_eq!(ran.answer(), format!("turn {turn}"));
        turns.push(ran);
    }
    turns
}

pub(crate) async fn m_006_tokens_are_of_the_dispatch<A: Real>(world: World<A>) {
    for (ran, turn) in three_turns(&world).await.iter().zip(1..) {
        let result = ran.result();
        let told = ran.events.iter().rev().find_map(|event| match event {
            EventBody::Usage { tokens: Some(tokens), .. } => Some(tokens.clone()),
            _ => None,
        });
        assert_eq!(told, result.usage);
        if !world.can(Ability::Usage) {
            assert_eq!(result.usage, None);
            continue;
        }
        let usage = result.usage.clone().unwrap();
        assert_eq!(
            (usage.input_tokens, usage.output_tokens, usage.cache_read),
            (turn * 1000, turn * 100, Some(7))
        );
    }
}

pub(crate) async fn m_006_tokens_are_of_all_requests_of_the_turn<A: Real>(world: World<A>) {
    let ran =
        world.ask("USAGE in=1000 out=100\nTOOL bash true\nUSAGE in=2000 out=200\nSAY done").await;
    assert_eq!(ran.answer(), "done");
    let usage = ran.result().usage.as_ref().map(|usage| (usage.input_tokens, usage.output_tokens));
    let expected = world.can(Ability::TurnUsage).then_some((3000, 300));
    assert_eq!(usage, expected, "unknown rather than wrong");
}

pub(crate) async fn m_006_the_cost_is_of_the_dispatch<A: Real>(world: World<A>) {
    let turns = three_turns(&world).await;
    let costs: Vec<_> = turns.iter().map(|ran| ran.result().cost_usd).collect();
    if !world.can(Ability::Cost) {
        assert_eq!(costs, [None; 3], "unknown is not nothing");
        return;
    }
    let costs: Vec<f64> = costs.into_iter().map(Option::unwrap).collect();
    assert!(costs[0] > 0.0);
    for (turn, cost) in costs.iter().enumerate() {
        let expected = costs[0] * (turn + 1) as f64;
        assert!((cost - expected).abs() < costs[0] / 10.0, "{costs:?}");
    }
}
