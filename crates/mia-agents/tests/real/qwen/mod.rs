//! What only Qwen Code does, or does in its own way.

mod permissions;
mod prompts;
mod sub_agents;

type World = crate::world::World<mia_agents::Qwen>;
