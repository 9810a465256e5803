//! `cargo xtask soak`: load and faults, large and again and again. `cargo xtask test` runs the same
//! scenarios, `crates/mia-cli/tests/soak`, once and small.

use std::process::Stdio;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::ValueEnum;

use crate::Failure;
use crate::repository::Repository;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only this scenario; may be given again
    #[arg(long, value_name = "NAME", value_enum)]
    only: Vec<Scenario>,
    /// How long each scenario is run; a round that has begun is ended
    #[arg(long, value_name = "N", default_value_t = 5)]
    minutes: u64,
    /// What the first round's chances are drawn from, as a failed one told it
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
}

/// A module of `crates/mia-cli/tests/soak`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
enum Scenario {
    /// 200 dispatches at once, each with 20 watchers that leave and come back
    Watchers,
    /// The daemon is killed at 20 points of a streamed dispatch
    Kills,
    /// The daemon is killed while a real agent is at work
    KilledAgents,
    /// A watcher stands still while 200 MB of tool output stream
    Stopped,
    /// A plugin that crashes each time
    Crashes,
    /// Ten starts at once, again and again
    Starts,
    /// The clock of the wall jumps by hours, days and years
    Clock,
}

/// Runs the scenarios, each for its time. True when nothing was wrong.
pub(crate) fn run(repository: &Repository, args: &Args) -> Result<bool, Failure> {
    let seed = match args.seed {
        Some(seed) => seed,
        None => SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs() % 1_000_000,
    };
    let chosen = Scenario::value_variants().iter();
    let chosen = chosen.filter(|one| args.only.is_empty() || args.only.contains(one));
    let mut failed = Vec::new();
    for scenario in chosen {
        let Some(name) = scenario.to_possible_value() else { continue };
        let name = name.get_name().to_owned();
        // One after the other: what one does to the machine must not slow another one down.
        let test = ["test", "--locked", "--quiet", "--package", "mia-cli", "--test", "soak", "--"];
        let mut command = repository.cargo(test);
        command
            .args([&format!("{name}::"), "--nocapture", "--test-threads", "1"])
            .env("MIA_SOAK_MINUTES", args.minutes.to_string())
            .env("MIA_SOAK_SEED", seed.to_string())
            .stdin(Stdio::null());
        if !command.status()?.success() {
            failed.push(name);
        }
    }
    match failed.as_slice() {
        [] => println!("nothing was wrong"),
        failed => println!("FAILED: {}", failed.join(", ")),
    }
    Ok(failed.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn each_scenario_is_a_module_of_the_tests() {
        let main = include_str!("../../crates/mia-cli/tests/soak/main.rs");
        for scenario in Scenario::value_variants() {
            let name = scenario.to_possible_value().unwrap();
            let module = format!("mod {};\n", name.get_name());
            assert_eq!(main.matches(&module).count(), 1, "{module}");
        }
    }
}
