//! Runs: the onion, its faults, its stops, its messages. The clock is paused wherever time matters.
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

mod message;
mod property;
mod relay;
mod session;
mod teardown;
mod world;
