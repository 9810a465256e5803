//! What only opencode does.

mod ending;
mod permissions;
mod sub_agents;

type World = crate::world::World<mia_agents::OpenCode>;
