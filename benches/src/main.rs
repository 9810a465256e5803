//! What `cargo xtask bench` measures. Each subject is a mode, and prints one JSON object.
//!
//! `mia-bench MODE CHILD [COUNT [GATE]]`, where CHILD is a program that speaks as Claude Code does:
//!
//! | mode | does | its reference |
//! |---|---|---|
//! | `scan` | starts CHILD and only finds the newlines in what it prints | |
//! | `stream` | one dispatch to CHILD | `scan` |
//! | `bare` | COUNT times: starts CHILD, reads to the end, waits | |
//! | `dispatch` | COUNT dispatches, one after the other | `bare` |
//! | `many-bare` | COUNT children at once, which wait for the file GATE | |
//! | `many` | COUNT dispatches at once, which wait for the file GATE | `many-bare` |

mod bare;
mod dispatch;
mod many;
mod meter;
mod plugin;
mod scan;
mod sessions;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::Value;

/// What went wrong, as one line for people.
type Failure = Box<dyn std::error::Error + Send + Sync>;

const USAGE: &str =
    "usage: mia-bench scan|stream|bare|dispatch|many-bare|many CHILD [COUNT [GATE]]";

fn main() -> ExitCode {
    // Every dispatch starts this program a second time, as the supervisor.
    mia_host::supervisor::enter_if_asked();
    match run(std::env::args_os().skip(1).collect()) {
        Ok(figures) => {
            println!("{figures}");
            ExitCode::SUCCESS
        }
        Err(failure) => {
            eprintln!("mia-bench: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: Vec<OsString>) -> Result<Value, Failure> {
    let mut args = args.into_iter();
    let (Some(mode), Some(child)) = (args.next(), args.next().map(PathBuf::from)) else {
        return Err(USAGE.into());
    };
    let count = match args.next() {
        Some(count) => count.to_string_lossy().parse().map_err(|_| USAGE)?,
        None => 1,
    };
    let gate = args.next().map(PathBuf::from).unwrap_or_default();
    // As `mia` does it.
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    match mode.to_string_lossy().as_ref() {
        "scan" => scan::run(&child),
        "stream" => runtime.block_on(dispatch::stream(&child)),
        "bare" => runtime.block_on(bare::run(&child, count)),
        "dispatch" => runtime.block_on(dispatch::run(&child, count)),
        "many-bare" => runtime.block_on(many::bare(&child, count, &gate)),
        "many" => runtime.block_on(many::run(&child, count, &gate)),
        _ => Err(USAGE.into()),
    }
}
