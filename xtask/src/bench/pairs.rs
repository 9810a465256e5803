//! A subject and its reference, run in turn, and the rows that come of it.

use std::path::Path;

use serde_json::Value;

use super::child::Script;
use super::measure::{Run, number, run};
use super::programs::Programs;
use super::row::{Cost, Row, Target};
use crate::Failure;

/// What a line is measured with.
#[derive(Debug)]
pub(crate) struct Setting<'a> {
    pub(crate) programs: &'a Programs<'a>,
    /// A folder of the line's own.
    pub(crate) folder: &'a Path,
    pub(crate) runs: u32,
}

/// A subject and its reference, run in turn.
pub(super) struct Pairs {
    pub(super) ours: Vec<Run>,
    pub(super) reference: Vec<Run>,
}

impl Setting<'_> {
    pub(super) fn pairs(
        &self,
        mut ours: impl FnMut() -> Result<Run, Failure>,
        mut reference: impl FnMut() -> Result<Run, Failure>,
    ) -> Result<Pairs, Failure> {
        let mut pairs = Pairs { ours: Vec::new(), reference: Vec::new() };
        for _ in 0..self.runs {
            pairs.reference.push(reference()?);
            pairs.ours.push(ours()?);
        }
        Ok(pairs)
    }

    /// A mode of `mia-bench` around the scripted agent.
    pub(super) fn subject(
        &self,
        script: &Script,
        mode: &str,
        args: &[&str],
    ) -> Result<Run, Failure> {
        let mut command = script.command(&self.programs.bench()?);
        run(command.arg(mode).arg(self.programs.fakecli()?).args(args), "")
    }
}

impl Pairs {
    pub(super) fn cpu(&self) -> Cost {
        let of =
            |runs: &[Run]| median(runs.iter().map(|run| run.cpu.as_secs_f64() * 1e3).collect());
        Cost { ours_ms: of(&self.ours), reference_ms: of(&self.reference) }
    }

    pub(super) fn wall(&self) -> Cost {
        let of =
            |runs: &[Run]| median(runs.iter().map(|run| run.wall.as_secs_f64() * 1e3).collect());
        Cost { ours_ms: of(&self.ours), reference_ms: of(&self.reference) }
    }

    pub(super) fn row(
        &self,
        line: &'static str,
        what: impl Into<String>,
        unit: &'static str,
    ) -> RowOf<'_> {
        RowOf { pairs: self, line, what: what.into(), unit }
    }
}

/// A row that is about to be worked out.
pub(super) struct RowOf<'a> {
    pairs: &'a Pairs,
    line: &'static str,
    what: String,
    unit: &'static str,
}

/// How the figure of a target is worked out of ours and the reference.
pub(super) enum Figure {
    Ours,
    Ratio,
    Difference,
}

impl RowOf<'_> {
    /// Works it out of what each run gives.
    pub(super) fn of(
        self,
        value: impl Fn(&Run) -> Result<f64, Failure>,
        figure: &Figure,
        target: Target,
    ) -> Result<Row, Failure> {
        let all = |runs: &[Run]| runs.iter().map(&value).collect::<Result<Vec<f64>, Failure>>();
        let runs = all(&self.pairs.ours)?;
        let ours = median(runs.clone());
        let reference = median(all(&self.pairs.reference)?);
        let (figure, figure_is) = match figure {
            Figure::Ours => (ours, "ours"),
            Figure::Ratio => (ours / reference, "ours / reference"),
            Figure::Difference => (ours - reference, "ours − reference"),
        };
        Ok(Row {
            line: self.line,
            what: self.what,
            unit: self.unit,
            ours,
            reference: Some(reference),
            figure,
            figure_is,
            target,
            cpu: Some(self.pairs.cpu()),
            wall: Some(self.pairs.wall()),
            runs,
        })
    }
}

/// Runs of a short program vary: each run is the median, by wall time, of several.
pub(super) fn repeated(
    setting: &Setting<'_>,
    times: usize,
    mut pair: impl FnMut() -> Result<(Run, Run), Failure>,
) -> Result<Pairs, Failure> {
    let mut pairs = Pairs { ours: Vec::new(), reference: Vec::new() };
    for _ in 0..setting.runs {
        let (mut ours, mut reference) = (Vec::new(), Vec::new());
        for _ in 0..times {
            let (our, other) = pair()?;
            ours.push(our);
            reference.push(other);
        }
        for (runs, all) in [(ours, &mut pairs.ours), (reference, &mut pairs.reference)] {
            let mut runs = runs;
            runs.sort_by_key(|run| run.wall);
            all.push(runs.swap_remove(times / 2));
        }
    }
    Ok(pairs)
}

pub(super) fn figure(run: &Run, name: &str) -> Result<f64, Failure> {
    number(&run.figures()?, name)
}

/// A subject that did not do its work must not count as fast.
pub(super) fn expect(run: &Run, name: &str, expected: impl Into<Value>) -> Result<(), Failure> {
    let figures = run.figures()?;
    let expected = expected.into();
    match figures.get(name) {
        Some(value) if *value == expected => Ok(()),
        _ => Err(format!("{name} should be {expected} in {figures}").into()),
    }
}

pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}
