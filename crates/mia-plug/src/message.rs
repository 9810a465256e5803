//! Messages and answers.

use std::fmt;

use mia_acp::{AgentMethod, ClientMethod, Frame, Id, Kind, RequestError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::error::PlugError;
use crate::signal::Signal;

/// Which way a message goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the client to the agent.
    ToAgent,
    /// From the agent to the client.
    FromAgent,
}

/// The method of a message, which also tells its direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    /// To the agent.
    ToAgent(AgentMethod),
    /// From the agent.
    FromAgent(ClientMethod),
}

impl Method {
    /// Its direction.
    #[must_use]
    pub fn direction(self) -> Direction {
        match self {
            Self::ToAgent(_) => Direction::ToAgent,
            Self::FromAgent(_) => Direction::FromAgent,
        }
    }

    /// Its name on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ToAgent(method) => method.name(),
            Self::FromAgent(method) => method.name(),
        }
    }
}

/// A request or a notification on its way. What is not changed goes on byte for byte.
#[derive(Debug, Clone)]
pub struct Message {
    method: Method,
    frame: Frame,
    replay: bool,
    signal: Signal,
}

impl Message {
    /// A message of that frame; none when its method is not one that plugs see in that direction. For
    /// the engine.
    #[must_use]
    pub fn of(direction: Direction, frame: Frame, replay: bool, signal: Signal) -> Option<Self> {
        let method = match direction {
            Direction::ToAgent => Method::ToAgent(AgentMethod::of(frame.method())?),
            Direction::FromAgent => Method::FromAgent(ClientMethod::of(frame.method())?),
        };
        Some(Self { method, frame, replay, signal })
    }

    /// Its method: `match` on it.
    #[must_use]
    pub fn method(&self) -> Method {
        self.method
    }

    /// Which way it goes.
    #[must_use]
    pub fn direction(&self) -> Direction {
        self.method.direction()
    }

    /// True for a request, false for a notification.
    #[must_use]
    pub fn is_request(&self) -> bool {
        self.frame.kind() == Kind::Request
    }

    /// True for an update that tells again what was said before the session was loaded.
    #[must_use]
    pub fn is_replay(&self) -> bool {
        self.replay
    }

    /// Set when the sender of this request does not want its answer any more.
    #[must_use]
    pub fn signal(&self) -> &Signal {
        &self.signal
    }

    /// The params in a type, such as one of the ACP schema crate.
    ///
    /// # Errors
    /// When they don't fit it. A plug that guards something refuses what it can't read.
    pub fn params<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        self.frame.read()
    }

    /// The text of the params as it came; `null` where there are none.
    #[must_use]
    pub fn raw_params(&self) -> &str {
        self.frame.body().unwrap_or("null")
    }

    /// The same message with other params.
    ///
    /// # Errors
    /// When they can't be JSON.
    pub fn with_params(self, params: &impl Serialize) -> Result<Self, serde_json::Error> {
        Ok(Self { frame: self.frame.with_body(params)?, ..self })
    }

    /// All of it.
    #[must_use]
    pub fn frame(&self) -> &Frame {
        &self.frame
    }

    /// All of it, owned.
    #[must_use]
    pub fn into_frame(self) -> Frame {
        self.frame
    }
}

/// What came of a message: the result of a request, or nothing for a notification.
#[derive(Clone)]
pub struct Reply(Made);

#[derive(Clone)]
enum Made {
    /// Nothing, or an empty result.
    Nothing,
    /// As the peer sent it.
    Passed(Frame),
    /// By a plug.
    Here(Box<RawValue>),
}

impl Reply {
    /// Nothing: a notification was taken, or a request has a result without members.
    #[must_use]
    pub fn nothing() -> Self {
        Self(Made::Nothing)
    }

    /// A result of a plug's own.
    ///
    /// # Errors
    /// When it can't be JSON.
    pub fn result(result: &impl Serialize) -> Result<Self, serde_json::Error> {
        Ok(Self(Made::Here(serde_json::value::to_raw_value(result)?)))
    }

    /// An answer as a peer sent it; for the engine.
    ///
    /// # Errors
    /// The error that it is, if it is one.
    pub fn of(answer: Frame) -> Result<Self, RequestError> {
        match answer.kind() {
            Kind::Error => Err(answer.read().unwrap_or_else(|_| RequestError::internal())),
            Kind::Result => Ok(Self(Made::Passed(answer))),
            Kind::Request | Kind::Notification => Ok(Self(Made::Nothing)),
        }
    }

    /// The text of the result.
    #[must_use]
    pub fn raw(&self) -> &str {
        match &self.0 {
            Made::Nothing => "{}",
            Made::Passed(frame) => frame.body().unwrap_or("null"),
            Made::Here(raw) => raw.get(),
        }
    }

    /// The result in a type.
    ///
    /// # Errors
    /// When it does not fit it.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.raw())
    }

    /// True when a plug has made it, rather than a peer.
    #[must_use]
    pub fn is_made(&self) -> bool {
        !matches!(self.0, Made::Passed(_))
    }

    /// The answer to the request with that id, as the peer sent it where no plug has changed it.
    ///
    /// # Errors
    /// When it could not be written, which does not happen.
    pub fn into_frame(self, id: &Id) -> Result<Frame, serde_json::Error> {
        match self.0 {
            Made::Passed(frame) if frame.id().as_ref() == Some(id) => Ok(frame),
            Made::Passed(frame) => frame.with_id(id),
            Made::Nothing => Frame::result(id, &serde_json::Map::new()),
            Made::Here(raw) => Frame::result(id, &raw),
        }
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reply").field("made", &self.is_made()).finish_non_exhaustive()
    }
}

/// What a hook on messages comes to.
pub(crate) type Answered = Result<Reply, PlugError>;
