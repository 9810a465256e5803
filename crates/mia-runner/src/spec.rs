//! What a run is made of.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use mia_host::host::Host;
use mia_plug::erased::{DynPlug, Entered, LogSink};
use mia_plug::{AgentDraft, Failure, Outputs, RunInfo, SessionInfo, StateError};
use serde_json::Value;

use crate::stop::Stops;

/// The value of `with:`, made when its plug is reached.
pub trait With: Send + Sync {
    /// Evaluates the expressions in it.
    ///
    /// # Errors
    /// Which one can't be evaluated, and why.
    fn evaluate(&self, setup: &Outputs) -> Result<Value, String>;
}

impl With for Value {
    fn evaluate(&self, _: &Outputs) -> Result<Value, String> {
        Ok(self.clone())
    }
}

/// One entry of the setup.
#[derive(Clone)]
pub struct Link {
    /// The plug.
    pub plug: Arc<dyn DynPlug>,
    /// Its id, if it has one.
    pub id: Option<String>,
    /// Its inputs.
    pub with: Arc<dyn With>,
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.plug.definition().name;
        f.debug_struct("Link").field("name", name).field("id", &self.id).finish_non_exhaustive()
    }
}

/// What becomes of a session whose run failed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnFailure {
    /// It is over.
    #[default]
    End,
    /// It stays paused.
    Keep,
}

/// How long things may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// A plug's code before `next`.
    pub attach: Duration,
    /// A plug's code after `next`.
    pub pause: Duration,
    /// All of it together.
    pub pause_of_run: Duration,
    /// What a plug has for it even when others have used up all of that.
    pub pause_at_least: Duration,
    /// A plug's `on_teardown`, what is inside excluded.
    pub teardown: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        let minutes = |minutes: u64| Duration::from_secs(minutes * 60);
        Self {
            attach: minutes(15),
            pause: minutes(5),
            pause_of_run: minutes(10),
            pause_at_least: Duration::from_secs(10),
            teardown: minutes(10),
        }
    }
}

/// What a run is made of.
#[derive(Clone)]
pub struct RunSpec {
    /// The session.
    pub session: SessionInfo,
    /// The run.
    pub run: RunInfo,
    /// The plugs; the first is the outermost.
    pub links: Vec<Link>,
    /// The agent as the setup has it.
    pub draft: AgentDraft,
    /// How long things may take.
    pub limits: Limits,
    /// What becomes of a session whose run failed.
    pub on_failure: OnFailure,
    /// The runner's machine.
    pub runner: Arc<dyn Host>,
    /// The runner's environment, for plugs that read it.
    pub runner_env: Arc<BTreeMap<OsString, OsString>>,
    /// Where the plug at each place says what it has to say.
    pub logs: Vec<Arc<dyn LogSink>>,
}

impl fmt::Debug for RunSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunSpec")
            .field("session", &self.session)
            .field("run", &self.run)
            .field("links", &self.links)
            .finish_non_exhaustive()
    }
}

/// Why something could not be told or kept.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ControlError {
    /// Another runner has the session now: nothing of this run may do anything any more.
    #[error("another runner has the session now")]
    LeaseLost,
    /// It could not be written.
    #[error("{0}")]
    Failed(String),
}

impl From<ControlError> for StateError {
    fn from(error: ControlError) -> Self {
        match error {
            ControlError::LeaseLost => Self::LeaseLost,
            ControlError::Failed(why) => Self::Failed(why),
        }
    }
}

/// Who owns the session: keeps what has to survive the run. All of it is durable when it returns.
pub trait Control: Send + Sync {
    /// The plug at that place is about to be entered; before anything of it runs.
    fn entered(&self, plug: usize) -> BoxFuture<'_, Result<(), ControlError>>;

    /// The plug at that place has given a host; before anything runs on it.
    fn rehosted(&self, plug: usize) -> BoxFuture<'_, Result<(), ControlError>>;

    /// What the plug with that id has kept: the name of the plug that wrote it, and the value.
    fn stored<'a>(
        &'a self,
        id: &'a str,
    ) -> BoxFuture<'a, Result<Option<(String, Value)>, ControlError>>;

    /// Keeps a value for the plug with that id.
    fn put<'a>(
        &'a self,
        id: &'a str,
        name: &'a str,
        value: Value,
    ) -> BoxFuture<'a, Result<(), ControlError>>;

    /// Removes what the plug with that id has kept.
    fn delete<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<(), ControlError>>;
}

/// What the innermost level is given.
pub struct Inside {
    /// The agent as plugs have left it.
    pub draft: AgentDraft,
    /// Where it runs.
    pub host: Arc<dyn Host>,
    /// The plugs that see messages, by their places, from the outermost on.
    pub plugs: Vec<(usize, Arc<dyn Entered>)>,
    /// When to end.
    pub stops: Stops,
}

impl fmt::Debug for Inside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inside").field("draft", &self.draft.command).finish_non_exhaustive()
    }
}

/// What is at the centre of the onion: the agent.
pub trait Center: Send + Sync {
    /// Runs it until a stop is asked for, or it ends by itself, and returns when nothing of it is left.
    /// One that has done its work asks for the stop by itself.
    ///
    /// # Errors
    /// With what failed.
    fn run(&self, inside: Inside) -> BoxFuture<'static, Result<(), Failure>>;
}
