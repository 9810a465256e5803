//! A reader that is behind.

use mia_api::EventBody;
use pretty_assertions::assert_eq;

use crate::toy::{DONE, Toy, text};
use crate::world::{World, tokens};

#[tokio::test]
async fn a_reader_that_stops_makes_the_child_stop_and_loses_nothing() {
    // Far more than all buffers on the way hold together.
    let script = [
        "repeat 200000 {\"t\":\"text\",\"x\":\"0123456789012345678901234567890123456789\"}\n",
        "touch written\n",
        &text("the end"),
        DONE,
    ];
    let world = World::new(&script.concat()).await;
    let mut running = world.start(world.dispatch("x"));
    running.until(|event| matches!(event, EventBody::Token { .. })).await;
    world.stuck().await;
    assert!(!world.cli.beside("written").exists(), "it waits for its reader");
    let ran = running.end().await;
    assert_eq!(ran.content().len(), 200_000 * 40 + "the end".len());
    assert!(world.cli.beside("written").exists());
}

#[tokio::test]
async fn m_022_a_child_that_has_left_loses_nothing_to_a_slow_reader() {
    // What it says, 640 kB, always fits into the pipe and our buffers, and hardly ever into these
    // alone: it leaves long before it was heard.
    let script = [
        "touch here\nrepeat 10800 {\"t\":\"text\",\"x\":\"0123456789012345678901234567890123456789\"}\n",
        &text("the end"),
        DONE,
    ];
    let world = World::new(&script.concat()).await;
    let running = world.start(world.dispatch("x"));
    world.made("here").await;
    world.all_gone().await;
    // Longer than drains last: they count only time in which we read.
    tokio::time::sleep(std::time::Duration::from_millis(1600)).await;
    let ran = running.end().await;
    assert_eq!(ran.content().len(), 10_800 * 40 + "the end".len());
    assert_eq!(tokens(&ran.events), ran.content());
}

#[tokio::test]
async fn m_015_a_long_line_of_a_child_that_has_left_is_an_overflow_too() {
    let script = [
        "touch here\nrepeat 10800 {\"t\":\"text\",\"x\":\"0123456789012345678901234567890123456789\"}\n",
        "bigline 5000\n",
    ];
    let change = |config: &mut mia_plugin::PluginConfig| config.max_line = 4096;
    let world = World::with(Toy::default(), &script.concat(), change).await;
    let running = world.start(world.dispatch("x"));
    world.made("here").await;
    world.all_gone().await;
    // Its exit is known by then.
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    let ran = running.end().await;
    assert_eq!(ran.code(), Some(mia_api::ErrorCode::BufferOverflow));
    let partial = ran.error().partial.as_ref().unwrap();
    assert_eq!(partial.content.len(), 10_800 * 40);
}
