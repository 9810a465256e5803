//! What came of a group of checks, and the counts that the closing line adds up.

use std::fmt;
use std::ops::AddAssign;

/// How many passed, failed and were skipped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

/// What came of one group.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) counts: Counts,
    /// A few words beside the group's name.
    pub(crate) summary: String,
    /// Lines that people should see also when all went well: what was skipped, and why.
    pub(crate) notes: Vec<String>,
    /// Everything that was said; shown when something failed.
    pub(crate) output: String,
}

impl Outcome {
    /// A single check that holds.
    pub(crate) fn passed() -> Self {
        Self { counts: Counts { passed: 1, ..Counts::default() }, ..Self::default() }
    }

    /// A single check that does not hold.
    pub(crate) fn failed(output: impl Into<String>) -> Self {
        let counts = Counts { failed: 1, ..Counts::default() };
        Self { counts, output: output.into(), ..Self::default() }
    }

    /// A single check that could not be made.
    pub(crate) fn skipped(why: impl fmt::Display) -> Self {
        let counts = Counts { skipped: 1, ..Counts::default() };
        Self { counts, summary: format!("skipped: {why}"), ..Self::default() }
    }

    /// Adds what came of a part.
    pub(crate) fn add(&mut self, part: Self) {
        self.counts += part.counts;
        if !part.summary.is_empty() {
            self.notes.push(part.summary);
        }
        self.notes.extend(part.notes);
        self.output.push_str(&part.output);
    }

    /// The mark of the group's line.
    pub(crate) fn mark(&self) -> char {
        match self.counts {
            Counts { failed: 1.., .. } => '✗',
            Counts { passed: 0, .. } => '-',
            _ => '✓',
        }
    }
}
