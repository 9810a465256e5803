//! Load and faults: many at once, and what is killed, stopped or cut in the middle.
//!
//! `cargo xtask test` runs each of these once and small, always with the same seed; `cargo xtask soak`
//! runs them large and again and again, each round with another seed. [`rounds`] has both.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

#[expect(dead_code, reason = "not all of a scripted agent is needed here")]
#[path = "../cli/claude.rs"]
mod claude;
mod clock;
mod crashes;
mod daemon;
mod killed_agents;
mod kills;
#[expect(dead_code, reason = "not all that a person can do is needed here")]
#[path = "../cli/person.rs"]
mod person;
mod rounds;
mod starts;
mod stopped;
mod stream;
mod watchers;
