//! More connections than there are places.

use mia_daemon::{Limits, Patience};
use mia_host::descriptors;
use tokio::time::timeout;

use crate::daemon::{Daemon, SHORT, SOON};

#[tokio::test]
async fn those_over_the_limit_wait_and_get_their_turn() {
    let daemon = Daemon::with(Limits { connections: 4, ..Limits::default() }).await;
    let mut open = Vec::new();
    for _ in 0..4 {
        open.push(daemon.raw().await);
    }
    let impatient = Patience { head: SHORT, ..Patience::default() };
    let waits = daemon.client().with_patience(impatient);
    let silent = waits.get::<serde_json::Value>("/v1/status").await.unwrap_err();
    assert!(silent.to_string().contains("does not answer"), "{silent}");
    let client = daemon.client();
    let waits = tokio::spawn(async move { client.get::<serde_json::Value>("/v1/status").await });
    open.pop();
    timeout(SOON, waits).await.unwrap().unwrap().unwrap();
}

#[tokio::test]
async fn places_that_nobody_uses_are_free_after_a_while() {
    let limits = Limits { connections: 4, head: SHORT, ..Limits::default() };
    let daemon = Daemon::with(limits).await;
    let mut open = Vec::new();
    for _ in 0..100 {
        open.push(daemon.raw().await);
    }
    daemon.is_well().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn as_many_as_a_process_may_have_are_taken_and_some_more_wait() {
    const LEAST: u64 = 4096;
    /// No system's queue is shorter.
    const MORE: usize = 100;
    let descriptors = descriptors::raise();
    if descriptors < LEAST {
        eprintln!("skipped: {descriptors} descriptors are allowed here, and it takes {LEAST}");
        return;
    }
    // Both ends of each are in this process.
    let limits = Limits::within(descriptors / 2);
    let places = limits.connections;
    let daemon = Daemon::with(limits).await;
    let mut open = Vec::new();
    for _ in 0..places + MORE {
        open.push(timeout(SOON, daemon.raw()).await.unwrap());
    }
    let client = daemon.client();
    let waits = tokio::spawn(async move { client.get::<serde_json::Value>("/v1/status").await });
    // Those that were first leave.
    open.drain(..places);
    timeout(SOON, waits).await.unwrap().unwrap().unwrap();
    drop(open);
    daemon.is_well().await;
}
