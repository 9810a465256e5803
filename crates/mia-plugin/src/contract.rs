//! What a plugin is: the page's `CodingPlugin` in Rust (M-01).

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use mia_api::{
    ConversationId, DispatchOptions, DispatchResult, PluginContext, PluginError, TaskId,
};
use mia_host::Supervisor;

use crate::login::SignIn;
use crate::package::Package;
use crate::permissions::Permissions;
use crate::sessions::Sessions;
use crate::sink::EventSink;
use crate::spawn::environment;
use mia_api::Lack;

/// An adapter to one kind of agent.
///
/// A CLI that prints NDJSON needs none of this: implement [`CliAdapter`](crate::CliAdapter) and
/// wrap it in [`SpawnPlugin`](crate::SpawnPlugin). Everything else (an HTTP API, a library)
/// implements this trait directly.
pub trait CodingPlugin: Send + Sync + fmt::Debug {
    /// The name that people select it by, for example `claude-code`.
    fn name(&self) -> &str;

    /// The version of the plugin, not of the agent.
    fn version(&self) -> &str;

    /// What people expect of an agent and this one can't do, and how they notice. Nothing, unless
    /// a plugin says otherwise.
    fn lacks(&self) -> Vec<Lack> {
        Vec::new()
    }

    /// What the agent does unasked when no permissions are chosen; none where nobody knows.
    fn own_rules(&self) -> Option<String> {
        None
    }

    /// Takes the configuration and what Mia offers to plugins. Called once, before anything else.
    ///
    /// # Errors
    /// When the configuration can't work for this plugin.
    fn initialize(
        &self,
        config: PluginConfig,
        services: Services,
    ) -> BoxFuture<'_, Result<(), PluginError>>;

    /// Answers one prompt.
    ///
    /// Events go to the sink as they happen, the terminal one excepted: the dispatcher makes it
    /// from the value returned, so that the two agree (M-08). The implementation takes its slot
    /// before its first await (M-20).
    ///
    /// Dropping the future ends the dispatch: nothing that it started may live on.
    ///
    /// # Errors
    /// With the reason, once whatever had been started is gone.
    fn dispatch(
        &self,
        dispatch: Dispatch,
        events: EventSink,
    ) -> BoxFuture<'_, Result<DispatchResult, PluginError>>;

    /// True when the program or the API can be reached. Answers within 5 s.
    fn is_available(&self) -> BoxFuture<'_, bool> {
        Box::pin(async {
            let environment = Environment::of_this_process();
            self.probe(&environment).await.problem.is_none()
        })
    }

    /// Where the agent's program is, without running it; none for a plugin that needs no program.
    /// Quick: a few file look-ups.
    ///
    /// # Errors
    /// SPAWN_FAILURE that says what was searched and how to install it.
    fn locate(
        &self,
        _environment: &Environment,
        _cwd: &Path,
    ) -> Result<Option<PathBuf>, PluginError> {
        Ok(None)
    }

    /// What somebody with this environment finds of the agent on this machine. Answers within 5 s.
    fn probe<'a>(&'a self, environment: &'a Environment) -> BoxFuture<'a, Probe>;

    /// Asks that very program for its version, as [`probe`](CodingPlugin::probe) asks the one that
    /// is run, within that time. For `mia plugin install`, before a program becomes that one.
    fn probe_program<'a>(&'a self, _program: &'a Path, _limit: Duration) -> BoxFuture<'a, Probe> {
        Box::pin(async {
            let environment = Environment::of_this_process();
            self.probe(&environment).await
        })
    }

    /// The package that `mia plugin install` installs; none for a plugin whose agent it can't
    /// install, or that has none.
    fn package(&self) -> Option<Package> {
        None
    }

    /// Whether somebody with this environment has signed in to the agent, as far as that can be
    /// seen without asking it; none where nobody needs to. Quick: a few small files are read.
    fn sign_in(&self, _environment: &Environment) -> Option<SignIn> {
        None
    }

    /// The names of the variables that are kept from the agent, for they look like secrets (M-13).
    fn withheld(&self, _environment: &Environment) -> Vec<String> {
        Vec::new()
    }

    /// The agent's session of a conversation, the one used last where there are several. None for
    /// a plugin without sessions.
    ///
    /// # Errors
    /// When the record can't be read.
    fn get_session<'a>(
        &'a self,
        _conversation: &'a ConversationId,
    ) -> BoxFuture<'a, Result<Option<String>, PluginError>> {
        Box::pin(async { Ok(None) })
    }

    /// Forgets the agent's sessions of a conversation. The next turn begins a fresh one.
    ///
    /// # Errors
    /// When the record can't be written.
    fn clear_session<'a>(
        &'a self,
        _conversation: &'a ConversationId,
    ) -> BoxFuture<'a, Result<(), PluginError>> {
        Box::pin(async { Ok(()) })
    }

    /// Ends a running dispatch. Returns when whatever it had started is gone; the dispatch itself
    /// then returns ABORTED. Unknown or ended tasks are left alone (M-24).
    fn abort<'a>(&'a self, task: &'a TaskId) -> BoxFuture<'a, ()>;

    /// How many dispatches run.
    fn running_task_count(&self) -> usize;

    /// Forgets sessions that were not used for that long and returns how many; a store error
    /// removes nothing and returns 0.
    fn cleanup(&self, _max_age: Duration) -> BoxFuture<'_, usize> {
        Box::pin(async { 0 })
    }
}

/// One prompt with all that belongs to it.
#[derive(Clone)]
pub struct Dispatch {
    /// The prompt as the person wrote it.
    pub prompt: String,
    /// What the agent is told about the work at hand.
    pub context: PluginContext,
    /// How it is to be done.
    pub options: DispatchOptions,
    /// The caller's environment.
    pub environment: Environment,
    /// Where questions go.
    pub permissions: Arc<dyn Permissions>,
    /// How many turns the conversation had before.
    pub earlier_turns: u64,
}

impl fmt::Debug for Dispatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dispatch")
            .field("task_id", &self.options.task_id)
            .field("prompt_bytes", &self.prompt.len())
            .finish_non_exhaustive()
    }
}

/// What Mia offers to a plugin.
#[derive(Debug, Clone)]
pub struct Services {
    /// Starts programs, and ends them with all their descendants.
    pub supervisor: Supervisor,
    /// The record of which conversation has which session.
    pub sessions: Arc<dyn Sessions>,
    /// Mia's own environment; a dispatch brings the caller's.
    pub environment: Environment,
    /// The folder of agents that Mia installed, searched after the user's `PATH`.
    pub installed_agents: Option<PathBuf>,
}

/// What the agent inherits of the caller's environment (M-13).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Inherit {
    /// Everything but names that look like secrets.
    #[default]
    AllButSecrets,
    /// Only what every program needs.
    Minimal,
}

/// The settings of one plugin (M-02). Its `Debug` shows no values of `env`.
#[derive(Clone, PartialEq)]
pub struct PluginConfig {
    /// The plugin's name.
    pub name: String,
    /// False hides it.
    pub enabled: bool,
    /// The agent's program; none means it is searched for.
    pub binary: Option<PathBuf>,
    /// The model; none means the agent's default.
    pub model: Option<String>,
    /// How many dispatches may run at once.
    pub max_concurrency: usize,
    /// The limit for a whole dispatch; none is off.
    pub timeout: Option<Duration>,
    /// The limit for silence; none is off.
    pub stall_timeout: Option<Duration>,
    /// The limit for an open tool call or permission; none is off.
    pub tool_timeout: Option<Duration>,
    /// Arguments added to the agent's own.
    pub args: Vec<String>,
    /// Variables set for the agent.
    pub env: BTreeMap<String, String>,
    /// Variables passed on though their names look like secrets.
    pub pass_env: Vec<String>,
    /// What else the agent inherits.
    pub inherit: Inherit,
    /// Where the API is, for plugins that speak HTTP.
    pub api_url: Option<String>,
    /// The longest line of output that is accepted, in bytes (M-15).
    pub max_line: usize,
    /// How much of stderr is kept, in bytes (M-12).
    pub stderr_tail: usize,
    /// True leaves running what the agent left running (M-22).
    pub keep_background: bool,
}

impl PluginConfig {
    /// The defaults for a plugin of that name.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        const MINUTE: u64 = 60;
        Self {
            name: name.into(),
            enabled: true,
            binary: None,
            model: None,
            max_concurrency: 4,
            timeout: Some(Duration::from_secs(240 * MINUTE)),
            stall_timeout: Some(Duration::from_secs(2 * MINUTE)),
            tool_timeout: Some(Duration::from_secs(30 * MINUTE)),
            args: Vec::new(),
            env: BTreeMap::new(),
            pass_env: Vec::new(),
            inherit: Inherit::AllButSecrets,
            api_url: None,
            max_line: 32 * 1024 * 1024,
            stderr_tail: 64 * 1024,
            keep_background: false,
        }
    }
}

impl fmt::Debug for PluginConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PluginConfig")
            .field("name", &self.name)
            .field("enabled", &self.enabled)
            .field("binary", &self.binary)
            .field("model", &self.model)
            .field("max_concurrency", &self.max_concurrency)
            .field("timeout", &self.timeout)
            .field("stall_timeout", &self.stall_timeout)
            .field("tool_timeout", &self.tool_timeout)
            .field("args", &self.args)
            .field("env", &self.env.keys().collect::<Vec<_>>())
            .field("pass_env", &self.pass_env)
            .field("inherit", &self.inherit)
            .field("api_url", &self.api_url)
            .field("max_line", &self.max_line)
            .field("stderr_tail", &self.stderr_tail)
            .field("keep_background", &self.keep_background)
            .finish()
    }
}

/// Variables of a process. Kept in memory only; its `Debug` shows no values.
#[derive(Clone, Default)]
pub struct Environment(Arc<BTreeMap<OsString, OsString>>);

impl Environment {
    /// This process's own.
    #[must_use]
    pub fn of_this_process() -> Self {
        std::env::vars_os().collect()
    }

    /// A variable's value.
    #[must_use]
    pub fn get(&self, name: impl AsRef<OsStr>) -> Option<&OsStr> {
        self.0.get(name.as_ref()).map(OsString::as_os_str)
    }

    /// What another program than an agent gets of it: everything but names that look like secrets
    /// and marks of ours, and whatever these names ask for, exact or prefixes that end in `*`.
    #[must_use]
    pub fn without_secrets(&self, wanted: &[String]) -> Vec<(OsString, OsString)> {
        environment::compose(self, wanted, &PluginConfig::new(""), &[], &BTreeMap::new()).variables
    }

    /// What every program needs of it, and no name that looks like a secret.
    pub fn what_programs_need(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.iter().filter(|(name, _)| environment::is_needed(&name.to_string_lossy()))
    }

    /// All variables, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.0.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }
}

impl<N: Into<OsString>, V: Into<OsString>> FromIterator<(N, V)> for Environment {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(pairs: I) -> Self {
        Self(Arc::new(pairs.into_iter().map(|(n, v)| (n.into(), v.into())).collect()))
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// What is known of an agent on this machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Probe {
    /// Its program, where it has one.
    pub binary: Option<PathBuf>,
    /// Where the program was found: `configured`, `PATH` or `installed by mia`.
    pub found_by: Option<&'static str>,
    /// The version that it tells.
    pub version: Option<String>,
    /// Why it can't be used.
    pub problem: Option<String>,
    /// What to do about it.
    pub hint: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_debug_print_of_the_settings_shows_no_values_of_variables() {
        let mut config = PluginConfig::new("p");
        config.env.insert("LANG".to_owned(), "hunter2".to_owned());
        let shown = format!("{config:?}");
        assert!(shown.contains("LANG") && !shown.contains("hunter2"), "{shown}");
    }
}
