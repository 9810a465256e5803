//! The project's own chores: `cargo xtask test | setup | bench | soak | clauses | docs | api`.

mod agents;
mod api;
mod bench;
mod clauses;
mod docs;
mod outcome;
mod repository;
mod setup;
mod soak;
mod test;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::repository::Repository;

/// What went wrong, as one line for people.
type Failure = Box<dyn std::error::Error>;

/// The project's own chores.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Debug, Subcommand)]
enum Chore {
    /// Set up what the tests need, and run all of them and all checks
    Test(test::Args),
    /// Only set up what the tests need: packages, node, the real agents
    Setup,
    /// Measure Mia, each figure beside its reference of the same run
    Bench(bench::Args),
    /// Load and faults, large and for a long time
    Soak(soak::Args),
    /// Write docs/clauses.md: which test proves which clause of docs/spec
    Clauses(docs::Args),
    /// Write all generated documents: docs/clauses.md and docs/config.md
    Docs(docs::Args),
    /// Write docs/openapi.json and the TypeScript types made of it
    Api(api::Args),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = Repository::find().and_then(|repository| match cli.chore {
        Chore::Test(args) => test::run(&repository, &args),
        Chore::Setup => setup::run(&repository),
        Chore::Bench(args) => bench::run(&repository, &args),
        Chore::Soak(args) => soak::run(&repository, &args),
        Chore::Clauses(args) => docs::run(&repository, args, &[docs::CLAUSES]),
        Chore::Api(args) => api::run(&repository, args),
        Chore::Docs(args) => docs::run(&repository, args, &docs::ALL),
    });
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(failure) => {
            eprintln!("cargo xtask: {failure}");
            ExitCode::FAILURE
        }
    }
}
