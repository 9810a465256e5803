//! The checks that are no tests: each a program of others, whose output is shown when it fails.

use std::process::Command;

use crate::Failure;
use crate::outcome::Outcome;
use crate::repository::{Repository, run};

/// The code is formatted.
pub(super) fn fmt(repository: &Repository) -> Result<Outcome, Failure> {
    if !has(repository, "fmt")? {
        return Ok(Outcome::skipped("rustfmt is not installed"));
    }
    // Names of files alone: `cargo fmt --all` mends them, nobody needs to read the differences.
    let said = run(&mut repository.cargo(["fmt", "--all", "--check", "--", "--files-with-diff"]))?;
    if said.ok() {
        return Ok(Outcome::passed());
    }
    let hint = "not formatted; `cargo fmt --all` mends it";
    Ok(Outcome { summary: hint.to_owned(), ..Outcome::failed(said.all) })
}

/// Clippy has nothing to say.
pub(super) fn clippy(repository: &Repository) -> Result<Outcome, Failure> {
    if !has(repository, "clippy")? {
        return Ok(Outcome::skipped("clippy is not installed"));
    }
    let args =
        ["clippy", "--locked", "--workspace", "--all-targets", "--keep-going", "--quiet", "--"];
    verdict(repository.cargo(args).args(["-D", "warnings"]))
}

/// The documentation has no warnings.
pub(super) fn docs(repository: &Repository) -> Result<Outcome, Failure> {
    let args = ["doc", "--locked", "--workspace", "--no-deps", "--quiet"];
    verdict(repository.cargo(args).env("RUSTDOCFLAGS", "-D warnings"))
}

/// Licences, bans and sources of all crates. Not advisories, whose database can't be reached from
/// everywhere.
pub(super) fn deny(repository: &Repository) -> Result<Outcome, Failure> {
    if !has(repository, "deny")? {
        return Ok(Outcome::skipped("cargo-deny is not installed"));
    }
    let args = ["deny", "--locked", "--workspace", "check", "bans", "licenses", "sources"];
    verdict(&mut repository.cargo(args))
}

/// No aws-lc, which takes minutes to build.
pub(super) fn tree(repository: &Repository) -> Result<Outcome, Failure> {
    let args = ["tree", "--locked", "--workspace", "--all-features", "--invert", "aws-lc-sys"];
    let said = run(&mut repository.cargo(args))?;
    let absent = !said.ok() && said.all.contains("did not match any packages");
    // The lock file may name it for another platform.
    let unused = said.ok() && said.stdout.trim().is_empty();
    Ok(if absent || unused { Outcome::passed() } else { Outcome::failed(said.all) })
}

/// Whether cargo has this command.
fn has(repository: &Repository, command: &str) -> Result<bool, Failure> {
    Ok(run(&mut repository.cargo([command, "--version"]))?.ok())
}

fn verdict(command: &mut Command) -> Result<Outcome, Failure> {
    let said = run(command)?;
    Ok(if said.ok() { Outcome::passed() } else { Outcome::failed(said.all) })
}
