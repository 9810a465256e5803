//! The release programs that are measured.

use std::path::PathBuf;
use std::process::Stdio;

use serde_json::Value;

use crate::Failure;
use crate::repository::Repository;

/// Where they are.
#[derive(Debug)]
pub(crate) struct Programs {
    /// The product.
    pub(crate) mia: PathBuf,
    /// The subjects and references that are no `mia`.
    pub(crate) bench: PathBuf,
    /// The scripted agent.
    pub(crate) fakecli: PathBuf,
}

impl Programs {
    /// Builds them.
    pub(crate) fn build(repository: &Repository) -> Result<Self, Failure> {
        // By itself, so that no other crate adds features to it.
        let mia = build(repository, "mia-cli", "mia")?;
        let bench = build(repository, "mia-bench", "mia-bench")?;
        let fakecli = build(repository, "mia-testkit", "fakecli")?;
        Ok(Self {
            mia,
            bench,
            fakecli,
        })
    }
}

/// Builds one program and returns where cargo says that it is.
fn build(repository: &Repository, package: &str, program: &str) -> Result<PathBuf, Failure> {
    let args = [
        "build",
        "--locked",
        "--release",
        "--quiet",
        "--message-format=json",
    ];
    let mut command = repository.cargo(args);
    command
        .args(["--package", package, "--bin", program])
        .stderr(Stdio::inherit());
    let output = command
        .output()
        .map_err(|error| format!("can't run cargo: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        for message in text
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        {
            if let Some(rendered) = message.pointer("/message/rendered").and_then(Value::as_str) {
                eprint!("{rendered}");
            }
        }
        return Err(format!("{program} does not build").into());
    }
    text.lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| {
            message
                .pointer("/target/name")
                .is_some_and(|name| name == program)
        })
        .find_map(|message| message.get("executable")?.as_str().map(PathBuf::from))
        .ok_or_else(|| format!("cargo did not say where {program} is").into())
}
