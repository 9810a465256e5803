//! How many dispatches run at once.

use futures::future::join_all;
use mia_api::{ErrorCode, TaskId};
use mia_plugin::{CodingPlugin, event_channel};
use pretty_assertions::assert_eq;

use crate::toy::{DONE, Toy, text};
use crate::world::{World, nowhere};

#[tokio::test]
async fn m_020_of_twenty_dispatches_in_one_tick_three_run() {
    let world =
        World::with(Toy::default(), &["wait-file go\n", DONE].concat(), |c| c.max_concurrency = 3)
            .await;
    let mut streams = Vec::new();
    let dispatched: Vec<_> = (0..20)
        .map(|_| {
            let (sink, stream) = event_channel();
            streams.push(stream);
            world.plugin.dispatch(world.dispatch("x"), sink)
        })
        .collect();
    // The slot is taken by the call itself, before anything was polled.
    assert_eq!(world.plugin.running_task_count(), 3);
    world.open_gate("go");
    let outcomes = join_all(dispatched).await;
    let refused: Vec<_> = outcomes.iter().filter_map(|o| o.as_ref().err()).collect();
    assert_eq!(outcomes.iter().filter(|o| o.is_ok()).count(), 3);
    for error in refused {
        assert_eq!(error.code, ErrorCode::ConcurrencyLimit);
        assert!(error.hint.as_ref().unwrap().contains("plugins.toy.max_concurrency"));
    }
    assert_eq!(world.plugin.running_task_count(), 0);
}

#[tokio::test]
async fn m_020_after_a_thousand_outcomes_all_slots_are_free() {
    // No child: what ends here are dispatches that were refused, failed, aborted or dropped.
    let world = World::with(Toy::default(), DONE, |config| {
        config.max_concurrency = 3;
        config.binary = Some(nowhere());
    })
    .await;
    let mut state = 7_u32;
    for _ in 0..1000 {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let count = 1 + (state >> 8) % 5;
        let mut kept = Vec::new();
        for index in 0..count {
            let dispatch = world.dispatch("x");
            let task = dispatch.options.task_id.clone();
            let (sink, _stream) = event_channel();
            let dispatched = world.plugin.dispatch(dispatch, sink);
            match (state >> (12 + index)) % 3 {
                0 => drop(dispatched),
                1 => {
                    let mut dispatched = dispatched;
                    let _ = futures::poll!(&mut dispatched);
                    drop(dispatched);
                }
                _ => kept.push((task, dispatched)),
            }
        }
        for (task, dispatched) in kept {
            let (outcome, ()) = tokio::join!(dispatched, world.plugin.abort(&task));
            outcome.unwrap_err();
        }
        assert_eq!(world.plugin.running_task_count(), 0);
    }
    let free: Vec<_> =
        (0..4).map(|_| world.plugin.dispatch(world.dispatch("x"), event_channel().0)).collect();
    assert_eq!(world.plugin.running_task_count(), 3);
    drop(free);
}

#[tokio::test]
async fn m_020_a_slot_is_free_when_an_abort_is_answered() {
    let world =
        World::with(Toy::default(), &[&text("a"), "hang"].concat(), |c| c.max_concurrency = 1)
            .await;
    for _ in 0..5 {
        let mut running = world.start(world.dispatch("x"));
        running.until_said("a").await;
        world.plugin.abort(&running.task.clone()).await;
        let (sink, _stream) = event_channel();
        let next = world.plugin.dispatch(world.dispatch("x"), sink);
        assert_eq!(world.plugin.running_task_count(), 1);
        drop(next);
        running.end().await.outcome.unwrap_err();
    }
}

#[tokio::test]
async fn a_task_that_runs_cannot_be_dispatched_again() {
    let world = World::new(&[&text("a"), "wait-file go\n", DONE].concat()).await;
    let dispatch = world.dispatch("x");
    let again = dispatch.clone();
    let mut running = world.start(dispatch);
    running.until_said("a").await;
    let refused = world.run(again).await;
    assert_eq!(refused.code(), Some(ErrorCode::ConcurrencyLimit));
    world.open_gate("go");
    running.end().await.outcome.unwrap();
}

#[tokio::test]
async fn an_unknown_task_is_left_alone() {
    let world = World::new(DONE).await;
    world.plugin.abort(&TaskId::generate()).await;
    world.run(world.dispatch("x")).await.outcome.unwrap();
}
