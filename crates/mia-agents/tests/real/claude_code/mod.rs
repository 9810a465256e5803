//! What only Claude Code does, or does in its own way.

mod answers;
mod cut_streams;
mod ending;
mod environment;
mod limits;
mod permissions;
mod prompts;
mod provider_errors;
mod sessions;

type World = crate::world::World<mia_agents::ClaudeCode>;
