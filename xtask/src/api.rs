//! The daemon's API as others see it: the OpenAPI document, the TypeScript types made of it, and the
//! fuzzer that tries the daemon against it.

mod fuzz;
mod typescript;

use std::fs;

use crate::outcome::Outcome;
use crate::repository::Repository;
use crate::{Failure, docs};

#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct Args {
    /// Write nothing; fail when a file is not up to date
    #[arg(long)]
    check: bool,
    /// Also fuzz the daemon, as CI does
    #[arg(long)]
    fuzz: bool,
    /// Fuzz it for hours
    #[arg(long, requires = "fuzz")]
    long: bool,
}

/// Writes the OpenAPI document and the TypeScript types, or checks them. True when all is well.
pub(crate) fn run(repository: &Repository, args: Args) -> Result<bool, Failure> {
    let mut outcome = Outcome::default();
    if args.check {
        outcome.add(described(repository)?);
    } else {
        outcome.add(docs::write(repository, &docs::OPENAPI)?);
        let types = typescript::generate(repository)?;
        fs::write(repository.path(typescript::FILE), types)?;
        outcome.add(Outcome::passed());
        outcome.add(typescript::compiles(repository)?);
    }
    if args.fuzz {
        let length = if args.long { fuzz::Length::Long } else { fuzz::Length::Short };
        outcome.add(fuzz::daemon(repository, length)?);
    }
    for note in &outcome.notes {
        println!("{note}");
    }
    print!("{}", outcome.output);
    println!("{}", outcome.counts);
    Ok(outcome.counts.failed == 0)
}

/// The group of `cargo xtask test`.
pub(crate) fn check_all(repository: &Repository) -> Result<Outcome, Failure> {
    let mut outcome = described(repository)?;
    outcome.add(fuzz::finds_what_is_wrong(repository)?);
    outcome.add(fuzz::daemon(repository, fuzz::Length::Short)?);
    Ok(outcome)
}

/// The document and the types are up to date, and a program can be written with them.
fn described(repository: &Repository) -> Result<Outcome, Failure> {
    let mut outcome = Outcome::default();
    outcome.add(docs::up_to_date(repository, &docs::OPENAPI)?);
    outcome.add(typescript::up_to_date(repository)?);
    outcome.add(typescript::compiles(repository)?);
    Ok(outcome)
}
