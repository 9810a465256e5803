//! What `cargo xtask bench` measures. Each subject is a mode, and prints one JSON object.
//!
//! CHILD is a program that speaks as Claude Code does:
//!
//! | `mia-bench` | does | its reference |
//! |---|---|---|
//! | `scan CHILD` | starts CHILD and only finds the newlines in what it prints | |
//! | `stream CHILD` | one dispatch to CHILD | `scan` |
//! | `recorded CHILD DATABASE` | the same through the dispatcher, on record | `scan` |
//! | `bare CHILD COUNT` | COUNT times: starts CHILD, reads to the end, waits | |
//! | `dispatch CHILD COUNT` | COUNT dispatches, one after the other | `bare` |
//! | `recorded-each CHILD COUNT DATABASE` | the same through the dispatcher, on record | `bare` |
//! | `many-bare CHILD COUNT GATE` | COUNT children at once, which wait for the file GATE | |
//! | `many CHILD COUNT GATE` | COUNT dispatches at once, which wait for the file GATE | `many-bare` |
//! | `watchers SOCKET TASK COUNT PID GATE` | COUNT watchers of a task of the daemon PID, which waits for the file GATE | its memory before |
//! | `fill DATABASE COUNT` | puts COUNT tasks on record | |

mod bare;
mod dispatch;
mod many;
mod meter;
mod plugin;
mod records;
mod scan;
mod sessions;
mod watchers;
mod whole;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::Value;

/// What went wrong, as one line for people.
type Failure = Box<dyn std::error::Error + Send + Sync>;

const USAGE: &str = "usage: mia-bench MODE ARGUMENT…; benches/src/main.rs has the modes";

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
    let mut args = Args(args.into_iter());
    let mode = args.text()?;
    // As `mia` does it.
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    match mode.as_str() {
        "scan" => scan::run(&args.path()?),
        "stream" => runtime.block_on(dispatch::stream(&args.path()?)),
        "recorded" => runtime.block_on(whole::stream(&args.path()?, args.path()?)),
        "bare" => runtime.block_on(bare::run(&args.path()?, args.number()?)),
        "dispatch" => runtime.block_on(dispatch::run(&args.path()?, args.number()?)),
        "recorded-each" => {
            runtime.block_on(whole::each(&args.path()?, args.number()?, args.path()?))
        }
        "many-bare" => runtime.block_on(many::bare(&args.path()?, args.number()?, &args.path()?)),
        "many" => runtime.block_on(many::run(&args.path()?, args.number()?, &args.path()?)),
        "watchers" => runtime.block_on(watchers::run(
            args.path()?,
            &args.text()?.parse()?,
            args.number()?,
            args.number()?,
            &args.path()?,
        )),
        "fill" => runtime.block_on(records::fill(args.path()?, args.number()?)),
        _ => Err(USAGE.into()),
    }
}

/// What is left of the command line.
struct Args(std::vec::IntoIter<OsString>);

impl Args {
    fn path(&mut self) -> Result<PathBuf, Failure> {
        self.0.next().map(PathBuf::from).ok_or_else(|| USAGE.into())
    }

    fn text(&mut self) -> Result<String, Failure> {
        Ok(self.path()?.to_string_lossy().into_owned())
    }

    fn number<T: std::str::FromStr>(&mut self) -> Result<T, Failure> {
        self.text()?.parse().map_err(|_| USAGE.into())
    }
}
