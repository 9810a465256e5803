//! Running the tests, with cargo-nextest where it is installed, and reading what came of them.
//!
//! A test that can't be run here (its real agent is missing) prints a line `SKIPPED what: why` and
//! ends well; such a test is counted as skipped, not as passed.

use std::collections::BTreeMap;

use crate::Failure;
use crate::outcome::{Counts, Outcome};
use crate::repository::{Repository, Said, run};

/// The word with which a test says that it could not be run.
const SKIPPED: &str = "SKIPPED ";

/// Compiles all programs and tests.
pub(super) fn build(repository: &Repository) -> Result<Outcome, Failure> {
    let said = if has_nextest(repository)? {
        run(&mut repository.cargo(["nextest", "run", "--locked", "--workspace", "--no-run"]))?
    } else {
        let args = ["test", "--locked", "--workspace", "--all-targets", "--no-run", "--quiet"];
        run(&mut repository.cargo(args))?
    };
    Ok(if said.ok() { Outcome::passed() } else { Outcome::failed(said.all) })
}

/// Runs all tests, or those whose name contains the filter.
pub(super) fn tests(repository: &Repository, filter: Option<&str>) -> Result<Outcome, Failure> {
    if has_nextest(repository)? {
        let args = ["nextest", "run", "--locked", "--workspace", "--no-fail-fast"];
        let mut command = repository.cargo(args);
        command
            .args(["--color", "never", "--status-level", "pass", "--final-status-level", "none"])
            .args(["--success-output", "immediate", "--failure-output", "immediate"])
            .args(filter);
        let said = run(&mut command)?;
        return Ok(finish(read_nextest(&said.all, filter.is_some()), said, "nextest"));
    }
    let args = ["test", "--locked", "--workspace", "--all-targets", "--no-fail-fast", "--"];
    let mut command = repository.cargo(args);
    command.args(filter).args(["--color", "never", "--show-output"]);
    let said = run(&mut command)?;
    Ok(finish(read_cargo_test(&said.all), said, "cargo test"))
}

/// Runs all examples in the documentation.
pub(super) fn doctests(repository: &Repository) -> Result<Outcome, Failure> {
    let args = ["test", "--locked", "--workspace", "--doc", "--no-fail-fast", "--"];
    let said = run(repository.cargo(args).args(["--color", "never"]))?;
    Ok(finish(read_cargo_test(&said.all), said, ""))
}

fn has_nextest(repository: &Repository) -> Result<bool, Failure> {
    Ok(run(&mut repository.cargo(["nextest", "--version"]))?.ok())
}

/// What the output of a runner says.
#[derive(Debug, Default, PartialEq, Eq)]
struct Report {
    counts: Counts,
    /// How often each reason for skipping was told.
    skipped: BTreeMap<String, u64>,
    /// The output without that of tests that passed.
    text: String,
}

impl Report {
    fn skip(&mut self, reason: &str) {
        *self.skipped.entry(reason.to_owned()).or_default() += 1;
    }
}

fn finish(report: Report, said: Said, runner: &str) -> Outcome {
    let mut counts = report.counts;
    let told: u64 = report.skipped.values().sum();
    counts.passed = counts.passed.saturating_sub(told);
    counts.skipped += told;
    if !said.ok() && counts.failed == 0 {
        // It did not get to the tests, or ended in some other way.
        counts.failed = 1;
    }
    let by = if runner.is_empty() { String::new() } else { format!(" ({runner})") };
    let notes = report.skipped.into_iter();
    let notes = notes.map(|(why, count)| format!("skipped {count}: {why}")).collect();
    Outcome { counts, summary: format!("{counts}{by}"), notes, output: report.text }
}

/// Reads the output of `cargo nextest run --status-level pass --success-output immediate`.
fn read_nextest(output: &str, filtered: bool) -> Report {
    let mut report = Report::default();
    let mut in_passed = false;
    let mut told = false;
    for line in output.lines() {
        if let Some(status) = nextest_status(line) {
            in_passed = matches!(status, "PASS" | "LEAK");
            told = false;
        } else if line.starts_with("────") {
            in_passed = false;
        }
        if !in_passed {
            report.text.push_str(line);
            report.text.push('\n');
        } else if let Some(reason) = line.trim().strip_prefix(SKIPPED)
            && !std::mem::replace(&mut told, true)
        {
            report.skip(reason);
        }
        if let Some((_, summary)) = line.split_once("tests run: ").or(line.split_once("test run: "))
            && line.trim_start().starts_with("Summary")
        {
            report.counts = nextest_counts(summary);
        }
    }
    if filtered {
        // What was not chosen was not skipped.
        report.counts.skipped = 0;
    }
    report
}

/// The word before the time of a status line: `        PASS [   0.005s] crate test`.
fn nextest_status(line: &str) -> Option<&str> {
    let (word, rest) = line.trim_start().split_once(' ')?;
    let time = rest.trim_start().strip_prefix('[')?.split_once("s]")?.0;
    let is_time = time.trim_start_matches([' ', '>']).parse::<f64>().is_ok();
    let is_word = word.chars().all(|c| c.is_ascii_uppercase() || c == '-');
    // A line of a test's own output is indented by four, a status by up to twelve.
    (is_time && is_word).then_some(word)
}

/// Reads `2 passed (1 slow), 1 failed, 1 timed out, 1 skipped`.
fn nextest_counts(summary: &str) -> Counts {
    let mut counts = Counts::default();
    // What stands in parentheses says how, not how many more.
    let mut plain = String::new();
    let mut depth = 0_u32;
    for c in summary.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ if depth == 0 => plain.push(c),
            _ => {}
        }
    }
    for part in plain.split(',') {
        let mut words = part.split_whitespace();
        let Some(count) = words.next().and_then(|word| word.parse::<u64>().ok()) else {
            continue;
        };
        match words.next() {
            Some("passed") => counts.passed += count,
            Some("skipped") => counts.skipped += count,
            // Failed, timed out, failed to start.
            _ => counts.failed += count,
        }
    }
    counts
}

/// Reads the output of `cargo test -- --show-output`, of all programs one after the other.
fn read_cargo_test(output: &str) -> Report {
    let mut report = Report::default();
    let mut in_passed = false;
    let mut told = false;
    for line in output.lines() {
        match line {
            "successes:" => in_passed = true,
            "failures:" => in_passed = false,
            _ if line.starts_with("---- ") => told = false,
            _ => {}
        }
        if let Some(result) = line.strip_prefix("test result: ") {
            in_passed = false;
            report.counts += cargo_test_counts(result);
        }
        if in_passed {
            if let Some(reason) = line.strip_prefix(SKIPPED)
                && !std::mem::replace(&mut told, true)
            {
                report.skip(reason);
            }
        } else if !(line.starts_with("test ") && line.ends_with(" ... ok")) {
            report.text.push_str(line);
            report.text.push('\n');
        }
    }
    report
}

/// Reads `ok. 3 passed; 0 failed; 1 ignored; 0 measured; 12 filtered out; finished in 0.23s`.
fn cargo_test_counts(result: &str) -> Counts {
    let mut counts = Counts::default();
    for part in result.split(['.', ';']) {
        let mut words = part.split_whitespace();
        let Some(count) = words.next().and_then(|word| word.parse::<u64>().ok()) else {
            continue;
        };
        match words.next() {
            Some("passed") => counts.passed = count,
            Some("failed") => counts.failed = count,
            Some("ignored") => counts.skipped = count,
            _ => {}
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    const NEXTEST: &str = "    Starting 4 tests across 2 binaries (1 test skipped)
        PASS [   0.023s] (1/4) nt sk
  stdout ───

    running 1 test
    SKIPPED real agent x: not there
    SKIPPED real agent x: once more
    test sk ... ok

        LEAK [   0.023s] (2/4) nt leaky
        FAIL [   0.245s] (3/4) nt bad
  stdout ───

    SKIPPED is not counted where it failed
     TIMEOUT [>  1.245s] (4/4) nt slow
────────────
     Summary [   0.246s] 4 tests run: 2 passed (1 slow, 1 leaky), 1 failed, 1 timed out, 1 skipped
error: test run failed
";

    #[test]
    fn nextest_is_read() {
        let report = read_nextest(NEXTEST, false);
        assert_eq!(report.counts, Counts { passed: 2, failed: 2, skipped: 1 });
        assert_eq!(report.skipped, [("real agent x: not there".to_owned(), 1)].into());
        let kept: Vec<_> = report.text.lines().filter_map(nextest_status).collect();
        assert_eq!(kept, ["FAIL", "TIMEOUT"]);
        assert!(report.text.contains("where it failed"));
        assert!(!report.text.contains("not there"));
        assert_eq!(read_nextest(NEXTEST, true).counts.skipped, 0);
    }

    const CARGO_TEST: &str = "
running 4 tests
test ign ... ignored
test ok ... ok
test sk ... ok
test bad ... FAILED

successes:

---- sk stdout ----
SKIPPED real agent x: not there

successes:
    ok
    sk

failures:

---- bad stdout ----
SKIPPED is not counted where it failed

failures:
    bad

test result: FAILED. 2 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.23s

running 1 test
test other ... ok

successes:

---- other stdout ----
SKIPPED real agent x: not there


successes:
    other

test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 7 filtered out; finished in 0.00s
";

    #[test]
    fn cargo_test_is_read() {
        let report = read_cargo_test(CARGO_TEST);
        assert_eq!(report.counts, Counts { passed: 3, failed: 1, skipped: 1 });
        assert_eq!(report.skipped, [("real agent x: not there".to_owned(), 2)].into());
        assert!(report.text.contains("where it failed"));
        assert!(!report.text.contains("not there"));
    }
}
