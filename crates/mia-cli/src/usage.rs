//! `mia usage`: tokens and money, by agent and model.

use std::process::ExitCode;
use std::sync::Arc;

use mia_api::{UsageReport, UsageRow};

use crate::args::{Period, UsageArgs};
use crate::failure::Failure;
use crate::manual::{print, print_json};
use crate::program::{Door, Program, block_on};
use crate::setup;
use crate::table::{lines, room};
use crate::terminal::clean;
use crate::time;

const WEEK: i64 = 7 * 86_400_000;

pub(crate) fn run(
    program: &Arc<Program>,
    door: Door,
    args: &UsageArgs,
) -> Result<ExitCode, Failure> {
    let since = match args.period {
        Period::Today => Some(time::midnight()),
        Period::Week => Some(time::now() - WEEK),
        Period::All => None,
    };
    let path = since.map_or("/v1/usage".to_owned(), |since| format!("/v1/usage?since={since}"));
    let report: UsageReport =
        block_on(setup::with_client(program, door, async |client| client.get(&path).await))?;
    if args.json {
        return print_json(&report);
    }
    if report.rows.is_empty() {
        let when = match args.period {
            Period::Today => "today",
            Period::Week => "in the last seven days",
            Period::All => "yet",
        };
        return print(format!("nothing was asked {when}\n").as_bytes());
    }
    print(table(&report.rows).as_bytes())
}

fn table(rows: &[UsageRow]) -> String {
    let head = ["agent", "model", "tasks", "failed", "in", "out", "cached", "cost"];
    let mut cells = vec![head.map(str::to_owned).to_vec()];
    cells.extend(rows.iter().map(row));
    if rows.len() > 1 {
        cells.push(row(&total(rows)));
    }
    let mut text = lines(&cells, room());
    let unknown: u64 = rows.iter().map(|row| row.tokens_unknown).sum();
    if unknown > 0 {
        text.push_str(&format!("{unknown} of the tasks told no tokens\n"));
    }
    text
}

fn row(row: &UsageRow) -> Vec<String> {
    let cached = row.usage.cache_read.unwrap_or(0);
    let cost = match (row.cost_usd, row.cost_unknown) {
        (None, _) => "unknown".to_owned(),
        (Some(cost), 0) => format!("${cost:.4}"),
        (Some(cost), unknown) => format!("${cost:.4} and {unknown} unknown"),
    };
    vec![
        clean(row.plugin.as_deref().unwrap_or("(nobody)")),
        clean(row.model.as_deref().unwrap_or("-")),
        row.tasks.to_string(),
        row.failed.to_string(),
        grouped(row.usage.input_tokens),
        grouped(row.usage.output_tokens),
        grouped(cached),
        cost,
    ]
}

fn total(rows: &[UsageRow]) -> UsageRow {
    let mut total = UsageRow {
        plugin: Some("all".to_owned()),
        model: None,
        tasks: 0,
        failed: 0,
        usage: mia_api::Usage::default(),
        tokens_unknown: 0,
        cost_usd: None,
        cost_unknown: 0,
        duration_ms: 0,
    };
    for row in rows {
        total.tasks += row.tasks;
        total.failed += row.failed;
        total.usage.input_tokens += row.usage.input_tokens;
        total.usage.output_tokens += row.usage.output_tokens;
        *total.usage.cache_read.get_or_insert_default() += row.usage.cache_read.unwrap_or(0);
        total.cost_unknown += row.cost_unknown;
        if let Some(cost) = row.cost_usd {
            *total.cost_usd.get_or_insert_default() += cost;
        }
    }
    total
}

/// A number with its thousands apart.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_apart() {
        let shown: Vec<_> = [0, 999, 1000, 1_234_567].map(grouped).into();
        assert_eq!(shown, ["0", "999", "1,000", "1,234,567"]);
    }
}
