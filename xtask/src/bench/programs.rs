//! The release programs that are measured.

use std::cell::OnceCell;
use std::path::PathBuf;
use std::process::Stdio;

use serde_json::Value;

use crate::Failure;
use crate::repository::Repository;

/// Builds each program when it is first asked for, so that a line that doesn't need one is measured
/// though it doesn't build.
#[derive(Debug)]
pub(crate) struct Programs<'a> {
    repository: &'a Repository,
    mia: OnceCell<PathBuf>,
    bench: OnceCell<PathBuf>,
    fakecli: OnceCell<PathBuf>,
}

impl<'a> Programs<'a> {
    pub(crate) fn new(repository: &'a Repository) -> Self {
        Self { repository, mia: OnceCell::new(), bench: OnceCell::new(), fakecli: OnceCell::new() }
    }

    /// The product. Built by itself, so that no other crate adds features to it.
    pub(crate) fn mia(&self) -> Result<PathBuf, Failure> {
        self.once(&self.mia, "mia-cli", "mia")
    }

    /// The subjects and references that are no `mia`.
    pub(crate) fn bench(&self) -> Result<PathBuf, Failure> {
        self.once(&self.bench, "mia-bench", "mia-bench")
    }

    /// The scripted agent.
    pub(crate) fn fakecli(&self) -> Result<PathBuf, Failure> {
        self.once(&self.fakecli, "mia-testkit", "fakecli")
    }

    fn once(
        &self,
        cell: &OnceCell<PathBuf>,
        package: &str,
        program: &str,
    ) -> Result<PathBuf, Failure> {
        if let Some(path) = cell.get() {
            return Ok(path.clone());
        }
        eprintln!("building {program}");
        let path = build(self.repository, package, program)?;
        Ok(cell.get_or_init(|| path).clone())
    }
}

/// Builds one program and returns where cargo says that it is.
fn build(repository: &Repository, package: &str, program: &str) -> Result<PathBuf, Failure> {
    let args = ["build", "--locked", "--release", "--quiet", "--message-format=json"];
    let mut command = repository.cargo(args);
    command.args(["--package", package, "--bin", program]).stderr(Stdio::inherit());
    let output = command.output().map_err(|error| format!("can't run cargo: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        for message in text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
            if let Some(rendered) = message.pointer("/message/rendered").and_then(Value::as_str) {
                eprint!("{rendered}");
            }
        }
        return Err(format!("{program} does not build").into());
    }
    text.lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| message.pointer("/target/name").is_some_and(|name| name == program))
        .find_map(|message| message.get("executable")?.as_str().map(PathBuf::from))
        .ok_or_else(|| format!("cargo did not say where {program} is").into())
}
