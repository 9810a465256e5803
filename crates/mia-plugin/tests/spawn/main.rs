//! Dispatches of a made-up CLI: a real child, under a real supervisor, that does what its script
//! says.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod abort;
mod backpressure;
mod callbacks;
mod ending;
mod judging;
mod limits;
mod memory;
mod permissions;
mod property;
mod sessions;
mod slots;
mod start;
mod streams;
mod toy;
mod unsaved;
mod world;
