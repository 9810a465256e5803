//! Between the core and the screen: events go through, Ctrl-C goes back.
//!
//! The screen may stand still for as long as nobody reads the answer (a pager, a stopped pipe).
//! This part never does, so that a task can be aborted all the same.

use std::time::Duration;

use mia_api::{Event, TaskId};
use mia_core::TaskEvents;
use tokio::sync::mpsc;

use crate::client::Client;
use crate::signals::{INTERRUPTED, Signals};

/// How many events may wait for the screen. Text joins before, so each may hold much.
const QUEUE: usize = 8;
/// How long the screen may take for an event of a task that is being aborted.
const PATIENCE: Duration = Duration::from_millis(500);
/// Hands the events of a task on, and aborts it when a signal asks for that. A second signal ends
/// this process at once; what still runs is then ended by the supervisor.
pub(super) struct Relay {
    client: Client,
    task: TaskId,
    events: TaskEvents,
    signals: Signals,
    screen: mpsc::Sender<Event>,
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
    ) -> mpsc::Receiver<Event> {
        let (screen, shown) = mpsc::channel(QUEUE);
        let task = events.task_id.clone();
        let client = client.clone();
        let relay = Self {
            client,
            task,
            events,
            signals,
            screen,
            aborting: false,
            stuck: false,
        };
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
        let Self {
            client,
            mut signals,
            screen,
            stuck,
            ..
        } = self;
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
        std::process::exit(i32::from(INTERRUPTED));
    }

    fn abort(&mut self) {
        if std::mem::replace(&mut self.aborting, true) {
            std::process::exit(i32::from(INTERRUPTED));
        }
        self.client.abort(&self.task);
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
                        room.send(event);
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
