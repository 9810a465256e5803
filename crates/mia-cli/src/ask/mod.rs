//! `mia ask`: one prompt, its answer on stdout, everything else on stderr.

mod json;
mod prompt;
mod question;
mod screen;
mod status;
mod text;

use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::time::Duration;

use mia_api::{ConversationId, DispatchOptions, Event, EventBody, TaskId};
use mia_core::DispatchRequest;
use mia_plugin::Environment;
use tokio::signal::unix::{SignalKind, signal};

use crate::args::Ask;
use crate::client::Client;
use crate::failure::Failure;
use crate::program::{Program, block_on};
use crate::setup;
use json::JsonOutput;
use question::Questions;
use text::TextOutput;

/// How often the status line moves.
const TICK: Duration = Duration::from_millis(100);

/// Runs `mia ask` to its end.
///
/// # Errors
/// When the prompt was not accepted.
pub(crate) fn run(program: &Program, args: Ask, quiet: bool) -> Result<ExitCode, Failure> {
    let prompt = prompt::read(&args.words)?;
    let files = prompt::files(&args.file)?;
    let images = prompt::images(&args.image)?;
    let cwd = setup::working_directory(args.cwd)?;
    block_on(async {
        let client = setup::client(program).await?;
        let conversation = match (args.conversation, args.continue_last) {
            (Some(id), _) => id,
            (None, true) => client.last_conversation(&cwd).await?.ok_or_else(|| {
                Failure::usage(format!("there is no conversation in {} yet", cwd.display()))
                    .with_help("leave --continue out to begin one")
            })?,
            (None, false) => ConversationId::generate(),
        };
        let mut options = DispatchOptions::new(TaskId::generate(), conversation, cwd);
        options.model = args.model;
        options.timeout_ms =
            args.timeout.map(|t| u64::try_from(t.as_millis()).unwrap_or(u64::MAX));
        options.files = files;
        options.images = images;
        options.permissions = args.permissions;
        let output = if args.json {
            Output::Json(JsonOutput::new(io::stdout()))
        } else {
            Output::Text(Box::new(TextOutput::new(quiet)))
        };
        let questions = match &output {
            Output::Text(_) if !quiet && io::stderr().is_terminal() => Questions::open(),
            _ => None,
        };
        let request = DispatchRequest {
            prompt,
            plugin: args.plugin,
            options,
            environment: Environment::of_this_process(),
            attended: questions.is_some(),
        };
        let code = follow(&client, request, output, questions).await;
        client.close().await;
        code
    })
}

/// Where the events go.
enum Output {
    Text(Box<TextOutput>),
    Json(JsonOutput<io::Stdout>),
}

impl Output {
    /// Shows events. An error means that stdout can't be written any more.
    fn event(&mut self, event: Event) -> io::Result<()> {
        match self {
            Self::Text(output) => output.event(event),
            Self::Json(output) => output.event(&event),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Text(output) => output.flush(),
            Self::Json(output) => output.flush(),
        }
    }

    fn tick(&mut self) {
        if let Self::Text(output) = self {
            output.tick();
        }
    }
}

/// Dispatches and shows what comes, until the terminal event.
async fn follow(
    client: &Client,
    request: DispatchRequest,
    mut output: Output,
    mut questions: Option<Questions>,
) -> Result<ExitCode, Failure> {
    let mut events = client.dispatch(request).await?;
    let task = events.task_id.clone();
    stop_on_signals(client.clone(), task.clone())?;
    let mut tick = tokio::time::interval(TICK);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    let mut code = ExitCode::from(1);
    let mut unread = false;
    loop {
        tokio::select! {
            event = events.next() => {
                let Some(event) = event else { break };
                let mut next = Some(event);
                let mut shown = Ok(());
                while let Some(event) = next {
                    match &event.body {
                        EventBody::Complete { .. } => code = ExitCode::SUCCESS,
                        EventBody::Error { error } => code = ExitCode::from(error.exit_code()),
                        EventBody::Permission(request) => {
                            if let Some(questions) = &mut questions {
                                questions.asked(request.clone());
                            }
                        }
                        EventBody::PermissionResolved(resolution) => {
                            if let Some(questions) = &mut questions {
                                questions.resolved(&resolution.id);
                            }
                        }
                        _ => {}
                    }
                    if !unread {
                        shown = shown.and_then(|()| output.event(event));
                    }
                    next = events.next_waiting();
                }
                if !unread && shown.and_then(|()| output.flush()).is_err() {
                    // Whoever read the answer has gone (a pipe to `head`): nobody wants the rest.
                    unread = true;
                    client.abort(&task);
                }
                if let (Some(questions), Output::Text(output)) = (&mut questions, &mut output) {
                    questions.show(output);
                }
            }
            (id, option) = next_answer(&mut questions) => {
                // It may have been withdrawn in the meantime; then there is nothing to answer.
                let _ = client.answer(&task, &id, option.as_deref());
                if let (Some(questions), Output::Text(output)) = (&mut questions, &mut output) {
                    questions.show(output);
                }
            }
            _ = tick.tick() => {
                if !questions.as_ref().is_some_and(Questions::is_asking) {
                    output.tick();
                }
            }
        }
    }
    Ok(if unread { ExitCode::from(1) } else { code })
}

async fn next_answer(questions: &mut Option<Questions>) -> (String, Option<String>) {
    match questions {
        Some(questions) => questions.next_answer().await,
        None => std::future::pending().await,
    }
}

/// The first Ctrl-C aborts the task, a second one ends this process at once; what still runs is
/// then ended by the supervisor.
fn stop_on_signals(client: Client, task: TaskId) -> Result<(), Failure> {
    let listen = |kind| {
        signal(kind).map_err(|error| Failure::environment(format!("can't watch signals: {error}")))
    };
    let mut interrupt = listen(SignalKind::interrupt())?;
    let mut terminate = listen(SignalKind::terminate())?;
    let mut hangup = listen(SignalKind::hangup())?;
    tokio::spawn(async move {
        let mut asked = false;
        loop {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = hangup.recv() => {}
            }
            if asked {
                if io::stderr().is_terminal() {
                    status::leave_line();
                }
                std::process::exit(130);
            }
            asked = true;
            client.abort(&task);
        }
    });
    Ok(())
}
