//! The events of a task on their way to the record and to the client.

use std::collections::VecDeque;

use mia_api::{Event, EventBody, NoticeKind, TaskId};

use crate::recorder::Recorder;
use crate::weighted;

/// Numbers events and hands them on.
#[derive(Debug)]
pub(crate) struct Track {
    task_id: TaskId,
    seq: u64,
    /// How many bytes of text and of thoughts the attempt has said.
    said: u64,
    thought: u64,
    /// What could not be handed on yet.
    pending: VecDeque<Event>,
    client: weighted::Sender<Event>,
    recorder: Recorder,
    told_failure: bool,
}

impl Track {
    pub(crate) fn new(
        task_id: TaskId,
        recorder: Recorder,
        client: weighted::Sender<Event>,
    ) -> Self {
        Self {
            task_id,
            seq: 0,
            said: 0,
            thought: 0,
            pending: VecDeque::new(),
            client,
            recorder,
            told_failure: false,
        }
    }

    pub(crate) fn task_id(&self) -> &TaskId {
        &self.task_id
    }

    /// Takes an event; [`Track::hand_on`] brings it on its way.
    pub(crate) fn take(&mut self, body: EventBody) {
        let event = self.number(body);
        self.pending.push_back(event);
    }

    /// True while something waits to be handed on. No more should be taken then.
    pub(crate) fn is_behind(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Hands one event on, waiting for room at the record and at the client. Cancel-safe: an event
    /// goes to both or stays.
    pub(crate) async fn hand_on(&mut self) {
        let Some(event) = self.pending.front() else { return };
        let weight = event.body.weight();
        let record = self.recorder.reserve(weight).await;
        let client = self.client.reserve(weight).await;
        if let Some(event) = self.pending.pop_front() {
            self.recorder.push(event.clone(), record);
            self.client.send(event, client);
        }
        if !self.told_failure
            && let Some(error) = self.recorder.failure()
        {
            self.told_failure = true;
            let message = format!("the record of this task is incomplete: {error}");
            let event = self.number(EventBody::notice(NoticeKind::History, message));
            // Not for the record, which can't take it.
            self.client.force(event);
        }
    }

    /// Brings what is left to the record, and to the client without waiting for it: an ended task
    /// is not held up by a client that does not read. What is left is bounded by the plugin's sink.
    /// Returns the terminal event's number and why the record is incomplete, if it is.
    pub(crate) async fn close(mut self) -> (Ending, Result<(), String>) {
        for event in std::mem::take(&mut self.pending) {
            let place = self.recorder.reserve(event.body.weight()).await;
            self.recorder.push(event.clone(), place);
            self.client.force(event);
        }
        let seq = self.seq + 1;
        let recorded = self.recorder.close().await;
        (Ending { task_id: self.task_id, seq, client: self.client }, recorded)
    }

    fn number(&mut self, body: EventBody) -> Event {
        self.seq += 1;
        if matches!(body, EventBody::Attempt { .. }) {
            (self.said, self.thought) = (0, 0);
        }
        let counter = match &body {
            EventBody::Token { text, .. } => Some((&mut self.said, text.len())),
            EventBody::Thought { text, .. } => Some((&mut self.thought, text.len())),
            _ => None,
        };
        let offset = counter.map(|(counter, len)| {
            let before = *counter;
            *counter += len as u64;
            before
        });
        Event { task_id: self.task_id.clone(), seq: self.seq, offset, body }
    }
}

/// Where the terminal event goes, once.
#[derive(Debug)]
pub(crate) struct Ending {
    task_id: TaskId,
    /// Its number.
    pub(crate) seq: u64,
    client: weighted::Sender<Event>,
}

impl Ending {
    /// Tells the client how the task ended. No queue can drop it (M-08).
    pub(crate) fn tell(self, body: EventBody) {
        self.client.force(Event { task_id: self.task_id, seq: self.seq, offset: None, body });
    }
}
