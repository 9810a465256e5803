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

/// The page of the program, or of a command in it: `plugin install` has two words.
pub(crate) fn man(name: &'static str, of: Option<&[String]>) -> Result<ExitCode, Failure> {
    let mut page = command(name);
    page.build();
    let mut called = vec![name];
    for word in of.unwrap_or_default() {
        let Some(found) = page.find_subcommand(word).cloned() else {
            return Err(no_command(&page, &called, word));
        };
        called.push(word);
        page = found;
    }
    let page = page.display_name(called.join("-")).bin_name(called.join(" "));
    let mut text = Vec::new();
    clap_mangen::Man::new(page)
        .render(&mut text)
        .map_err(|error| Failure::environment(format!("can't write the page: {error}")))?;
    print(&text)
}

fn no_command(page: &clap::Command, called: &[&str], word: &str) -> Failure {
    let names: Vec<_> = page.get_subcommands().map(clap::Command::get_name).collect();
    let whose = match called {
        [_] => "there is no command".to_owned(),
        _ => format!("{} has no command", called.join(" ")),
    };
    Failure::usage(match names.as_slice() {
        [] => format!("{whose} {word:?}"),
        names => format!("{whose} {word:?}; there are: {}", names.join(", ")),
    })
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

/// Prints a value as JSON in one line.
pub(crate) fn print_line(value: &impl serde::Serialize) -> Result<ExitCode, Failure> {
    let mut text = serde_json::to_vec(value)
        .map_err(|error| Failure::environment(format!("can't write JSON: {error}")))?;
    text.push(b'\n');
    print(&text)
}

/// Prints a value as JSON, readable.
pub(crate) fn print_json(value: &impl serde::Serialize) -> Result<ExitCode, Failure> {
    let mut text = serde_json::to_vec_pretty(value)
        .map_err(|error| Failure::environment(format!("can't write JSON: {error}")))?;
    text.push(b'\n');
    print(&text)
}
