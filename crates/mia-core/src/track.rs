//! The events of a task on their way to the record and to those who watch.

use std::collections::VecDeque;
use std::sync::Arc;

use mia_api::{Event, EventBody, NoticeKind, TaskId};

use crate::every::Every;
use crate::feed::Feed;
use crate::recorder::Recorder;

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
    watched: Watched,
    recorder: Recorder,
    told_failure: bool,
}

impl Track {
    pub(crate) fn new(task_id: TaskId, recorder: Recorder, watched: Watched) -> Self {
        Self {
            task_id,
            seq: 0,
            said: 0,
            thought: 0,
            pending: VecDeque::new(),
            watched,
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

    /// Hands one event on, waiting for room at the record. Cancel-safe: an event goes everywhere or
    /// stays.
    pub(crate) async fn hand_on(&mut self) {
        let Some(event) = self.pending.front() else { return };
        let place = self.recorder.reserve(event.body.weight()).await;
        if let Some(event) = self.pending.pop_front() {
            let event = Arc::new(event);
            self.recorder.push(Arc::clone(&event), place);
            self.watched.push(event);
        }
        if !self.told_failure
            && let Some(error) = self.recorder.failure()
        {
            self.told_failure = true;
            let message = format!("the record of this task is incomplete: {error}");
            self.take(EventBody::notice(NoticeKind::History, message));
        }
    }

    /// Brings what is left on its way, and waits until it is on record. Returns the terminal event's
    /// number and why the record is incomplete, if it is.
    pub(crate) async fn close(mut self) -> (Ending, Result<(), String>) {
        while self.is_behind() {
            self.hand_on().await;
        }
        let seq = self.seq + 1;
        let recorded = self.recorder.close().await;
        (Ending { task_id: self.task_id, seq, watched: self.watched }, recorded)
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

/// Those who watch: the task's own watchers, and those of all tasks.
#[derive(Debug)]
pub(crate) struct Watched {
    pub(crate) feed: Arc<Feed>,
    pub(crate) every: Arc<Every>,
}

impl Watched {
    fn push(&self, event: Arc<Event>) {
        self.every.push(&event);
        self.feed.push(event);
    }
}

/// Where the terminal event goes, once.
#[derive(Debug)]
pub(crate) struct Ending {
    task_id: TaskId,
    /// Its number.
    pub(crate) seq: u64,
    watched: Watched,
}

impl Ending {
    /// Tells how the task ended. No queue can drop it (M-08).
    pub(crate) fn tell(self, body: EventBody) {
        let event = Event { task_id: self.task_id, seq: self.seq, offset: None, body };
        let event = Arc::new(event);
        self.watched.every.push(&event);
        self.watched.feed.end(event);
    }
}
