//! What the commands talk to.

use std::path::Path;
use std::sync::Arc;

use mia_api::{ConversationId, TaskId};
use mia_core::{
    AnswerError, BrokenPlugin, Core, DispatchRequest, Refused, RegistryError, TaskEvents,
};
use mia_manifest::ManifestAdapter;
use mia_plugin::{CodingPlugin, Environment, Lack};
use mia_store::StoreError;
use serde::Serialize;

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

    /// Every plugin by name, each agent asked for its version at the same time.
    pub(crate) async fn plugins(&self) -> Vec<PluginStatus> {
        let active = self.active();
        let plugins = self.core.registry().iter().map(|(name, plugin)| {
            let (client, name, plugin) = (self.clone(), name.to_owned(), Arc::clone(plugin));
            let active = active.as_deref() == Some(&name);
            tokio::spawn(async move { client.status(&name, plugin.as_ref(), active).await })
        });
        let mut statuses = Vec::new();
        for status in plugins.collect::<Vec<_>>() {
            // A plugin that panics is left out.
            statuses.extend(status.await.ok().and_then(Result::ok));
        }
        statuses.extend(self.core.registry().broken().iter().map(PluginStatus::broken));
        statuses.sort_by(|one, other| one.name.cmp(&other.name));
        statuses
    }

    /// One plugin, its agent asked for its version.
    ///
    /// # Errors
    /// When there is no such plugin.
    pub(crate) async fn plugin(&self, name: &str) -> Result<PluginStatus, RegistryError> {
        let plugin = match self.core.registry().get(name) {
            Err(RegistryError::Broken(broken)) => return Ok(PluginStatus::broken(&broken)),
            found => found?,
        };
        let active = self.active().as_deref() == Some(name);
        self.status(name, plugin.as_ref(), active).await
    }

    async fn status(
        &self,
        name: &str,
        plugin: &dyn CodingPlugin,
        active: bool,
    ) -> Result<PluginStatus, RegistryError> {
        let probe = self.core.probe(name).await?;
        let enabled = self.core.is_enabled(name);
        Ok(PluginStatus {
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

    /// The plugin that is asked when none is named.
    fn active(&self) -> Option<String> {
        let environment = Environment::of_this_process();
        let plugin = self.core.choose(None, &environment, Path::new("/")).ok()?;
        Some(plugin.name().to_owned())
    }

    /// Ends everything that this process has started, and returns when it is gone.
    pub(crate) async fn close(&self) {
        self.core.close().await;
    }
}
