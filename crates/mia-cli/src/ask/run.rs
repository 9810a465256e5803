//! From the command line to a dispatch.

use std::io::{self, IsTerminal};
use std::path::Path;
use std::process::ExitCode;

use mia_api::{ConversationId, DispatchOptions, TaskId};
use mia_core::DispatchRequest;
use mia_plugin::Environment;

use super::follow::{Output, follow};
use super::json::JsonOutput;
use super::prompt;
use super::question::Questions;
use super::text::TextOutput;
use crate::args::Ask;
use crate::client::Client;
use crate::failure::Failure;
use crate::program::{Program, block_on};
use crate::setup;

/// Runs `mia ask` to its end.
///
/// # Errors
/// When the prompt was not accepted.
pub(crate) fn run(program: &Program, args: Ask, quiet: bool) -> Result<ExitCode, Failure> {
    // What can be refused without looking at anything big comes first.
    let cwd = setup::working_directory(args.cwd)?;
    let files = prompt::files(&args.file)?;
    let images = prompt::images(&args.image)?;
    let prompt = prompt::read(&args.words)?;
    block_on(async {
        let client = setup::client(program).await?;
        let conversation = match (args.conversation, args.continue_last) {
            (Some(id), _) => id,
            (None, true) => last_conversation(&client, &cwd).await?,
            (None, false) => ConversationId::generate(),
        };
        let mut options = DispatchOptions::new(TaskId::generate(), conversation, cwd);
        options.model = args.model;
        options.timeout_ms = args.timeout.map(|t| u64::try_from(t.as_millis()).unwrap_or(u64::MAX));
        options.files = files;
        options.images = images;
        options.permissions = args.permissions;
        let output = if args.json {
            Output::Json(JsonOutput::new(io::stdout()))
        } else {
            Output::Text(Box::new(TextOutput::new(program.name, quiet)))
        };
        let questions = match &output {
            Output::Text(_) if !quiet && io::stderr().is_terminal() => Questions::open(),
            _ => None,
        };
        let request = DispatchRequest {
            prompt,
            plugin: args.plugin,
            fallback: match (args.fallback, args.no_fallback) {
                (true, _) => Some(true),
                (_, true) => Some(false),
                _ => None,
            },
            ignore_breaker: false,
            options,
            environment: Environment::of_this_process(),
            attended: questions.is_some(),
        };
        let code = follow(&client, request, output, questions).await;
        client.close().await;
        code
    })
}

async fn last_conversation(client: &Client, cwd: &Path) -> Result<ConversationId, Failure> {
    client.last_conversation(cwd).await?.ok_or_else(|| {
        Failure::usage(format!("there is no conversation in {} yet", cwd.display()))
            .with_help("leave --continue out to begin one")
    })
}
