//! Children under a real supervisor: `/bin/sh`, `setsid`, `sleep`, and everything that they do to
//! get away.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod host;
mod kill;
mod lifetime;
mod spawn;
mod supervisors;
mod tree;
mod world;
