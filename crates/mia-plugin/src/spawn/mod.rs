//! The spawn base: a CLI that prints one JSON object a line.

mod adapter;
mod binary;
pub(crate) mod environment;
mod failure;
mod judge;
mod life;
mod out;
mod outcome;
mod plugin;
mod probe;
mod prompt;
mod questions;
mod run;
mod stdin;
mod watch;

pub use adapter::{Call, CliAdapter, Exit, Interrupt, Launch, Noise, Profile};
pub use out::{Out, Terminal};
pub use plugin::SpawnPlugin;
