//! A reader that is behind.

use mia_api::EventBody;
use pretty_assertions::assert_eq;

use crate::toy::{DONE, text};
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
    running
        .until(|event| matches!(event, EventBody::Token { .. }))
        .await;
    world.stuck().await;
    assert!(
        !world.cli.beside("written").exists(),
        "it waits for its reader"
    );
    let ran = running.end().await;
    assert_eq!(ran.content().len(), 200_000 * 40 + "the end".len());
    assert!(world.cli.beside("written").exists());
}

#[tokio::test]
async fn m_022_a_child_that_has_left_loses_nothing_to_a_slow_reader() {
    // What it says fits into the pipe and our buffers, so it leaves long before it was heard.
    let script = [
        "repeat 12000 {\"t\":\"text\",\"x\":\"0123456789012345678901234567890123456789\"}\n",
        &text("the end"),
        DONE,
        "touch left\n",
    ];
    let world = World::new(&script.concat()).await;
    let running = world.start(world.dispatch("x"));
    world.made("left").await;
    // Longer than drains last: they count only time in which we read.
    tokio::time::sleep(std::time::Duration::from_millis(1600)).await;
    let ran = running.end().await;
    assert_eq!(ran.content().len(), 12_000 * 40 + "the end".len());
    assert_eq!(tokens(&ran.events), ran.content());
}
