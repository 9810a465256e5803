//! What the commands talk to.

use std::path::Path;
use std::sync::Arc;

use mia_api::{ConversationId, TaskId};
use mia_core::{
    AnswerError, BrokenPlugin, Core, DispatchRequest, Plugins, Refused, RegistryError, TaskEvents,
};
use mia_manifest::ManifestAdapter;
use mia_plugin::{Lack, Probe};
use mia_store::StoreError;
use serde::Serialize;
use tokio::sync::Semaphore;

use crate::setup::Ground;

/// How many agents are asked for their versions at the same time.
const AT_ONCE: usize = 8;

/// A plugin and the agent behind it, as they are now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct PluginStatus {
    /// The name that it is selected by.
    pub(crate) name: String,
    /// The plugin's own version.
    pub(crate) version: String,
    /// True for the one that is asked when none is named.
    pub(crate) active: bool,
    /// False when the configuration disables it.
    pub(crate) enabled: bool,
    /// True when it is enabled, and its agent is there and says its version.
    pub(crate) available: bool,
    /// What its agent says of itself.
    pub(crate) agent_version: Option<String>,
    /// The agent's program.
    pub(crate) binary: Option<String>,
    /// Where the program was found: a setting, a folder, `PATH`.
    pub(crate) found_by: Option<&'static str>,
    /// Why it is not available.
    pub(crate) problem: Option<String>,
    /// What to do about that.
    pub(crate) hint: Option<String>,
    /// What people expect of an agent and this one can't do.
    pub(crate) lacks: Vec<Lack>,
    /// What it does unasked when no permissions are chosen.
    pub(crate) own_rules: Option<String>,
    /// True for a manifest that can't be used.
    #[serde(skip)]
    pub(crate) broken: bool,
}

impl PluginStatus {
    /// That of a plugin whose agent was asked for its version.
    fn of(
        plugins: &Plugins,
        name: &str,
        probe: Probe,
        active: bool,
    ) -> Result<Self, RegistryError> {
        let plugin = plugins.registry().get(name)?;
        let enabled = plugins.is_enabled(name);
        Ok(Self {
            name: name.to_owned(),
            version: plugin.version().to_owned(),
            active,
            enabled,
            // One that is disabled is not looked for.
            available: enabled && probe.problem.is_none(),
            agent_version: probe.version,
            binary: probe.binary.map(|path| path.display().to_string()),
            found_by: probe.found_by,
            problem: probe.problem,
            hint: probe.hint,
            lacks: plugin.lacks(),
            own_rules: plugin.own_rules(),
            broken: false,
        })
    }

    /// That of a manifest that can't be used.
    fn broken(plugin: &BrokenPlugin) -> Self {
        Self {
            name: plugin.name.clone(),
            version: ManifestAdapter::VERSION.to_owned(),
            active: false,
            enabled: true,
            available: false,
            agent_version: None,
            binary: None,
            found_by: None,
            problem: Some(plugin.problem.clone()),
            hint: Some(plugin.hint.clone()),
            lacks: Vec::new(),
            own_rules: None,
            broken: true,
        }
    }
}

/// Looks at agents: no record is needed, and none is made.
impl Ground {
    /// Every plugin by name, with its agent.
    pub(crate) async fn statuses(&self) -> Vec<PluginStatus> {
        let active = self.active();
        let mut statuses = Vec::new();
        for (name, probe) in probe_all(&self.plugins).await {
            let active = active.as_deref() == Some(&name);
            statuses.extend(PluginStatus::of(&self.plugins, &name, probe, active));
        }
        statuses.extend(self.plugins.registry().broken().iter().map(PluginStatus::broken));
        statuses.sort_by(|one, other| one.name.cmp(&other.name));
        statuses
    }

    /// One plugin, its agent asked for its version.
    ///
    /// # Errors
    /// When there is no such plugin.
    pub(crate) async fn plugin(&self, name: &str) -> Result<PluginStatus, RegistryError> {
        match self.plugins.registry().get(name) {
            Err(RegistryError::Broken(broken)) => return Ok(PluginStatus::broken(&broken)),
            found => found?,
        };
        let active = self.active().as_deref() == Some(name);
        let probe = self.plugins.probe(name).await?;
        PluginStatus::of(&self.plugins, name, probe, active)
    }

    /// The plugin that is asked when none is named.
    fn active(&self) -> Option<String> {
        let plugin = self.plugins.choose(None, &self.environment, Path::new("/")).ok()?;
        Some(plugin.name().to_owned())
    }

    /// Ends everything that was started to look.
    pub(crate) async fn close(&self) {
        self.supervisor.shutdown().await;
    }
}

/// Asks the agents of all plugins for their versions, a few at a time: each takes a process and
/// some descriptors.
pub(crate) async fn probe_all(plugins: &Arc<Plugins>) -> Vec<(String, Probe)> {
    let turns = Arc::new(Semaphore::new(AT_ONCE));
    let names = plugins.registry().names().map(str::to_owned);
    let tasks = names.map(|name| {
        let (plugins, turns, asked) = (Arc::clone(plugins), Arc::clone(&turns), name.clone());
        let task = tokio::spawn(async move {
            let _turn = turns.acquire().await;
            plugins.probe(&asked).await
        });
        (name, task)
    });
    let mut probes = Vec::new();
    for (name, task) in tasks.collect::<Vec<_>>() {
        let failed = |problem: String| Probe { problem: Some(problem), ..Probe::default() };
        let probe = match task.await {
            Ok(Ok(probe)) => probe,
            Ok(Err(error)) => failed(error.to_string()),
            Err(_) => failed("it panicked".to_owned()),
        };
        probes.push((name, probe));
    }
    probes
}

/// A door to the core. It has one form so far: the core in this process. With the daemon comes a
/// second one, over its socket; the commands do not see which it is.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    core: Core,
}

impl Client {
    /// The core in this process.
    pub(crate) fn in_process(core: Core) -> Self {
        Self { core }
    }

    /// Hands a prompt over. When this returns, it is on record.
    ///
    /// # Errors
    /// When it was not accepted.
    pub(crate) async fn dispatch(&self, request: DispatchRequest) -> Result<TaskEvents, Refused> {
        self.core.dispatch(request).await
    }

    /// Asks a task to end; its events tell how it did. A second call ends it without patience.
    pub(crate) fn abort(&self, task: &TaskId) {
        self.core.abort(task);
    }

    /// Answers a question of an agent; no option refuses.
    ///
    /// # Errors
    /// When nothing waits for that answer.
    pub(crate) fn answer(
        &self,
        task: &TaskId,
        question: &str,
        option: Option<&str>,
    ) -> Result<(), AnswerError> {
        self.core.permissions().answer(task, question, option)
    }

    /// The conversation that was used last in a folder.
    ///
    /// # Errors
    /// When the record can't be read.
    pub(crate) async fn last_conversation(
        &self,
        cwd: &Path,
    ) -> Result<Option<ConversationId>, StoreError> {
        self.core.last_conversation(cwd).await
    }

    /// Ends everything that this process has started, and returns when it is gone.
    pub(crate) async fn close(&self) {
        self.core.close().await;
    }
}
