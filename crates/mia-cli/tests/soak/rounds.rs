//! How often and how large a scenario is run.

use std::time::{Duration, Instant};

use fastrand::Rng;

/// How long a scenario is run, in minutes; when it is not set one small round is run.
const MINUTES: &str = "MIA_SOAK_MINUTES";
/// What the first round's chances are drawn from; each later round has the next number.
const SEED: &str = "MIA_SOAK_SEED";

/// One round of a scenario.
#[derive(Debug)]
pub(crate) struct Round {
    /// All that is left to chance is drawn from here.
    pub(crate) rng: Rng,
    long: bool,
}

impl Round {
    /// A size: of the small round among the tests, or of a long one.
    pub(crate) fn size(&self, small: usize, long: usize) -> usize {
        if self.long { long } else { small }
    }

    /// True in `cargo xtask soak`.
    pub(crate) fn is_long(&self) -> bool {
        self.long
    }

    /// A time up to that one.
    pub(crate) fn up_to(&mut self, most: Duration) -> Duration {
        most.mul_f64(self.rng.f64())
    }
}

/// Runs a scenario, which tells what it did and panics when something is wrong.
pub(crate) fn rounds(name: &'static str, scenario: impl FnMut(&mut Round) -> String) {
    let number = |variable: &str| {
        let text = std::env::var(variable).ok()?;
        Some(text.parse().unwrap_or_else(|_| panic!("{variable} is to be a number, not {text:?}")))
    };
    let first = number(SEED).unwrap_or(1);
    run(name, number(MINUTES), first, &|line| println!("{line}"), scenario);
}

fn run(
    name: &str,
    minutes: Option<u64>,
    first: u64,
    tell: &dyn Fn(String),
    mut scenario: impl FnMut(&mut Round) -> String,
) {
    let limit = Duration::from_secs(minutes.unwrap_or(0) * 60);
    let long = minutes.is_some();
    let began = Instant::now();
    for seed in first.. {
        let _again = Again { name, seed, long, tell };
        let since = Instant::now();
        let mut round = Round { rng: Rng::with_seed(seed), long };
        let done = scenario(&mut round);
        tell(format!("{name}, seed {seed}, {:.1} s: {done}", since.elapsed().as_secs_f64()));
        if began.elapsed() >= limit {
            break;
        }
    }
}

/// Tells how a round that fails is run again: the same seed, and the same size, of which the chances
/// depend too.
struct Again<'a> {
    name: &'a str,
    seed: u64,
    long: bool,
    tell: &'a dyn Fn(String),
}

impl Drop for Again<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let Self { name, seed, long, tell } = self;
            let command = if *long {
                format!("cargo xtask soak --only {name} --minutes 0 --seed {seed}")
            } else {
                format!("{SEED}={seed} cargo xtask test {name}::")
            };
            tell(format!("{name}, seed {seed}: FAILED; the same round again: `{command}`"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use std::cell::RefCell;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    /// The last line of rounds from that seed on: the small one fails, and the third of the long ones.
    fn told(minutes: Option<u64>, first: u64) -> String {
        let lines = RefCell::new(Vec::new());
        let mut count = 0;
        let rounds = AssertUnwindSafe(|| {
            run("kills", minutes, first, &|line| lines.borrow_mut().push(line), |_| {
                count += 1;
                assert!(count < 3 && minutes.is_some(), "as this test wants it");
                String::new()
            });
        });
        assert!(catch_unwind(rounds).is_err());
        lines.into_inner().pop().unwrap()
    }

    #[test]
    fn a_round_that_fails_tells_the_command_for_the_same_round() {
        let again = |command| format!("FAILED; the same round again: `{command}`");
        let small = again("MIA_SOAK_SEED=7 cargo xtask test kills::");
        assert_eq!(told(None, 7), format!("kills, seed 7: {small}"));
        let long = again("cargo xtask soak --only kills --minutes 0 --seed 9");
        assert_eq!(told(Some(1), 7), format!("kills, seed 9: {long}"));
    }
}
