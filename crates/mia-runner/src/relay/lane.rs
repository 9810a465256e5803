//! What comes from one end, in order, into the chain.

use std::io;
use std::sync::Arc;

use futures::FutureExt;
use mia_acp::{Frame, Kind, RequestError};
use mia_plug::{Direction, Failure, Message, Phase, PlugError, Reply, Signal};
use tokio::io::AsyncRead;
use tokio::sync::{Semaphore, mpsc};

use super::pending::Pending;
use super::wire::{Came, Incoming, Outgoing};
use crate::message::{MessageChain, Peer};

/// How much of the messages that plugs have in hand at the same time a lane lets be, in bytes: after `next`
/// a plug may take its time. Requests don't count: a prompt runs for an hour.
const IN_HAND: usize = 4 * 1024 * 1024;

/// Something that fails the session, or that somebody should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// A plug failed over a message.
    Failed(Failure),
    /// Something was dropped, and why.
    Dropped(String),
}

/// One direction of a relay: reads what comes from an end, and hands it on through the plugs.
#[derive(Debug)]
pub struct Lane {
    direction: Direction,
    chain: Arc<MessageChain>,
    /// The end that this comes from, where answers go.
    back: Outgoing,
    faults: mpsc::UnboundedSender<Fault>,
    in_hand: Arc<Semaphore>,
}

impl Lane {
    /// A lane of what comes from the end that `back` is the way to. Faults are told there.
    #[must_use]
    pub fn new(
        direction: Direction,
        chain: Arc<MessageChain>,
        back: Outgoing,
        faults: mpsc::UnboundedSender<Fault>,
    ) -> Self {
        Self { direction, chain, back, faults, in_hand: Arc::new(Semaphore::new(IN_HAND)) }
    }

    /// Hands on all that comes, to the end of the stream; then answers whatever was asked there and was
    /// not answered. What plugs have in hand by then goes on by itself.
    ///
    /// # Errors
    /// Those of the stream.
    pub async fn run<R: AsyncRead + Unpin>(&self, mut incoming: Incoming<R>) -> io::Result<()> {
        let pending = incoming.pending();
        let ended = loop {
            match incoming.next().await {
                Ok(Some(Came::Frame(frame))) => self.take(frame, &pending).await,
                Ok(Some(Came::Noise(why))) => self.drops(why.to_string()),
                Ok(Some(Came::TooLong(bytes))) => {
                    self.drops(format!(
                        "a line of {bytes} bytes or more is longer than any may be"
                    ));
                }
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        pending.close(&RequestError::new(RequestError::INTERNAL, "the other end has gone"));
        ended
    }

    fn drops(&self, why: String) {
        // Without somebody who listens there is nobody to tell.
        let _ = self.faults.send(Fault::Dropped(why));
    }

    async fn take(&self, frame: Frame, pending: &Arc<Pending>) {
        match frame.kind() {
            Kind::Result | Kind::Error => self.answer(frame, pending).await,
            Kind::Request | Kind::Notification => self.message(frame).await,
        }
    }

    /// An answer comes behind all that came before it.
    async fn answer(&self, frame: Frame, pending: &Pending) {
        let Some((waits, answer)) = pending.take(frame) else {
            return self.drops("an answer that nobody waits for".to_owned());
        };
        let turn = Arc::clone(&self.chain).behind(self.direction).await;
        go_on(async move {
            drop(turn.await);
            // Who has gone does not need it.
            let _ = waits.send(answer);
        });
    }

    async fn message(&self, frame: Frame) {
        // Never set: cancelling is told in another way.
        let (_, never) = tokio::sync::watch::channel(None);
        let Some(message) = Message::of(self.direction, frame.clone(), false, Signal::of(never))
        else {
            return self.unknown(frame).await;
        };
        let (is_request, id) = (message.is_request(), frame.id());
        let bytes = if is_request { 0 } else { frame.bytes().len().min(IN_HAND) };
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        // The semaphore is never closed.
        let in_hand = Arc::clone(&self.in_hand).acquire_many_owned(bytes).await;
        let work = Arc::clone(&self.chain).enter(message).await;
        let (back, faults) = (self.back.clone(), self.faults.clone());
        go_on(async move {
            let came = work.await;
            drop(in_hand);
            let answer = match id.filter(|_| is_request) {
                Some(id) => Some(answer_of(came, &id, &faults)),
                None => {
                    came.unwrap_or_else(|error| dropped(error, &faults));
                    None
                }
            };
            if let Some(answer) = answer {
                back.send(answer).await;
            }
        });
    }

    /// What plugs don't see keeps its place in the order.
    async fn unknown(&self, frame: Frame) {
        let peer = self.chain.peer(self.direction);
        let turn = Arc::clone(&self.chain).behind(self.direction).await;
        let back = self.back.clone();
        go_on(async move {
            let turn = turn.await;
            match frame.kind() {
                Kind::Request => {
                    let answer = peer.request(frame).await;
                    drop(turn);
                    back.send(answer.await).await;
                }
                Kind::Notification | Kind::Result | Kind::Error => {
                    peer.send(frame).await;
                    drop(turn);
                }
            }
        });
    }
}

/// Runs something at once as far as it comes, and in a task of its own from where it has to wait.
fn go_on(work: impl Future<Output = ()> + Send + 'static) {
    let mut work = Box::pin(work);
    if work.as_mut().now_or_never().is_none() {
        tokio::spawn(work);
    }
}

fn answer_of(
    came: Result<Reply, PlugError>,
    id: &mia_acp::Id,
    faults: &mpsc::UnboundedSender<Fault>,
) -> Frame {
    let error = match came {
        Ok(reply) => match reply.into_frame(id) {
            Ok(frame) => return frame,
            Err(_) => RequestError::internal(),
        },
        Err(error) if error.is_aborted() => RequestError::cancelled(),
        Err(error) => match error.into_request_error() {
            Ok(error) => error,
            // Without details: the peer is not the plug's author.
            Err(error) => {
                failed(&error, faults);
                RequestError::internal()
            }
        },
    };
    Frame::error(id, &error)
}

/// A notification that came to an error.
fn dropped(error: PlugError, faults: &mpsc::UnboundedSender<Fault>) -> Reply {
    if !error.is_aborted() {
        match error.into_request_error() {
            Ok(error) => {
                let _ = faults.send(Fault::Dropped(format!("a notification, by a plug: {error}")));
            }
            Err(error) => failed(&error, faults),
        }
    }
    Reply::nothing()
}

fn failed(error: &PlugError, faults: &mpsc::UnboundedSender<Fault>) {
    let failure = Failure::new("message_failed", Phase::Live, error);
    let _ = faults.send(Fault::Failed(failure));
}
