//! The way of messages through the plugs, in order (P-156).
//!
//! In each direction a plug has one turn. A message holds it from when it enters the plug until it has the
//! next plug's, so that messages enter each plug and leave the chain as they came. What comes after
//! `next` holds nothing: a prompt that runs for an hour is in nobody's way. A request of the agent's gives
//! the turn back at once: a person takes minutes to decide.

use std::fmt;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use mia_acp::Frame;
use mia_plug::erased::{Chain, Entered, Hold};
use mia_plug::{Direction, Message, MessageNext, PlugError, Reply};
use tokio::sync::Mutex;

/// One end of the chain.
pub trait Peer: Send + Sync {
    /// Takes a notification, or an answer; ready once it is behind all that was taken before.
    fn send(&self, frame: Frame) -> BoxFuture<'static, ()>;

    /// Takes a request; the first future is ready once it is behind all that was taken before, and gives
    /// the one of its answer.
    fn request(&self, frame: Frame) -> BoxFuture<'static, BoxFuture<'static, Frame>>;
}

/// The plugs that see messages, between a client and an agent.
pub struct MessageChain {
    /// From the outermost on.
    plugs: Vec<Place>,
    agent: Arc<dyn Peer>,
    client: Arc<dyn Peer>,
    /// The turns at the two ends.
    to_agent: Turn,
    to_client: Turn,
}

type Turn = Arc<Mutex<()>>;

struct Place {
    plug: Arc<dyn Entered>,
    to_agent: Turn,
    from_agent: Turn,
}

impl MessageChain {
    /// A chain of these plugs, the first of them nearest to the client.
    #[must_use]
    pub fn new(
        plugs: Vec<Arc<dyn Entered>>,
        agent: Arc<dyn Peer>,
        client: Arc<dyn Peer>,
    ) -> Arc<Self> {
        let place = |plug| Place { plug, to_agent: Turn::default(), from_agent: Turn::default() };
        let plugs = plugs.into_iter().map(place).collect();
        let (to_agent, to_client) = (Turn::default(), Turn::default());
        Arc::new(Self { plugs, agent, client, to_agent, to_client })
    }

    /// Takes a message into the chain: ready once it has its turn at the first plug, so that the next one
    /// of its direction can be taken in. What comes of it is in the second future, which has to be
    /// polled.
    pub async fn enter(
        self: Arc<Self>,
        message: Message,
    ) -> BoxFuture<'static, Result<Reply, PlugError>> {
        let first = match message.direction() {
            Direction::ToAgent => 0,
            Direction::FromAgent => self.plugs.len(),
        };
        let (at, turn) = self.next(first, message.direction());
        let hold = turn.lock_owned().await;
        self.at(at, Some(hold), message)
    }

    /// Takes something into the order of a direction that no plug sees, such as an answer: ready once it
    /// has its turn at the first plug. The second future is ready once all that entered before has left
    /// the chain or gone on, and gives the turn at the end (§7, 4).
    pub async fn behind(self: Arc<Self>, direction: Direction) -> BoxFuture<'static, Hold> {
        let mut turns = self.turns(direction).into_iter();
        let mut hold = match turns.next() {
            Some(turn) => Some(turn.lock_owned().await),
            None => None,
        };
        async move {
            for turn in turns {
                let next = turn.lock_owned().await;
                drop(hold.replace(next));
            }
            hold
        }
        .boxed()
    }

    /// All turns of a direction, in the order in which messages take them.
    fn turns(&self, direction: Direction) -> Vec<Turn> {
        let plugs = self.plugs.iter();
        match direction {
            Direction::ToAgent => {
                plugs.map(|place| &place.to_agent).chain([&self.to_agent]).map(Arc::clone).collect()
            }
            Direction::FromAgent => plugs
                .rev()
                .map(|place| &place.from_agent)
                .chain([&self.to_client])
                .map(Arc::clone)
                .collect(),
        }
    }

    /// The end that messages of a direction come to.
    pub(crate) fn peer(&self, direction: Direction) -> Arc<dyn Peer> {
        match direction {
            Direction::ToAgent => Arc::clone(&self.agent),
            Direction::FromAgent => Arc::clone(&self.client),
        }
    }

    /// The next stop of a message that is at that place, and the turn there. Places count from 1; before
    /// the first plug is 0 and the client's end, and behind the last one the agent's.
    fn next(&self, at: usize, direction: Direction) -> (Option<usize>, Turn) {
        let (next, end) = match direction {
            Direction::ToAgent => (Some(at), &self.to_agent),
            Direction::FromAgent => (at.checked_sub(1), &self.to_client),
        };
        match next.and_then(|next| Some((next, self.plugs.get(next)?))) {
            Some((next, place)) => {
                let turn = match direction {
                    Direction::ToAgent => &place.to_agent,
                    Direction::FromAgent => &place.from_agent,
                };
                (Some(next), Arc::clone(turn))
            }
            None => (None, Arc::clone(end)),
        }
    }

    /// Hands a message that has its turn to the plug at that place, or to the peer at the end.
    fn at(
        self: Arc<Self>,
        at: Option<usize>,
        mut hold: Hold,
        message: Message,
    ) -> BoxFuture<'static, Result<Reply, PlugError>> {
        let place = at.and_then(|at| Some((at, self.plugs.get(at)?)));
        let Some((at, place)) = place else { return self.out(hold, message) };
        if message.direction() == Direction::FromAgent && message.is_request() {
            hold = None;
        }
        let plug = Arc::clone(&place.plug);
        let method = message.method();
        let next = MessageNext::new(self, at, hold, method);
        plug.on_message(message, next)
    }

    /// Hands a message to the peer at its end.
    fn out(
        self: Arc<Self>,
        hold: Hold,
        message: Message,
    ) -> BoxFuture<'static, Result<Reply, PlugError>> {
        let peer = self.peer(message.direction());
        let is_request = message.is_request();
        let frame = message.into_frame();
        async move {
            if !is_request {
                peer.send(frame).await;
                drop(hold);
                return Ok(Reply::nothing());
            }
            let answer = peer.request(frame).await;
            drop(hold);
            Ok(Reply::of(answer.await)?)
        }
        .boxed()
    }
}

impl Chain for MessageChain {
    fn forward(
        self: Arc<Self>,
        from: usize,
        hold: Hold,
        message: Message,
    ) -> BoxFuture<'static, Result<Reply, PlugError>> {
        let direction = message.direction();
        let from = match direction {
            Direction::ToAgent => from + 1,
            Direction::FromAgent => from,
        };
        let (at, turn) = self.next(from, direction);
        // Mostly nobody else is there.
        match Arc::clone(&turn).try_lock_owned() {
            Ok(next) => {
                drop(hold);
                self.at(at, Some(next), message)
            }
            Err(_) => async move {
                let next = turn.lock_owned().await;
                drop(hold);
                self.at(at, Some(next), message).await
            }
            .boxed(),
        }
    }
}

impl fmt::Debug for MessageChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MessageChain").field("plugs", &self.plugs.len()).finish_non_exhaustive()
    }
}
