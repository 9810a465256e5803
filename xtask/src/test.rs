//! `cargo xtask test`: sets everything up, and runs all checks and all tests.
//!
//! Each group prints one line with its time; of a group that failed all output follows. The last
//! line adds everything up: each check is one, each test is one, and what could not be run is
//! counted as skipped and told why.

mod checks;
mod runner;

use std::io::{IsTerminal, Write};
use std::time::Instant;

use crate::outcome::{Counts, Outcome};
use crate::repository::Repository;
use crate::{Failure, api, docs, setup};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only tests whose name contains this; no other checks then
    filter: Option<String>,
    /// Only this group; may be given again
    #[arg(long, value_name = "GROUP", value_enum)]
    only: Vec<Group>,
}

/// What is run, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Group {
    /// Packages, node and the real agents
    Setup,
    /// The code is formatted
    Fmt,
    /// Clippy has nothing to say
    Clippy,
    /// The documentation has no warnings
    Docs,
    /// Licences, bans and sources of all crates
    Deny,
    /// No aws-lc, which takes minutes to build
    Tree,
    /// Every claimed clause has a test, generated documents are up to date
    Clauses,
    /// All programs and tests compile
    Build,
    /// All tests
    Tests,
    /// All examples in the documentation
    Doctests,
    /// The API is what its description and its TypeScript types say
    Api,
}

impl Group {
    const ALL: [Self; 11] = [
        Self::Setup,
        Self::Fmt,
        Self::Clippy,
        Self::Docs,
        Self::Deny,
        Self::Tree,
        Self::Clauses,
        Self::Build,
        Self::Tests,
        Self::Doctests,
        Self::Api,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Setup => "setup",
            Self::Fmt => "fmt",
            Self::Clippy => "clippy",
            Self::Docs => "docs",
            Self::Deny => "deny",
            Self::Tree => "tree",
            Self::Clauses => "clauses",
            Self::Build => "build",
            Self::Tests => "tests",
            Self::Doctests => "doctests",
            Self::Api => "api",
        }
    }

    fn run(self, repository: &Repository, filter: Option<&str>) -> Result<Outcome, Failure> {
        match self {
            Self::Setup => setup::prepare(repository),
            Self::Fmt => checks::fmt(repository),
            Self::Clippy => checks::clippy(repository),
            Self::Docs => checks::docs(repository),
            Self::Deny => checks::deny(repository),
            Self::Tree => checks::tree(repository),
            Self::Clauses => docs::check_all(repository),
            Self::Build => runner::build(repository),
            Self::Tests => runner::tests(repository, filter),
            Self::Doctests => runner::doctests(repository),
            Self::Api => api::check_all(repository),
        }
    }
}

/// Runs the groups. True when nothing failed.
pub(crate) fn run(repository: &Repository, args: &Args) -> Result<bool, Failure> {
    let chosen = |group: &Group| match (&args.filter, args.only.as_slice()) {
        (Some(_), []) => matches!(group, Group::Setup | Group::Tests),
        (None, []) => true,
        (_, only) => only.contains(group),
    };
    let began = Instant::now();
    let mut total = Counts::default();
    let mut unbuilt = false;
    for group in Group::ALL.into_iter().filter(chosen) {
        announce(group);
        let began = Instant::now();
        let outcome = if unbuilt && matches!(group, Group::Tests | Group::Doctests | Group::Api) {
            Outcome::skipped("the build failed")
        } else {
            // A group that can't be run at all has failed; the others go on.
            let ran = group.run(repository, args.filter.as_deref());
            ran.unwrap_or_else(|failure| Outcome::failed(format!("{failure}\n")))
        };
        unbuilt |= group == Group::Build && outcome.counts.failed > 0;
        total += outcome.counts;
        report(group, &outcome, began);
    }
    println!("in {:.1} s", began.elapsed().as_secs_f64());
    println!("{total}");
    Ok(total.failed == 0)
}

/// Says on a terminal what goes on.
fn announce(group: Group) {
    let mut stderr = std::io::stderr();
    if stderr.is_terminal() && std::io::stdout().is_terminal() {
        let _ = write!(stderr, "… {}\r", group.name());
    }
}

fn report(group: Group, outcome: &Outcome, began: Instant) {
    let line = format!(
        "{} {:<9} {:>7.1} s  {}",
        outcome.mark(),
        group.name(),
        began.elapsed().as_secs_f64(),
        outcome.summary
    );
    println!("{}", line.trim_end());
    for note in &outcome.notes {
        println!("    {note}");
    }
    if outcome.counts.failed > 0 {
        println!("{}", outcome.output.trim_end());
    }
}
