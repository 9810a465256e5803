//! From the command line to a dispatch.

use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::sync::Arc;

use mia_api::{ConversationId, DispatchBody, DispatchOptions, EnvVar, TaskId};

use super::follow::{Followed, Output, follow};
use super::json::JsonOutput;
use super::prompt;
use super::question::Questions;
use super::relay::Tie;
use super::text::TextOutput;
use crate::args::{Ask, Watch};
use crate::client::Watching;
use crate::failure::Failure;
use crate::manual::print;
use crate::program::{Door, Program, block_on};
use crate::setup;

/// Runs `mia ask` to its end.
///
/// # Errors
/// When the prompt was not accepted.
pub(crate) fn run(
    program: &Arc<Program>,
    door: Door,
    args: Ask,
    quiet: bool,
) -> Result<ExitCode, Failure> {
    // What can be refused without looking at anything big comes first.
    let cwd = setup::working_directory(args.cwd)?;
    let files = prompt::files(&args.file)?;
    let images = prompt::images(&args.image)?;
    let prompt = prompt::read(&args.words)?;
    let task = args.task.unwrap_or_else(TaskId::generate);
    let mut options = DispatchOptions::new(task.clone(), ConversationId::generate(), cwd);
    options.model = args.model;
    options.timeout_ms = args.timeout.map(|t| u64::try_from(t.as_millis()).unwrap_or(u64::MAX));
    options.files = files;
    options.images = images;
    options.permissions = args.permissions;
    let mut body = DispatchBody::of(prompt, options);
    body.plugin = args.plugin;
    body.fallback = match (args.fallback, args.no_fallback) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    };
    body.attached = args.attached;
    body.environment = Some(environment());
    body.continue_last = args.continue_last;
    body.conversation_id = args.conversation;
    if args.detach {
        return detach(program, door, &body, args.json);
    }
    block_on(setup::with_client(program, door, async |client| {
        let (output, questions) = output(program, args.json, quiet);
        body.attended = questions.is_some();
        let tie = if args.attached { Tie::Attached } else { Tie::Loose };
        let followed = Followed { client, task: task.clone(), tie };
        follow(followed, client.dispatch(&body), output, questions).await
    }))
}

/// Leaves a prompt to the daemon and tells where it is.
fn detach(
    program: &Arc<Program>,
    door: Door,
    body: &DispatchBody,
    json: bool,
) -> Result<ExitCode, Failure> {
    if door == Door::Here {
        let why = "--detach leaves the task to the daemon, and --no-daemon asks none";
        return Err(Failure::usage(why));
    }
    let accepted =
        block_on(setup::with_client(program, door, async |client| client.leave(body).await))?;
    if json {
        return crate::manual::print_line(&accepted);
    }
    print(format!("{}\n", accepted.task_id).as_bytes())
}

/// Runs `mia watch` to its end.
///
/// # Errors
/// When there is no such task.
pub(crate) fn watch(
    program: &Arc<Program>,
    door: Door,
    args: &Watch,
    quiet: bool,
) -> Result<ExitCode, Failure> {
    block_on(setup::with_client(program, door, async |client| {
        let (output, questions) = output(program, args.json, quiet);
        let watching = Watching {
            after: args.after.unwrap_or_default(),
            attended: questions.is_some(),
            attached: args.attached,
        };
        let tie = if args.attached { Tie::Attached } else { Tie::None };
        let followed = Followed { client, task: args.task.clone(), tie };
        follow(followed, client.watch(&args.task, watching), output, questions).await
    }))
}

/// Where events go, and where questions are asked.
fn output(program: &Arc<Program>, json: bool, quiet: bool) -> (Output, Option<Questions>) {
    let output = if json {
        Output::Json(JsonOutput::new(io::stdout()))
    } else {
        Output::Text(Box::new(TextOutput::new(program.name, quiet)))
    };
    let questions = match &output {
        Output::Text(_) if !quiet && io::stderr().is_terminal() => Questions::open(),
        _ => None,
    };
    (output, questions)
}

/// This process's environment, for the daemon.
pub(crate) fn environment() -> Vec<EnvVar> {
    std::env::vars_os()
        .map(|(name, value)| EnvVar { name: name.into(), value: value.into() })
        .collect()
}
