//! Requests that wait for their answers.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use mia_acp::{Frame, Id, RequestError};
use tokio::sync::oneshot;

/// Requests that were sent to one end. A request keeps the id that it came with, unless another one that
/// waits has the same.
#[derive(Debug, Default)]
pub(super) struct Pending {
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    requests: HashMap<Id, Request>,
    /// How many were renamed so far.
    renamed: u64,
    /// True once no answer can come any more.
    closed: bool,
}

#[derive(Debug)]
struct Request {
    /// The id that it came with.
    id: Id,
    answer: oneshot::Sender<Frame>,
}

impl Pending {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a request: as it is to be sent, and where its answer will be. None when no answer can
    /// come any more, or it is no request.
    pub(super) fn note(&self, request: Frame) -> Option<(Frame, oneshot::Receiver<Frame>)> {
        let id = request.id()?;
        let (answer, answered) = oneshot::channel();
        let mut waiting = self.waiting();
        if waiting.closed {
            return None;
        }
        let (sent_as, frame) = match waiting.requests.contains_key(&id) {
            false => (id.clone(), request),
            true => {
                waiting.renamed += 1;
                let name = Id::from(format!("mia-{}", waiting.renamed).as_str());
                let frame = request.with_id(&name).ok()?;
                (name, frame)
            }
        };
        waiting.requests.insert(sent_as, Request { id, answer });
        Some((frame, answered))
    }

    /// The request that this is the answer to, and the answer under the request's own id. None when
    /// nobody waits for it.
    pub(super) fn take(&self, answer: Frame) -> Option<(oneshot::Sender<Frame>, Frame)> {
        let sent_as = answer.id()?;
        let Request { id, answer: waits } = self.waiting().requests.remove(&sent_as)?;
        let answer = if id == sent_as { answer } else { answer.with_id(&id).ok()? };
        Some((waits, answer))
    }

    /// Answers all that wait, and whatever comes later, with an error.
    pub(super) fn close(&self, error: &RequestError) {
        let mut waiting = self.waiting();
        waiting.closed = true;
        for (_, Request { id, answer }) in waiting.requests.drain() {
            // Who has gone does not need it.
            let _ = answer.send(Frame::error(&id, error));
        }
    }
}
