//! The events of a task for those who watch it: the newest from memory, older ones from the record.
//!
//! No watcher holds a task up (M-38). One that is slow, or comes late, reads what it has missed from
//! the record; the record is what makes an agent wait.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use mia_api::{ConversationId, Event, EventBody, NoticeKind, ResumePoint, TaskId};
use mia_store::{ResumeCut, Store, StoreError};

use crate::ring::{Found, Ring};

/// How much of what is on record already is kept in memory for each task, in bytes.
const ROOM: usize = 128 * 1024;
/// How much is kept when nothing can be put on record.
const ROOM_WITHOUT_RECORD: usize = 4 * 1024 * 1024;
/// About how much a watcher takes at once, in bytes.
const BATCH: usize = 32 * 1024;
/// How often the record is looked at for a task of another process.
const LOOK: Duration = Duration::from_millis(200);

/// A task's events from its first to its last.
#[derive(Debug)]
pub(crate) struct Feed {
    ring: Ring<Arc<Event>>,
    /// True when the task was not accepted after all.
    refused: AtomicBool,
}

impl Feed {
    pub(crate) fn new() -> Self {
        Self { ring: Ring::new(ROOM), refused: AtomicBool::new(false) }
    }

    /// Adds an event; their numbers have no gap.
    pub(crate) fn push(&self, event: Arc<Event>) {
        let weight = event.body.weight();
        let seq = event.seq;
        self.ring.push(event, weight);
        debug_assert_eq!(self.ring.next(), seq + 1);
    }

    /// Those up to that number are on record.
    pub(crate) fn recorded(&self, seq: u64) {
        self.ring.spare(seq);
    }

    /// Nothing more comes on record: what is too much for the memory is lost for slow watchers, who are
    /// told so.
    pub(crate) fn unrecorded(&self) {
        self.ring.widen(ROOM_WITHOUT_RECORD);
        self.ring.spare(u64::MAX);
    }

    /// There will be no terminal event: the task was not accepted.
    pub(crate) fn refuse(&self) {
        self.refused.store(true, Ordering::SeqCst);
        self.ring.close();
    }

    /// Adds the terminal event.
    pub(crate) fn end(&self, event: Arc<Event>) {
        self.push(event);
        self.ring.close();
    }
}

/// Counts somebody who answers a task's questions, for as long as this lives.
#[derive(Debug)]
pub(crate) struct Attends(Arc<AtomicUsize>);

impl Attends {
    pub(crate) fn new(count: Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count)
    }
}

impl Attends {
    /// Counts until the task ends.
    fn stay(self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Drop for Attends {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The events of a task, in order, from some point on; the last one is its terminal event.
#[derive(Debug)]
pub struct TaskEvents {
    /// The task.
    pub task_id: TaskId,
    /// Its conversation.
    pub conversation_id: ConversationId,
    /// True when the task had been accepted before, by an earlier request with the same id.
    pub already: bool,
    store: Store,
    /// None for a task that is not this process's, or has ended.
    feed: Option<Arc<Feed>>,
    /// How far this has come.
    at: ResumePoint,
    /// The number of the next event that is wanted of the feed.
    wanted: u64,
    /// Takes away what the watcher had before.
    cut: Option<ResumeCut>,
    waiting: VecDeque<Event>,
    ended: bool,
    fault: Option<StoreError>,
    pub(crate) attends: Option<Attends>,
}

impl TaskEvents {
    pub(crate) fn new(
        task_id: TaskId,
        conversation_id: ConversationId,
        store: Store,
        feed: Option<Arc<Feed>>,
        from: ResumePoint,
    ) -> Self {
        // With an offset, more of that very event may be wanted.
        let wanted = if from.offset.is_some() { from.seq } else { from.seq.saturating_add(1) };
        Self {
            task_id,
            conversation_id,
            already: false,
            store,
            feed,
            at: from,
            wanted: wanted.max(1),
            cut: (from != ResumePoint::default()).then(|| ResumeCut::new(from)),
            waiting: VecDeque::new(),
            ended: false,
            fault: None,
            attends: None,
        }
    }

    /// The next event; none after the terminal one, or when the record can't be read. Cancel-safe.
    ///
    /// Text of neighbouring events may be joined. Who is slow holds nothing up, and dropping this does
    /// not end the task.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.next_waiting() {
                return Some(event);
            }
            if self.ended {
                return None;
            }
            self.advance().await;
        }
    }

    /// The next event, if one is at hand.
    pub fn next_waiting(&mut self) -> Option<Event> {
        if self.waiting.is_empty() {
            self.take_live();
        }
        self.waiting.pop_front()
    }

    /// Makes the promise to answer the agent's questions last until the task ends, also when this is
    /// dropped before.
    pub fn attend_to_the_end(&mut self) {
        if let Some(attends) = self.attends.take() {
            attends.stay();
        }
    }

    /// Why there are no more events although none was terminal.
    #[must_use]
    pub fn fault(&self) -> Option<&StoreError> {
        self.fault.as_ref()
    }

    /// Takes what the memory has; none for a task that it knows nothing of.
    fn take_live(&mut self) -> Option<Found> {
        let feed = Arc::clone(self.feed.as_ref()?);
        let (waiting, cut) = (&mut self.waiting, &mut self.cut);
        let (mut weight, mut ended, mut at) = (0, false, self.at);
        let found = feed.ring.read(self.wanted, |event| {
            ended |= event.body.is_terminal();
            let whole = event.as_ref().clone();
            let event = match cut {
                Some(cut) => cut.apply(whole, event.seq),
                None => Some(whole),
            };
            if let Some(event) = event {
                weight += event.body.weight();
                at = ResumePoint::after(&event);
                add(waiting, event);
            }
            weight < BATCH
        });
        if let Found::Some(next) = found {
            (self.wanted, self.at) = (next, at);
        }
        if found == Found::End && feed.refused.load(Ordering::SeqCst) {
            self.fault = Some(StoreError::UnknownTask { task: self.task_id.clone() });
        }
        self.ended |= ended || found == Found::End;
        Some(found)
    }

    /// Takes what there is, or waits until there is something.
    async fn advance(&mut self) {
        match self.take_live() {
            Some(Found::Some(_) | Found::End) => {}
            Some(Found::Nothing) => {
                if let Some(feed) = self.feed.clone() {
                    feed.ring.wait(self.wanted).await;
                }
            }
            Some(Found::Gone(first)) => self.read_record(Some(first)).await,
            None => self.read_record(None).await,
        }
    }

    /// Reads on in the record. `live` is the number from which on the memory has the events.
    async fn read_record(&mut self, live: Option<u64>) {
        let page = match self.store.events(&self.task_id, self.at, BATCH).await {
            Ok(page) => page,
            Err(error) => {
                self.fault = Some(error);
                self.ended = true;
                return;
            }
        };
        let nothing = page.events.is_empty() && page.last_seq < self.wanted;
        match live {
            Some(first) if nothing => {
                // It never came on record.
                let missed = first - self.wanted;
                let message = format!(
                    "{missed} events of this task are lost: they could not be put on record, and \
                     this reader was too slow for them"
                );
                let body = EventBody::notice(NoticeKind::Lost, message);
                let (task_id, seq) = (self.task_id.clone(), first - 1);
                self.waiting.push_back(Event { task_id, seq, offset: None, body });
                self.at = ResumePoint { seq: first - 1, offset: None };
                self.wanted = first;
                self.cut = None;
            }
            _ => {
                self.ended = page.events.last().is_some_and(|event| event.body.is_terminal());
                self.at = page.next;
                if page.last_seq >= self.wanted {
                    self.wanted = page.last_seq + 1;
                    self.cut = None;
                }
                self.waiting.extend(page.events);
                if self.waiting.is_empty() && !self.ended {
                    if page.status.is_ended() && !page.more {
                        // Ended without a terminal event on record: there is none to wait for.
                        self.ended = true;
                    } else {
                        tokio::time::sleep(LOOK).await;
                    }
                }
            }
        }
    }
}

/// Adds an event, joined to the one before where both are text of the same speaker.
fn add(waiting: &mut VecDeque<Event>, event: Event) {
    let Some(last) = waiting.back_mut() else {
        waiting.push_back(event);
        return;
    };
    let Event { task_id, seq, offset, body } = event;
    if let Some(body) = last.body.join(body) {
        waiting.push_back(Event { task_id, seq, offset, body });
    }
}
