//! A dispatch and its events, until the terminal one.

use std::io;
use std::process::ExitCode;
use std::time::Duration;

use mia_api::{Event, EventBody, NoticeKind, TaskId};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::json::JsonOutput;
use super::question::Questions;
use super::relay::{Relay, Shown, Tie};
use super::text::TextOutput;
use crate::client::{Client, Events};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::signals::Signals;

/// How often the status line moves.
const TICK: Duration = Duration::from_millis(100);

/// Where the events go.
pub(super) enum Output {
    Text(Box<TextOutput>),
    Json(JsonOutput<io::Stdout>),
}

impl Output {
    /// Shows an event. An error means that stdout can't be written any more.
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

    fn aborting(&mut self) {
        if let Self::Text(output) = self {
            output.aborting();
        }
    }

    fn tick(&mut self) -> io::Result<()> {
        match self {
            Self::Text(output) => output.tick(),
            Self::Json(_) => Ok(()),
        }
    }
}

/// A task that is to be followed.
pub(super) struct Followed<'a> {
    pub(super) client: &'a Client,
    pub(super) task: TaskId,
    pub(super) tie: Tie,
}

/// How long a prompt that is on its way is waited for when a signal has come.
const HANDING_OVER: Duration = Duration::from_secs(5);

/// Waits for a task's events, and shows them until the terminal one.
///
/// # Errors
/// When the prompt was not accepted, the events can't be had any more, or the answer can't be written
/// for another reason than that its reader has gone.
pub(super) async fn follow(
    followed: Followed<'_>,
    events: impl Future<Output = Result<Events, Failure>>,
    mut output: Output,
    mut questions: Option<Questions>,
) -> Result<ExitCode, Failure> {
    let Followed { client, task, tie } = followed;
    let mut signals = Signals::listen()?;
    let mut events = std::pin::pin!(events);
    let (events, aborting) = tokio::select! {
        biased;
        _ = signals.next() => {
            // It may be on record already, and then has to be aborted.
            match tokio::time::timeout(HANDING_OVER, events).await {
                Ok(Ok(events)) => (events, true),
                _ => return Ok(Exit::Interrupted.into()),
            }
        }
        events = &mut events => (events?, false),
    };
    let (mut lost, mut gaps) = (None, false);
    let mut events = Relay::start(client, (task.clone(), tie), events, signals, aborting);
    let mut tick = tokio::time::interval(TICK);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    let mut exit = Exit::Failed;
    let mut unwritten = None;
    loop {
        let shown = tokio::select! {
            event = events.recv() => {
                let Some(event) = event else { break };
                let mut next = Some(event);
                let mut shown = Ok(());
                while let Some(event) = next {
                    match event {
                        Shown::Aborting => output.aborting(),
                        Shown::Lost(failure) => lost = Some(failure),
                        Shown::Event(event) => {
                            note(&event.body, &mut gaps, &mut exit, &mut questions);
                            if unwritten.is_none() {
                                shown = shown.and_then(|()| output.event(event));
                            }
                        }
                    }
                    next = events.try_recv().ok();
                }
                if unwritten.is_none() {
                    shown = shown.and_then(|()| output.flush());
                }
                shown
            }
            (id, option) = next_answer(&mut questions) => {
                client.answer(&task, &id, option).await;
                if let Output::Text(output) = &mut output {
                    // The person has typed a line end.
                    output.set_line_open(false);
                }
                Ok(())
            }
            _ = tick.tick(), if unwritten.is_none() => {
                if reader_has_gone() {
                    Err(io::ErrorKind::BrokenPipe.into())
                } else if questions.as_ref().is_some_and(Questions::is_asking) {
                    Ok(())
                } else {
                    output.tick()
                }
            }
        };
        match shown {
            Err(error) if unwritten.is_none() => {
                // Nobody gets the rest.
                unwritten = Some(error);
                client.abort_soon(&task);
            }
            _ => {}
        }
        if let (Some(questions), Output::Text(output)) = (&mut questions, &mut output) {
            questions.show(output);
        }
    }
    match unwritten {
        None => match lost {
            Some(failure) => Err(failure),
            None => Ok(exit.into()),
        },
        // A pipe to `head`: it has what it wanted.
        Some(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Exit::Failed.into()),
        Some(error) => Err(Failure::answer(format!("can't write the answer to stdout: {error}"))),
    }
}

/// What an event means beside being shown.
fn note(event: &EventBody, lost: &mut bool, exit: &mut Exit, questions: &mut Option<Questions>) {
    match event {
        // An answer with a gap in it is none.
        EventBody::Notice { kind: NoticeKind::Lost, .. } => *lost = true,
        EventBody::Complete { .. } if *lost => *exit = Exit::Failed,
        EventBody::Complete { .. } => *exit = Exit::Done,
        EventBody::Error { error } => *exit = Exit::of(error),
        EventBody::Permission(request) => {
            if let Some(questions) = questions {
                questions.asked(request.clone());
            }
        }
        EventBody::PermissionResolved(resolution) => {
            if let Some(questions) = questions {
                questions.resolved(&resolution.id);
            }
        }
        _ => {}
    }
}

async fn next_answer(questions: &mut Option<Questions>) -> (String, Option<String>) {
    match questions {
        Some(questions) => questions.next_answer().await,
        None => std::future::pending().await,
    }
}

/// Whether the other end of stdout is closed: then an agent that says nothing for a while need not
/// work on until it does.
fn reader_has_gone() -> bool {
    let stdout = io::stdout();
    let mut fds = [PollFd::new(&stdout, PollFlags::empty())];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut fds, Some(&now)).is_ok_and(|ready| ready > 0)
        && fds.iter().any(|fd| fd.revents().intersects(PollFlags::ERR | PollFlags::HUP))
}
