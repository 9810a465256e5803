//! What the tests stand on. A dev-dependency only.
//!
//! - [`fakellm`]: a model server on loopback whose behaviour the prompt scripts.
//! - [`fakecli`]: a scripted child process, which is the test binary itself under another name.
//! - [`agents`]: the real agents, at pinned versions, each run in a home of its own.
//! - [`transcripts`]: what the real agents printed when they were recorded.
//! - [`proc`]: looking for processes, and waiting until they are gone.
//!
//! A test binary that links this crate (any `use mia_testkit::…`) can be started as [`fakecli`]:
//! a constructor looks at `argv[0]` before `main`.

pub mod agents;
pub mod fakecli;
pub mod fakellm;
pub mod proc;
mod startup;
pub mod transcripts;
