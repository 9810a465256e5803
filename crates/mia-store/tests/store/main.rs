//! The store by its public surface, on real files and with real processes.
#![expect(clippy::unwrap_used, reason = "a test")]
#![expect(clippy::panic, reason = "a test")]

mod conversations;
mod crash;
mod fixture;
mod full;
mod history;
mod migrating;
mod opening;
mod queue;
mod recording;
mod replay;
mod retention;
mod sessions;
mod usage;
