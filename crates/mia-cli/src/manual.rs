//! Completions and manual pages.

use std::io::{self, Write};
use std::process::ExitCode;

use clap_complete::Shell;

use crate::args::command;
use crate::exit::Exit;
use crate::failure::Failure;

pub(crate) fn completions(name: &'static str, shell: Shell) -> Result<ExitCode, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut command(name), name, &mut text);
    print(&text)
}

pub(crate) fn man(name: &'static str, of: Option<&str>) -> Result<ExitCode, Failure> {
    let mut all = command(name);
    all.build();
    let page = match of {
        None => all,
        Some(of) => {
            let names: Vec<_> = all.get_subcommands().map(|c| c.get_name().to_owned()).collect();
            all.find_subcommand(of)
                .cloned()
                .map(|page| {
                    page.display_name(format!("{name}-{of}")).bin_name(format!("{name} {of}"))
                })
                .ok_or_else(|| {
                    Failure::usage(format!(
                        "there is no command {of:?}; there are: {}",
                        names.join(", ")
                    ))
                })?
        }
    };
    let mut text = Vec::new();
    clap_mangen::Man::new(page)
        .render(&mut text)
        .map_err(|error| Failure::environment(format!("can't write the page: {error}")))?;
    print(&text)
}

/// Prints to stdout. A reader that has gone wants no more.
pub(crate) fn print(text: &[u8]) -> Result<ExitCode, Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text).and_then(|()| out.flush()) {
        Ok(()) => Ok(Exit::Done.into()),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Exit::Done.into()),
        Err(error) => Err(Failure::environment(format!("can't write to stdout: {error}"))),
    }
}

/// Prints a value as JSON, readable.
pub(crate) fn print_json(value: &impl serde::Serialize) -> Result<ExitCode, Failure> {
    let mut text = serde_json::to_vec_pretty(value)
        .map_err(|error| Failure::environment(format!("can't write JSON: {error}")))?;
    text.push(b'\n');
    print(&text)
}
