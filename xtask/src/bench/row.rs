//! A figure with its reference and its target; the table; the JSON.

use std::fmt::Write;

use serde::Serialize;
use serde_json::{Value, json};

use crate::Failure;
use crate::repository::{Repository, run};

/// What a figure has to be.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Target {
    /// This or more.
    AtLeast(f64),
    /// This or less.
    AtMost(f64),
    /// It is only told.
    None,
}

/// What a subject and its reference cost, in ms; medians of all runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub(crate) struct Cost {
    pub(crate) ours_ms: f64,
    pub(crate) reference_ms: f64,
}

/// One figure.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Row {
    /// The line that it belongs to, as `--only` takes it.
    pub(crate) line: &'static str,
    /// What was measured.
    pub(crate) what: String,
    /// The unit of all the numbers.
    pub(crate) unit: &'static str,
    /// Ours.
    pub(crate) ours: f64,
    /// The same of the reference.
    pub(crate) reference: Option<f64>,
    /// What the target is about, worked out of the two.
    pub(crate) figure: f64,
    /// How it is worked out.
    pub(crate) figure_is: &'static str,
    pub(crate) target: Target,
    /// CPU time of everything that was started.
    pub(crate) cpu: Option<Cost>,
    /// Wall time from start to end of the program.
    pub(crate) wall: Option<Cost>,
    /// Ours of every run.
    pub(crate) runs: Vec<f64>,
}

impl Row {
    /// Whether the target was met; none where there is none.
    pub(crate) fn met(&self) -> Option<bool> {
        match self.target {
            Target::AtLeast(least) => Some(self.figure >= least),
            Target::AtMost(most) => Some(self.figure <= most),
            Target::None => None,
        }
    }

    fn cells(&self) -> [String; 7] {
        let unit = |value: f64| format!("{} {}", short(value), self.unit);
        let cost = |cost: Option<Cost>| match cost {
            Some(cost) => format!("{} / {}", short(cost.ours_ms), short(cost.reference_ms)),
            None => String::new(),
        };
        let target = match self.target {
            Target::AtLeast(least) => format!("≥ {}", short(least)),
            Target::AtMost(most) => format!("≤ {}", short(most)),
            Target::None => String::new(),
        };
        let met = match self.met() {
            Some(true) => "yes",
            Some(false) => "NO",
            None => "",
        };
        let figure = match self.target {
            Target::None => String::new(),
            _ => format!("{} ({}) {target} {met}", short(self.figure), self.figure_is),
        };
        [
            self.line.to_owned(),
            self.what.clone(),
            unit(self.ours),
            self.reference.map(unit).unwrap_or_default(),
            figure,
            cost(self.cpu),
            cost(self.wall),
        ]
    }
}

/// The table of all rows, as Markdown that is also readable as it is.
pub(crate) fn table(rows: &[Row]) -> String {
    let head = ["line", "what", "ours", "reference", "figure, target, met", "CPU ms", "wall ms"];
    let mut cells = vec![head.map(str::to_owned)];
    cells.extend(rows.iter().map(Row::cells));
    let mut widths = [3_usize; 7];
    for row in &cells {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    for (number, row) in cells.iter().enumerate() {
        for (width, cell) in widths.iter().zip(row) {
            let _ = write!(text, "| {cell:<width$} ");
        }
        text.push_str("|\n");
        if number == 0 {
            for width in widths {
                let _ = write!(text, "|{}", "-".repeat(width + 2));
            }
            text.push_str("|\n");
        }
    }
    text.push_str("\nCPU and wall: ours / reference, of everything that was started, medians.\n");
    text
}

/// Everything as JSON.
pub(crate) fn report(repository: &Repository, rows: &[Row], runs: u32) -> Result<Value, Failure> {
    let commit = run(repository.command("git").args(["rev-parse", "HEAD"]));
    let commit = commit.ok().filter(|said| said.ok()).map(|said| said.stdout.trim().to_owned());
    let mut list = Vec::new();
    for row in rows {
        let mut value = serde_json::to_value(row)?;
        if let Some(members) = value.as_object_mut() {
            members.insert("met".to_owned(), json!(row.met()));
        }
        list.push(value);
    }
    let cpus = std::thread::available_parallelism().map_or(0, usize::from);
    Ok(json!({ "commit": commit, "cpus": cpus, "runs": runs, "rows": list }))
}

/// A number with three digits that matter.
fn short(value: f64) -> String {
    let digits = match value.abs() {
        0.0 => 0,
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 => 2,
        _ => 3,
    };
    let text = format!("{value:.digits$}");
    // Groups of three, as in 1,234,567.
    let (sign, rest) = text.strip_prefix('-').map_or(("", text.as_str()), |rest| ("-", rest));
    let (whole, fraction) = rest.split_once('.').map_or((rest, ""), |(w, f)| (w, f));
    let mut grouped = String::new();
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    let dot = if fraction.is_empty() { "" } else { "." };
    format!("{sign}{grouped}{dot}{fraction}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn numbers_have_three_digits_that_matter() {
        let all = [0.0, 0.15, 1.234, 12.34, 1234.5, -1_234_567.0].map(short);
        assert_eq!(all, ["0", "0.150", "1.23", "12.3", "1,234", "-1,234,567"]);
    }

    #[test]
    fn a_target_is_met_on_its_right_side() {
        let row = |figure, target| Row {
            line: "x",
            what: String::new(),
            unit: "ms",
            ours: 1.0,
            reference: None,
            figure,
            figure_is: "ours",
            target,
            cpu: None,
            wall: None,
            runs: Vec::new(),
        };
        assert_eq!(row(1.0, Target::AtLeast(0.9)).met(), Some(true));
        assert_eq!(row(0.8, Target::AtLeast(0.9)).met(), Some(false));
        assert_eq!(row(0.8, Target::AtMost(0.9)).met(), Some(true));
        assert_eq!(row(1.0, Target::AtMost(0.9)).met(), Some(false));
        assert_eq!(row(1.0, Target::None).met(), None);
    }
}
