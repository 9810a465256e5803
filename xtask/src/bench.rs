//! `cargo xtask bench`: the figures of docs/design.md, "Numbers to beat", each beside its reference
//! of the same run.
//!
//! A subject and its reference are run in turn, so that both meet the same machine. CPU is user
//! and system time of everything that was started, supervisor and fake agent included; figures
//! are medians.

mod child;
mod daemon;
mod doors;
mod lines;
mod measure;
mod pairs;
mod programs;
mod row;

use std::path::PathBuf;

use crate::Failure;
use crate::repository::Repository;

use pairs::Setting;
use programs::Programs;
use row::Row;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Also write everything as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Only the lines whose name begins with this; may be given again
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// How often each is run
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
}

/// Builds everything, measures, prints the table. True when every target was met.
pub(crate) fn run(repository: &Repository, args: &Args) -> Result<bool, Failure> {
    let chosen: Vec<_> = lines::ALL
        .iter()
        .filter(|line| {
            args.only.is_empty() || args.only.iter().any(|name| line.name.starts_with(name))
        })
        .collect();
    if chosen.is_empty() {
        let names: Vec<_> = lines::ALL.iter().map(|line| line.name).collect();
        return Err(format!("there is no such line; there are {}", names.join(", ")).into());
    }
    let programs = Programs::new(repository);
    measure::adopt_orphans()?;
    let scratch = tempfile::tempdir()?;
    let mut rows: Vec<Row> = Vec::new();
    let mut broken = Vec::new();
    for line in chosen {
        eprintln!("measuring {}", line.name);
        let folder = scratch.path().join(line.name);
        std::fs::create_dir(&folder)?;
        let setting = Setting { programs: &programs, folder: &folder, runs: args.runs };
        match (line.measure)(&setting) {
            Ok(measured) => rows.extend(measured),
            // The other lines can still be measured.
            Err(failure) => broken.push(format!("{}: {failure}", line.name)),
        }
    }
    print!("{}", row::table(&rows));
    for line in &broken {
        println!("not measured: {line}");
    }
    if let Some(path) = &args.json {
        let text = serde_json::to_string_pretty(&row::report(repository, &rows, args.runs)?)?;
        std::fs::write(path, text + "\n")
            .map_err(|error| format!("can't write {}: {error}", path.display()))?;
    }
    Ok(broken.is_empty() && rows.iter().all(|row| row.met() != Some(false)))
}
