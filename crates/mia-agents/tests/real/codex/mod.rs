//! What only Codex does.

mod login;
mod permissions;
mod servers;
mod turns;

type World = crate::world::World<mia_agents::Codex>;
