//! The real Claude Code behind its plugin, against a model that the prompt scripts.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod answers;
mod conformance;
mod cut_streams;
mod ending;
mod environment;
mod limits;
mod permissions;
mod prompts;
mod provider_errors;
mod sessions;
mod usage;
mod world;
