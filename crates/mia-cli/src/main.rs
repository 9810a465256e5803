//! The `mia` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    mia_cli::run(mia_cli::Program::new("mia"))
}
