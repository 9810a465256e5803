//! What makes and checks the TypeScript types of the API, and what fuzzes the API, at the versions
//! that are pinned in tests/api.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{missing, node_bin};
use crate::Failure;
use crate::outcome::Outcome;
use crate::repository::{Repository, on_path, run};

const FOLDER: &str = "tests/api";
const LOCK: &str = "tests/api/package-lock.json";
const REQUIREMENTS: &str = "tests/api/requirements.txt";
const NODE_MODULES: &str = "tests/api/node_modules";
const VENV: &str = "tests/api/venv";
/// In each of the two folders: a copy of the file that pins what is in it, written when all of it
/// was installed.
const STAMP: &str = ".installed";

/// The packages of npm.
pub(crate) struct Types {
    lock: String,
}

/// The packages of Python, in an environment of their own.
pub(crate) struct Fuzzer {
    requirements: String,
}

impl Types {
    pub(crate) fn read(repository: &Repository) -> Result<Self, Failure> {
        Ok(Self { lock: pinned(repository, LOCK)? })
    }

    /// Whether all of it is there already.
    pub(crate) fn installed(&self, repository: &Repository) -> bool {
        stamped(repository, NODE_MODULES, &self.lock)
    }

    /// Installs it where it is missing.
    pub(super) fn prepare(
        &self,
        repository: &Repository,
        node_bin: Option<&Path>,
    ) -> Result<Outcome, Failure> {
        if self.installed(repository) {
            return Ok(Outcome::passed());
        }
        if !on_path("npm") {
            let why = "openapi-typescript, typescript: there is no npm to install them";
            return Ok(missing(why, String::new()));
        }
        let mut command = repository.command("npm");
        command
            .args(["ci", "--prefer-offline", "--no-audit", "--no-fund", "--ignore-scripts"])
            .current_dir(repository.path(FOLDER));
        with_node(&mut command, node_bin)?;
        let said = run(&mut command)?;
        if !said.ok() {
            let why = "openapi-typescript, typescript: `npm ci` failed in tests/api";
            return Ok(missing(why, said.all));
        }
        fs::write(repository.path(NODE_MODULES).join(STAMP), &self.lock)?;
        let summary = "installed: openapi-typescript, typescript".to_owned();
        Ok(Outcome { summary, ..Outcome::passed() })
    }

    /// A program of these packages.
    pub(crate) fn command(repository: &Repository, script: &str) -> Result<Command, Failure> {
        let mut command = repository.command("node");
        command.arg(repository.path(NODE_MODULES).join(script));
        with_node(&mut command, node_bin(repository)?.as_deref())?;
        Ok(command)
    }
}

impl Fuzzer {
    pub(crate) fn read(repository: &Repository) -> Result<Self, Failure> {
        Ok(Self { requirements: pinned(repository, REQUIREMENTS)? })
    }

    /// Whether all of it is there already.
    pub(crate) fn installed(&self, repository: &Repository) -> bool {
        // The environment refers to the system's Python, which may have gone since.
        stamped(repository, VENV, &self.requirements) && python(repository).is_file()
    }

    /// Installs it where it is missing.
    pub(super) fn prepare(&self, repository: &Repository) -> Result<Outcome, Failure> {
        if self.installed(repository) {
            return Ok(Outcome::passed());
        }
        if !on_path("python3") {
            return Ok(missing("schemathesis: there is no python3 to install it", String::new()));
        }
        // Of another version, or begun and not ended.
        let venv = repository.path(VENV);
        if venv.exists() {
            fs::remove_dir_all(&venv)?;
        }
        let said = run(repository.command("python3").args(["-m", "venv", VENV]))?;
        if !said.ok() {
            let why = "schemathesis: python3 could not make an environment (python3-venv)";
            return Ok(missing(why, said.all));
        }
        let said = run(repository
            .command(python(repository))
            .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
            .args(["--no-deps", "--requirement", REQUIREMENTS]))?;
        if !said.ok() {
            let why = format!("schemathesis: pip could not install {REQUIREMENTS}");
            return Ok(missing(&why, said.all));
        }
        fs::write(venv.join(STAMP), &self.requirements)?;
        Ok(Outcome { summary: "installed: schemathesis".to_owned(), ..Outcome::passed() })
    }

    /// A script in tests/api, run with these packages.
    pub(crate) fn command(repository: &Repository, script: &str) -> Command {
        let mut command = repository.command(python(repository));
        command.arg(repository.path(FOLDER).join(script)).env("PYTHONDONTWRITEBYTECODE", "1");
        command
    }
}

fn pinned(repository: &Repository, path: &str) -> Result<String, Failure> {
    Ok(fs::read_to_string(repository.path(path))
        .map_err(|error| format!("can't read {path}: {error}"))?)
}

fn stamped(repository: &Repository, folder: &str, pinned: &str) -> bool {
    fs::read_to_string(repository.path(folder).join(STAMP)).is_ok_and(|stamp| stamp == pinned)
}

fn python(repository: &Repository) -> PathBuf {
    repository.path(VENV).join("bin/python")
}

/// Puts our own node before the PATH.
fn with_node(command: &mut Command, bin: Option<&Path>) -> Result<(), Failure> {
    if let Some(bin) = bin {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = [PathBuf::from(bin)].into_iter().chain(std::env::split_paths(&path));
        command.env("PATH", std::env::join_paths(folders)?);
    }
    Ok(())
}
