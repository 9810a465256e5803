//! A node that is new enough for the agents.

use std::ffi::OsStr;
use std::path::PathBuf;

use super::agents::Agents;
use super::missing;
use crate::Failure;
use crate::outcome::Outcome;
use crate::repository::{Repository, on_path, run};

/// Where our own node is put; git ignores it.
const FOLDER: &str = "tests/agents/node";

/// The node to use.
pub(super) struct Node {
    /// The folder of our own node, to be put before the PATH; none for the system's.
    pub(super) bin: Option<PathBuf>,
    pub(super) outcome: Outcome,
}

/// Finds a node of the version that the agents ask for, or brings one from npm.
pub(super) fn prepare(repository: &Repository, agents: &Agents) -> Result<Node, Failure> {
    let wanted = agents.node_major();
    if major(repository, "node").is_some_and(|found| found >= wanted) {
        return Ok(Node { bin: None, outcome: Outcome::passed() });
    }
    // The package `node` is only a script that brings the one for the platform, and npm 11 runs
    // no scripts of packages.
    let arch = match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => {
            let why = format!("node {wanted}: npm has none for {other}");
            return Ok(Node { bin: None, outcome: missing(&why, String::new()) });
        }
    };
    let package = format!("node-linux-{arch}");
    let bin = repository.path(FOLDER).join("node_modules").join(&package).join("bin");
    let ours = || major(repository, bin.join("node")).is_some_and(|found| found >= wanted);
    if ours() {
        return Ok(Node { bin: Some(bin), outcome: Outcome::passed() });
    }
    if !on_path("npm") {
        let why = format!("node {wanted} or newer: there is no npm to bring it");
        return Ok(Node { bin: None, outcome: missing(&why, String::new()) });
    }
    let spec = format!("{package}@{wanted}");
    let said = run(repository
        .command("npm")
        .args(["install", "--no-save", "--no-audit", "--no-fund", "--ignore-scripts"])
        .args(["--prefix", FOLDER, &spec]))?;
    if !said.ok() || !ours() {
        let why = format!("node {wanted}: npm could not install {spec}");
        return Ok(Node { bin: None, outcome: missing(&why, said.all) });
    }
    let summary = format!("installed: {spec} from npm");
    Ok(Node { bin: Some(bin), outcome: Outcome { summary, ..Outcome::passed() } })
}

/// The major version of a node; none when it doesn't run.
fn major(repository: &Repository, node: impl AsRef<OsStr>) -> Option<u32> {
    let said = run(repository.command(node).arg("--version")).ok()?;
    let version = said.stdout.trim().strip_prefix('v')?;
    version.split('.').next()?.parse().ok()
}
