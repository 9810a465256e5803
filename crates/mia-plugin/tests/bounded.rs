//! How much of this process dispatches take. A program of its own, in which one test runs at a
//! time: they look at the whole process.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test")]
#![expect(dead_code, reason = "the parts of the other tests that it needs are whole files")]

#[path = "spawn/memory.rs"]
mod memory;
#[path = "spawn/toy.rs"]
mod toy;
#[path = "spawn/world.rs"]
mod world;

use mia_plugin::CodingPlugin;
use toy::{DONE, Toy, text};
use world::World;

/// Held by the test that runs.
static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// A number from what the kernel says of this process.
fn status(name: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim_matches(|c: char| !c.is_ascii_digit()).parse().unwrap()
}

/// Resident memory of this process, in bytes.
fn resident() -> usize {
    status("VmRSS:") * 1024
}

#[tokio::test]
async fn fifty_dispatches_run_at_once_without_a_thread_each() {
    let _alone = ALONE.lock().await;
    let script = ["read-stdin\n", &text("here"), "wait-file go\n", DONE].concat();
    let world = World::with(Toy::default(), &script, |config| config.max_concurrency = 50).await;
    let before = status("Threads:");
    let mut running: Vec<_> = (0..50).map(|_| world.start(world.dispatch("x"))).collect();
    for one in &mut running {
        one.until_said("here").await;
    }
    let more = status("Threads:").saturating_sub(before);
    assert!(more < 5, "{more} threads more");
    world.open_gate("go");
    for one in running {
        assert_eq!(one.end().await.content(), "here");
    }
    world.all_gone().await;
}

#[tokio::test]
async fn two_hundred_megabytes_that_nobody_reads_stay_in_the_child() {
    let _alone = ALONE.lock().await;
    // 200 MB that enter no answer, for that is kept whole.
    let line = "0123456789".repeat(20);
    let script = format!("repeat 900000 {{\"t\":\"sub\",\"p\":\"1\",\"x\":\"{line}\"}}\n{DONE}");
    let world = World::new(&script).await;
    let before = resident();
    let mut running = world.start(world.dispatch("x"));
    world.stuck().await;
    let mut most = resident();
    // A part of it is enough to see that reading on does not let anything pile up either.
    let mut bytes = 0;
    while bytes < 20_000_000 {
        if let Some(mia_api::EventBody::Token { text, .. }) = running.stream.next().await {
            bytes += text.len();
        }
        most = most.max(resident());
    }
    world.stuck().await;
    most = most.max(resident());
    assert!(!running.dispatched.is_finished(), "it waits for its reader");
    world.plugin.abort(&running.task).await;
    let grown = most.saturating_sub(before);
    assert!(grown < 32 << 20, "{grown} bytes more");
    running.end().await.outcome.unwrap_err();
}
