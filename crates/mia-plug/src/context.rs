//! What a hook is given.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use mia_host::host::Host;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::agent::AgentDraft;
use crate::outputs::Outputs;
use crate::persisted::{Keeps, Persisted, PersistedState};
use crate::plug::Plug;
use crate::signal::Signal;

/// Nothing to choose: a `with:` with anything in it is refused.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoInputs {}

/// The session that a run belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionInfo {
    /// Its id; the same in all runs.
    pub id: String,
    /// What the session executes, for people who compare logs. The same in all runs; not to be parsed.
    pub execution_id: String,
    /// The agent's name in the setup.
    pub agent_name: String,
}

/// What a run does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RunKind {
    /// Starts a session.
    Start,
    /// Goes on with one that was live before.
    Resume,
    /// Tears down one that ended while it was paused.
    Teardown,
}

impl fmt::Display for RunKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Start => "start",
            Self::Resume => "resume",
            Self::Teardown => "teardown",
        })
    }
}

/// The run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunInfo {
    /// What it does. A session that ends during a run is torn down in it, and its kind stays.
    pub kind: RunKind,
    /// 1 for the first run of the session, and one more with each.
    pub number: u64,
    /// True when the run before was lost with its runner: no pause code of it has run, so attach code
    /// has to adopt what it finds.
    pub after_loss: bool,
}

/// Where a plug stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlugPlace {
    /// Its id in the setup, if it has one.
    pub id: Option<String>,
    /// Its position; 0 is nearest to the client.
    pub index: usize,
}

/// How much something that a plug says matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Stays on the runner's machine unless asked for.
    Debug,
    /// Good to know.
    Info,
    /// Something may not be as it should.
    Warn,
    /// Something failed.
    Error,
}

/// Where what plugs say goes; the engine's part.
pub trait LogSink: Send + Sync {
    /// Takes a line. Fields are an object, or null.
    fn log(&self, level: Level, message: &str, fields: Value);
}

/// What a plug can say. Lines have the session, the run, the plug and the phase with them.
#[derive(Clone)]
pub struct Log(Arc<dyn LogSink>);

impl Log {
    /// Says something that stays on the runner's machine.
    pub fn debug(&self, message: impl AsRef<str>) {
        self.with(Level::Debug, message, Value::Null);
    }

    /// Says something that is good to know.
    pub fn info(&self, message: impl AsRef<str>) {
        self.with(Level::Info, message, Value::Null);
    }

    /// Says that something may not be as it should.
    pub fn warn(&self, message: impl AsRef<str>) {
        self.with(Level::Warn, message, Value::Null);
    }

    /// Says that something failed.
    pub fn error(&self, message: impl AsRef<str>) {
        self.with(Level::Error, message, Value::Null);
    }

    /// Says something with fields, an object.
    pub fn with(&self, level: Level, message: impl AsRef<str>, fields: Value) {
        self.0.log(level, message.as_ref(), fields);
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Log")
    }
}

/// The agent's draft of a run, which all plugs see.
pub type SharedDraft = Arc<RwLock<AgentDraft>>;

/// What contexts of all types have; the engine makes it.
pub struct Common {
    /// The session.
    pub session: SessionInfo,
    /// The run.
    pub run: RunInfo,
    /// The plug's place.
    pub place: PlugPlace,
    /// Outputs of earlier plugs.
    pub setup: Outputs,
    /// The agent's draft.
    pub draft: SharedDraft,
    /// The host that inner code runs on as seen from this plug.
    pub host: Arc<dyn Host>,
    /// The runner's machine.
    pub runner: Arc<dyn Host>,
    /// The runner's environment.
    pub runner_env: Arc<BTreeMap<OsString, OsString>>,
    /// Where what the plug says goes.
    pub log: Arc<dyn LogSink>,
}

impl fmt::Debug for Common {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Common")
            .field("session", &self.session)
            .field("run", &self.run)
            .field("place", &self.place)
            .finish_non_exhaustive()
    }
}

macro_rules! of_common {
    () => {
        /// What `with:` holds.
        #[must_use]
        pub fn inputs(&self) -> &P::Inputs {
            &self.inputs
        }

        /// The session.
        #[must_use]
        pub fn session(&self) -> &SessionInfo {
            &self.common.session
        }

        /// The run.
        #[must_use]
        pub fn run(&self) -> &RunInfo {
            &self.common.run
        }

        /// Where this plug stands.
        #[must_use]
        pub fn plug(&self) -> &PlugPlace {
            &self.common.place
        }

        /// What earlier plugs have published.
        #[must_use]
        pub fn setup(&self) -> &Outputs {
            &self.common.setup
        }

        /// The agent's draft as it is now. It is changed through [`Next`](crate::Next) only.
        #[must_use]
        pub fn agent(&self) -> AgentDraft {
            self.common.draft.read().unwrap_or_else(PoisonError::into_inner).clone()
        }

        /// Where the agent runs as far as outer plugs have chosen; never the host that this plug gives.
        #[must_use]
        pub fn host(&self) -> &Arc<dyn Host> {
            &self.common.host
        }

        /// The machine of the runner.
        #[must_use]
        pub fn runner(&self) -> &Arc<dyn Host> {
            &self.common.runner
        }

        /// The runner's own environment, without tokens of Mia's.
        #[must_use]
        pub fn runner_env(&self) -> &BTreeMap<OsString, OsString> {
            &self.common.runner_env
        }

        /// What this plug can say.
        #[must_use]
        pub fn log(&self) -> Log {
            Log(Arc::clone(&self.common.log))
        }

        /// Set when the session is shutting down, every pause included. In pause code it is set already.
        #[must_use]
        pub fn signal(&self) -> &Signal {
            &self.signal
        }
    };
}

/// What `on_load` and `on_migrate` are given. An owned, cheap handle.
pub struct LoadCtx<P: Plug> {
    pub(crate) common: Arc<Common>,
    pub(crate) inputs: Arc<P::Inputs>,
    pub(crate) persisted: Persisted<P::Persisted>,
    pub(crate) signal: Signal,
}

impl<P: Plug> LoadCtx<P> {
    of_common!();
}

impl<P: Plug> LoadCtx<P>
where
    P::Persisted: PersistedState,
{
    /// What survives the run. In `on_migrate` nothing can be written with it.
    #[must_use]
    pub fn persisted(&self) -> &Persisted<P::Persisted> {
        &self.persisted
    }
}

/// What the other hooks are given. An owned, cheap handle: tasks of a plug may keep one.
pub struct Ctx<P: Plug> {
    pub(crate) common: Arc<Common>,
    pub(crate) inputs: Arc<P::Inputs>,
    pub(crate) state: Arc<P::State>,
    pub(crate) persisted: Persisted<P::Persisted>,
    pub(crate) signal: Signal,
}

impl<P: Plug> Ctx<P> {
    of_common!();

    /// What `on_load` made: one object in all hooks of a run.
    #[must_use]
    pub fn state(&self) -> &P::State {
        &self.state
    }
}

impl<P: Plug> Ctx<P>
where
    P::Persisted: PersistedState,
{
    /// What survives the run. Only a plug that declares it has it.
    #[must_use]
    pub fn persisted(&self) -> &Persisted<P::Persisted> {
        &self.persisted
    }
}

impl<P: Plug> Clone for Ctx<P> {
    fn clone(&self) -> Self {
        Self {
            common: Arc::clone(&self.common),
            inputs: Arc::clone(&self.inputs),
            state: Arc::clone(&self.state),
            persisted: self.persisted.clone(),
            signal: self.signal.clone(),
        }
    }
}

impl<P: Plug> fmt::Debug for Ctx<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Ctx").field(&self.common).finish()
    }
}

impl<P: Plug> fmt::Debug for LoadCtx<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LoadCtx").field(&self.common).finish()
    }
}

/// Nothing of it is read where a plug keeps nothing.
pub(crate) fn declared<P: Plug>() -> bool {
    P::Persisted::DECLARED
}
