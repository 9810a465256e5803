//! What the tests need on this machine: packages of the system, parts of Rust, node, the real
//! agents.
//!
//! Each part looks first and costs next to nothing when all is there; nothing needs the network
//! then. What can't be had is told with the command that would bring it, and the rest goes on.

mod agents;
pub(crate) mod api;
mod node;
mod packages;
mod rust;

use std::path::PathBuf;

use crate::Failure;
use crate::outcome::{Counts, Outcome};
use crate::repository::{Repository, in_ci};

/// `cargo xtask setup`. True when everything is in place.
pub(crate) fn run(repository: &Repository) -> Result<bool, Failure> {
    let outcome = prepare(repository)?;
    for note in &outcome.notes {
        println!("{note}");
    }
    print!("{}", outcome.output);
    println!("{}", outcome.counts);
    Ok(matches!(outcome.counts, Counts { failed: 0, skipped: 0, .. }))
}

/// Sets everything up. Each part counts as one.
pub(crate) fn prepare(repository: &Repository) -> Result<Outcome, Failure> {
    let agents = agents::Agents::read(repository)?;
    let mut outcome = Outcome::default();
    let types = api::Types::read(repository)?;
    let fuzzer = api::Fuzzer::read(repository)?;
    let node = !agents.installed(repository) || !types.installed(repository);
    outcome.add(packages::prepare(repository, node, !fuzzer.installed(repository))?);
    outcome.add(rust::prepare(repository)?);
    let node = node::prepare(repository, &agents)?;
    let node_bin = node.bin.clone();
    outcome.add(node.outcome);
    outcome.add(agents.prepare(repository, node_bin.as_deref())?);
    outcome.add(types.prepare(repository, node_bin.as_deref())?);
    outcome.add(fuzzer.prepare(repository)?);
    Ok(outcome)
}

/// The folder of our own node, to be put before the PATH; none for the system's.
fn node_bin(repository: &Repository) -> Result<Option<PathBuf>, Failure> {
    Ok(node::prepare(repository, &agents::Agents::read(repository)?)?.bin)
}

/// What tests need from a registry, such as a real agent, is missing: skipped, but a failure in CI.
pub(crate) fn missing(why: &str, output: String) -> Outcome {
    if in_ci() {
        return Outcome { summary: format!("failed: {why}"), ..Outcome::failed(output) };
    }
    Outcome { output, ..Outcome::skipped(why) }
}
