//! Between the core and the screen: events go through, Ctrl-C goes back.
//!
//! The screen may stand still for as long as nobody reads the answer (a pager, a stopped pipe).
//! This part never does, so that a task can be aborted all the same.

use std::time::Duration;

use mia_api::{Event, TaskId};
use mia_core::TaskEvents;
use tokio::sync::mpsc;

use crate::client::Client;
use crate::exit::Exit;
use crate::signals::Signals;
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
}

/// Hands the events of a task on, and aborts it when a signal asks for that. A second signal ends
/// this process at once; what still runs is then ended by the supervisor.
pub(super) struct Relay {
    client: Client,
    task: TaskId,
    events: TaskEvents,
    signals: Signals,
    screen: mpsc::Sender<Shown>,
    aborting: bool,
    /// Nobody reads the answer while the task is being aborted: the rest is let go.
    stuck: bool,
}

impl Relay {
    /// Starts it in a task of its own, and returns where the events come out.
    pub(super) fn start(
        client: &Client,
        events: TaskEvents,
        signals: Signals,
    ) -> mpsc::Receiver<Shown> {
        let (screen, shown) = mpsc::channel(QUEUE);
        let task = events.task_id.clone();
        let client = client.clone();
        let relay = Self { client, task, events, signals, screen, aborting: false, stuck: false };
        tokio::spawn(relay.run());
        shown
    }

    async fn run(mut self) {
        loop {
            tokio::select! {
                biased;
                () = self.signals.next() => self.abort(),
                event = self.events.next() => match event {
                    Some(event) => self.hand_on(event).await,
                    None => break,
                },
            }
        }
        let Self { client, mut signals, screen, stuck, .. } = self;
        drop(screen);
        if stuck {
            tokio::select! {
                () = client.close() => {}
                () = signals.next() => {}
            }
        } else {
            // The task is over; only the screen may still be at work, or what is left be ended.
            signals.next().await;
        }
        leave();
    }

    fn abort(&mut self) {
        if std::mem::replace(&mut self.aborting, true) {
            leave();
        }
        self.client.abort(&self.task);
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
                () = self.signals.next() => self.abort(),
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
