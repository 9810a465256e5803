//! The daemon under attack, on a real socket; and its client with a daemon that misbehaves.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

mod bodies;
mod crowd;
mod daemon;
#[path = "../described/mod.rs"]
mod described;
mod heads;
mod paths;
mod peers;
mod readers;
mod secrets;
mod silent;
