//! What a hook may fail with.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use mia_acp::RequestError;

/// Why a hook failed. Any error becomes one with `?`; a [`RequestError`] answers a request.
///
/// It is no [`std::error::Error`] itself, so that all those can become it.
pub struct PlugError(Kind);

enum Kind {
    Aborted,
    Failed(Box<dyn StdError + Send + Sync>),
}

impl PlugError {
    /// The hook ended early because the session is shutting down. That is no failure: the reason of
    /// the stop stands. Without a stop it is one like any other.
    #[must_use]
    pub fn aborted() -> Self {
        Self(Kind::Aborted)
    }

    /// A failure in words.
    #[must_use]
    pub fn new(message: impl fmt::Display) -> Self {
        Self(Kind::Failed(message.to_string().into()))
    }

    /// True for [`PlugError::aborted`].
    #[must_use]
    pub fn is_aborted(&self) -> bool {
        matches!(self.0, Kind::Aborted)
    }

    /// The answer to a request that this is, if it is one.
    ///
    /// # Errors
    /// Gives itself back when it is none.
    pub fn into_request_error(self) -> Result<RequestError, Self> {
        match self.0 {
            Kind::Failed(error) => match error.downcast() {
                Ok(error) => Ok(*error),
                Err(error) => Err(Self(Kind::Failed(error))),
            },
            Kind::Aborted => Err(self),
        }
    }

    /// What happened, and below it why, each in words.
    #[must_use]
    pub fn chain(&self) -> Vec<String> {
        let Kind::Failed(error) = &self.0 else { return vec!["aborted".to_owned()] };
        let first: &(dyn StdError + 'static) = error.as_ref();
        let causes = std::iter::successors(Some(first), |error| (*error).source());
        causes.take(16).map(ToString::to_string).collect()
    }
}

impl<E: StdError + Send + Sync + 'static> From<E> for PlugError {
    fn from(error: E) -> Self {
        Self(Kind::Failed(Box::new(error)))
    }
}

impl fmt::Display for PlugError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.chain().first().map_or("failed", String::as_str))
    }
}

impl fmt::Debug for PlugError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PlugError").field(&self.chain()).finish()
    }
}

/// In which part of a run something failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Inputs, persisted state, `on_load`, `on_migrate`.
    Load,
    /// `on_session` before `next`.
    Attach,
    /// The host that a plug gave, or the agent's start.
    Start,
    /// While the agent was live.
    Live,
    /// `on_session` after `next`.
    Pause,
    /// `on_teardown`.
    Teardown,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Load => "load",
            Self::Attach => "attach",
            Self::Start => "start",
            Self::Live => "live",
            Self::Pause => "pause",
            Self::Teardown => "teardown",
        })
    }
}

/// What failed in a run: whose code, when, and why (P-65). A cheap handle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure(Arc<Parts>);

#[derive(Debug, PartialEq, Eq)]
struct Parts {
    code: &'static str,
    phase: Phase,
    plug: Option<(usize, Option<String>, String)>,
    chain: Vec<String>,
}

impl Failure {
    /// Something that no plug did.
    #[must_use]
    pub fn new(code: &'static str, phase: Phase, message: impl fmt::Display) -> Self {
        Self::of_chain(code, phase, None, vec![message.to_string()])
    }

    /// Something that the plug at that place, with that id and name, did.
    #[must_use]
    pub fn of_plug(
        code: &'static str,
        phase: Phase,
        (index, id, name): (usize, Option<&str>, &str),
        chain: Vec<String>,
    ) -> Self {
        let plug = (index, id.map(str::to_owned), name.to_owned());
        Self::of_chain(code, phase, Some(plug), chain)
    }

    fn of_chain(
        code: &'static str,
        phase: Phase,
        plug: Option<(usize, Option<String>, String)>,
        chain: Vec<String>,
    ) -> Self {
        Self(Arc::new(Parts { code, phase, plug, chain }))
    }

    /// A word for programs: `plug_failed`, `next_not_called`, `pause_timeout`, …
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.0.code
    }

    /// When it was.
    #[must_use]
    pub fn phase(&self) -> Phase {
        self.0.phase
    }

    /// The place in the chain of the plug that failed; none when it was no plug.
    #[must_use]
    pub fn index(&self) -> Option<usize> {
        self.0.plug.as_ref().map(|(index, ..)| *index)
    }

    /// The plug's id in the setup, if it has one.
    #[must_use]
    pub fn id(&self) -> Option<&str> {
        self.0.plug.as_ref()?.1.as_deref()
    }

    /// The plug's name.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.0.plug.as_ref().map(|(_, _, name)| name.as_str())
    }

    /// What happened.
    #[must_use]
    pub fn message(&self) -> &str {
        self.0.chain.first().map_or("", String::as_str)
    }

    /// Why, each below the one before.
    #[must_use]
    pub fn causes(&self) -> &[String] {
        self.0.chain.get(1..).unwrap_or_default()
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((index, id, name)) = &self.0.plug {
            let id = id.as_ref().map(|id| format!(" ({id})")).unwrap_or_default();
            write!(f, "the plug {name}{id}, number {index}, in its {} code: ", self.0.phase)?;
        }
        write!(f, "{}", self.message())
    }
}

impl StdError for Failure {}
