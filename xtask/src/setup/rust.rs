//! The parts of Rust that a minimal toolchain lacks.

use crate::Failure;
use crate::outcome::Outcome;
use crate::repository::{Repository, on_path, run};

const COMPONENTS: [(&str, &str); 2] = [("fmt", "rustfmt"), ("clippy", "clippy")];

/// Adds rustfmt and clippy where they are missing and rustup is there.
pub(super) fn prepare(repository: &Repository) -> Result<Outcome, Failure> {
    let mut missing = Vec::new();
    for (command, component) in COMPONENTS {
        if !run(&mut repository.cargo([command, "--version"]))?.ok() {
            missing.push(component);
        }
    }
    if missing.is_empty() {
        return Ok(Outcome::passed());
    }
    let by_hand = format!("rustup component add {}", missing.join(" "));
    if !on_path("rustup") {
        let what = missing.join(", ");
        return Ok(Outcome::skipped(format!("not installed: {what}; with rustup: {by_hand}")));
    }
    let said = run(repository.command("rustup").args(["component", "add"]).args(&missing))?;
    if !said.ok() {
        let why = format!("`{by_hand}` failed: {}", said.last_line());
        return Ok(Outcome { output: said.all, ..Outcome::skipped(why) });
    }
    Ok(Outcome { summary: format!("added: {}", missing.join(" ")), ..Outcome::passed() })
}
