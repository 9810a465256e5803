//! Between the task and the screen: events go through, Ctrl-C goes back.
//!
//! The screen may stand still for as long as nobody reads the answer (a pager, a stopped pipe).
//! This part never does, so that a task can be aborted all the same.

use std::time::Duration;

use mia_api::{Event, TaskId};
use tokio::sync::mpsc;

use crate::client::{Client, Events};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::signals::{Asked, Signals};
use crate::terminal::Terminal;

/// How many events may wait for the screen. Text joins before, so each may hold much.
const QUEUE: usize = 8;
/// How long the screen may take for an event of a task that is being aborted.
const PATIENCE: Duration = Duration::from_millis(500);
/// What the screen is told.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly all are events, and few wait")]
pub(super) enum Shown {
    /// Something happened in the task.
    Event(Event),
    /// A signal asked for the end.
    Aborting,
    /// The events can't be had any more.
    Lost(Failure),
}

/// What becomes of a task when this process is asked to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tie {
    /// The task is aborted, whatever ends this process.
    Attached,
    /// The task is aborted when a person asks for that; it goes on when only the terminal has gone.
    Loose,
    /// The task is only watched, and goes on.
    None,
}

/// Hands the events of a task on, and aborts it when a signal asks for that. A second signal ends
/// this process at once; a task in this process is then ended by the supervisor.
pub(super) struct Relay {
    client: Client,
    task: TaskId,
    tie: Tie,
    events: Events,
    signals: Signals,
    screen: mpsc::Sender<Shown>,
    aborting: bool,
    /// Nobody reads the answer while the task is being aborted: the rest is let go.
    stuck: bool,
}

impl Relay {
    /// Starts it in a task of its own, and returns where the events come out. With `aborting` a signal
    /// has come already.
    pub(super) fn start(
        client: &Client,
        (task, tie): (TaskId, Tie),
        events: Events,
        signals: Signals,
        aborting: bool,
    ) -> mpsc::Receiver<Shown> {
        let (screen, shown) = mpsc::channel(QUEUE);
        let client = client.clone();
        let mut relay =
            Self { client, task, tie, events, signals, screen, aborting: false, stuck: false };
        tokio::spawn(async move {
            if aborting {
                relay.abort(Asked::Interrupt).await;
            }
            relay.run().await;
        });
        shown
    }

    async fn run(mut self) {
        let lost = loop {
            tokio::select! {
                biased;
                asked = self.signals.next() => self.abort(asked).await,
                event = self.events.next() => match event {
                    Ok(Some(event)) => self.hand_on(event).await,
                    Ok(None) => break None,
                    Err(lost) => break Some(lost),
                },
            }
        };
        let Self { client, mut signals, screen, stuck, aborting, .. } = self;
        if let Some(lost) = lost {
            let _ = screen.send(Shown::Lost(lost)).await;
        }
        drop(screen);
        if aborting && !stuck {
            // The end was asked for, and has come; the screen gets a moment for what it still has.
            tokio::select! {
                () = tokio::time::sleep(PATIENCE) => {}
                _ = signals.next() => {}
            }
            client.close().await;
        } else if stuck {
            tokio::select! {
                () = client.close() => {}
                _ = signals.next() => {}
            }
        } else {
            // The task is over; only the screen may still be at work, or what is left be ended.
            signals.next().await;
        }
        leave();
    }

    async fn abort(&mut self, asked: Asked) {
        let leaves = match self.tie {
            Tie::Attached => false,
            Tie::Loose => asked == Asked::Hangup && !self.client.is_here(),
            Tie::None => true,
        };
        if leaves {
            leave();
        }
        if std::mem::replace(&mut self.aborting, true) {
            // The daemon must have heard of it.
            let _ = tokio::time::timeout(PATIENCE, self.client.abort(&self.task)).await;
            leave();
        }
        self.client.abort_soon(&self.task);
        // A screen that has no room for it has more to say than this.
        let _ = self.screen.try_send(Shown::Aborting);
    }

    async fn hand_on(&mut self, event: Event) {
        if self.stuck {
            return;
        }
        let screen = self.screen.clone();
        loop {
            tokio::select! {
                biased;
                // The screen has gone when stdout can't be written; the task is then aborted.
                room = screen.reserve() => {
                    if let Ok(room) = room {
                        room.send(Shown::Event(event));
                    }
                    return;
                }
                asked = self.signals.next() => self.abort(asked).await,
                () = tokio::time::sleep(PATIENCE), if self.aborting => {
                    self.stuck = true;
                    return;
                }
            }
        }
    }
}

/// Ends this process, wherever its other threads stand. What they have handed to the system is not
/// lost, and the supervisor ends what still runs.
fn leave() -> ! {
    if Terminal::of_stderr().moves {
        // Off the line that is being written, without the lock that a stuck writer may hold.
        let _ = rustix::io::write(std::io::stderr(), b"\n");
    }
    std::process::exit(i32::from(Exit::Interrupted.code()));
}
