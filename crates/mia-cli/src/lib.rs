//! The `mia` command, and what another binary needs to be a Mia of its own.
//!
//! ```no_run
//! fn main() -> std::process::ExitCode {
//!     mia_cli::run(mia_cli::Program::new("my-mia"))
//! }
//! ```

mod args;
mod ask;
mod check;
mod client;
mod config;
mod conversation;
mod daemon;
mod doctor;
mod exit;
mod failure;
mod install;
mod log;
mod manifests;
mod manual;
mod mistake;
mod plugin;
mod program;
mod programs;
mod retention;
mod serve;
mod setup;
mod signals;
mod status;
mod table;
mod tasks;
mod terminal;
mod time;
mod trace;
mod usage;

pub use args::command;
pub use program::{Program, run};
