//! The TypeScript types of the API, made of the OpenAPI document by openapi-typescript.

use std::fs;

use crate::Failure;
use crate::outcome::Outcome;
use crate::repository::{Repository, run};
use crate::setup::{api::Types, missing};

/// Where they are.
pub(super) const FILE: &str = "sdk/typescript/mia-api.ts";
const GENERATOR: &str = "openapi-typescript/bin/cli.js";
const COMPILER: &str = "typescript/bin/tsc";
/// The program that is compiled with them, in strict mode.
const PROGRAM: &str = "tests/api/tsconfig.json";
const HEAD: &str =
    "// The types of Mia's API, generated from docs/openapi.json by `cargo xtask api`.\n\n";

/// The types as the document is now.
pub(super) fn generate(repository: &Repository) -> Result<String, Failure> {
    let said = run(Types::command(repository, GENERATOR)?
        .arg("docs/openapi.json")
        .args(["--root-types", "--root-types-no-schema-prefix", "--root-types-keep-casing"])
        .args(["--empty-objects-unknown", "--default-non-nullable", "false"]))?;
    if !said.ok() || !said.stdout.contains("export interface components") {
        return Err(format!("openapi-typescript failed:\n{}", said.all).into());
    }
    // Its own notice of where the file comes from says less than ours.
    let types = said.stdout.split_once("*/\n").map_or(said.stdout.as_str(), |(_, types)| types);
    Ok(format!("{HEAD}{}\n", types.trim()))
}

/// What is checked in is what would be generated.
pub(super) fn up_to_date(repository: &Repository) -> Result<Outcome, Failure> {
    if let Some(outcome) = not_installed(repository)? {
        return Ok(outcome);
    }
    let types = generate(repository)?;
    let old = fs::read_to_string(repository.path(FILE)).unwrap_or_default();
    Ok(if old == types {
        Outcome::passed()
    } else {
        Outcome::failed(format!("{FILE} is not up to date: run `cargo xtask api`\n"))
    })
}

/// A program that tells all kinds of events apart compiles.
pub(super) fn compiles(repository: &Repository) -> Result<Outcome, Failure> {
    if let Some(outcome) = not_installed(repository)? {
        return Ok(outcome);
    }
    let said = run(Types::command(repository, COMPILER)?.args(["--project", PROGRAM]))?;
    Ok(if said.ok() { Outcome::passed() } else { Outcome::failed(said.all) })
}

fn not_installed(repository: &Repository) -> Result<Option<Outcome>, Failure> {
    let there = Types::read(repository)?.installed(repository);
    let why = "TypeScript types of the API: run `cargo xtask setup`";
    Ok((!there).then(|| missing(why, String::new())))
}
