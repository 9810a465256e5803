//! The core: what every door of Mia opens on.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mia_api::{ConversationId, ErrorCode, PluginError, TaskId};
use mia_config::Config;
use mia_host::Supervisor;
use mia_plugin::{CodingPlugin, Environment, Probe, Services};
use mia_store::{Owner, Store, StoreError};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::breaker::Breaker;
use crate::broker::PermissionBroker;
use crate::registry::{Registry, RegistryError};
use crate::sessions::StoredSessions;
use crate::settings::plugin_config;

/// The order in which an agent is looked for when none is chosen.
const PREFERENCE: [&str; 5] = ["claude-code", "codex", "gemini", "opencode", "qwen"];

/// How long a plugin may take to get ready, or to tell of its agent.
const PATIENCE: Duration = Duration::from_secs(5);

/// Why the core could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The store can't be used.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What the core is made of.
#[derive(Debug)]
pub struct CoreSetup {
    /// The plugins, not yet initialized.
    pub registry: Registry,
    /// The configuration.
    pub config: Config,
    /// Where everything is recorded.
    pub store: Store,
    /// Starts and ends programs.
    pub supervisor: Supervisor,
    /// Mia's own environment.
    pub environment: Environment,
    /// The folder of agents that Mia installed.
    pub installed_agents: Option<PathBuf>,
}

/// The core. A cheap handle; all clones are one.
#[derive(Clone)]
pub struct Core {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) registry: Registry,
    /// Plugins that refused to be initialized.
    refusing: BTreeMap<String, PluginError>,
    pub(crate) config: Config,
    pub(crate) store: Store,
    pub(crate) owner: Owner,
    pub(crate) broker: PermissionBroker,
    pub(crate) running: Mutex<HashMap<TaskId, watch::Sender<u32>>>,
    breakers: Mutex<HashMap<String, Breaker>>,
    supervisor: Supervisor,
}

impl fmt::Debug for Core {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Core").finish_non_exhaustive()
    }
}

/// Why there is no plugin to ask.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum NoPlugin {
    /// The chosen one can't be used.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// It refuses its configuration.
    #[error("the plugin {} can't be used: {}", .0.plugin_name, .0.message)]
    Refuses(Box<PluginError>),
    /// None was chosen and no agent is installed.
    #[error("no coding agent is installed")]
    NoneInstalled {
        /// Each agent that was looked for, with how to install it.
        known: Vec<(String, String)>,
    },
}

impl Core {
    /// Opens the core: initializes the plugins, and ends what dead processes left unfinished
    /// (M-39).
    ///
    /// # Errors
    /// When the store can't be used. A plugin that refuses its configuration is an error only for
    /// those who ask it.
    pub async fn open(setup: CoreSetup) -> Result<Self, OpenError> {
        let CoreSetup { registry, config, store, supervisor, environment, installed_agents } =
            setup;
        let owner = store.owner()?;
        store.recover().await?;
        let services = Services {
            supervisor: supervisor.clone(),
            sessions: Arc::new(StoredSessions { store: store.clone() }),
            environment,
            installed_agents,
        };
        let mut refusing = BTreeMap::new();
        for (name, plugin) in registry.iter() {
            let config = plugin_config(&config, name);
            if !config.enabled {
                continue;
            }
            // One that can't be used must not take the others with it.
            let ready = tokio::time::timeout(PATIENCE, plugin.initialize(config, services.clone()));
            let refused = match ready.await {
                Ok(Ok(())) => continue,
                Ok(Err(error)) => error,
                Err(_) => PluginError::new(ErrorCode::Unknown, name, "it did not get ready in 5 s"),
            };
            refusing.insert(name.to_owned(), refused);
        }
        let shared = Shared {
            registry,
            refusing,
            config,
            store,
            owner,
            broker: PermissionBroker::default(),
            running: Mutex::default(),
            breakers: Mutex::default(),
            supervisor,
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// The plugins.
    #[must_use]
    pub fn registry(&self) -> &Registry {
        &self.shared.registry
    }

    /// The configuration.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.shared.config
    }

    /// The record.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.shared.store
    }

    /// Where questions and answers meet.
    #[must_use]
    pub fn permissions(&self) -> &PermissionBroker {
        &self.shared.broker
    }

    /// The plugin that answers: the named one, else the active one, else the first installed.
    ///
    /// # Errors
    /// When that one does not exist or is disabled, or nothing is installed.
    pub fn choose(
        &self,
        named: Option<&str>,
        environment: &Environment,
        cwd: &Path,
    ) -> Result<&Arc<dyn CodingPlugin>, NoPlugin> {
        let registry = &self.shared.registry;
        if let Some(name) = named.or(self.shared.config.active_plugin.as_deref()) {
            let plugin = registry.get(name)?;
            if !self.is_enabled(name) {
                let enabled =
                    registry.names().filter(|n| self.is_enabled(n)).map(str::to_owned).collect();
                return Err(RegistryError::Disabled { name: name.to_owned(), enabled }.into());
            }
            return match self.shared.refusing.get(name) {
                Some(error) => Err(NoPlugin::Refuses(Box::new(error.clone()))),
                None => Ok(plugin),
            };
        }
        let own = registry.names().filter(|name| !PREFERENCE.contains(name));
        let mut known = Vec::new();
        for name in PREFERENCE.into_iter().chain(own) {
            let usable = self.is_enabled(name) && !self.shared.refusing.contains_key(name);
            let Some(plugin) = registry.get(name).ok().filter(|_| usable) else { continue };
            match plugin.locate(environment, cwd) {
                Ok(Some(_)) => return Ok(plugin),
                // Without a program of its own it is asked only when it is named.
                Ok(None) => {}
                Err(error) => known.push((name.to_owned(), error.hint.unwrap_or(error.message))),
            }
        }
        Err(NoPlugin::NoneInstalled { known })
    }

    /// The plugins to ask, in order: the one that [`Core::choose`] gives and, where it was not
    /// named or `fallback` asks for it, those of `fallback.plugins` in the configuration, less
    /// unknown and disabled ones (M-31).
    ///
    /// # Errors
    /// When there is none at all.
    pub(crate) fn candidates(
        &self,
        named: Option<&str>,
        fallback: Option<bool>,
        environment: &Environment,
        cwd: &Path,
    ) -> Result<Vec<Candidate>, NoPlugin> {
        let mut candidates = Vec::new();
        let first = self.choose(named, environment, cwd);
        let mut taken: Vec<String> = Vec::new();
        match &first {
            Ok(plugin) => {
                taken.push(plugin.name().to_owned());
                candidates.push(Candidate { plugin: Arc::clone(plugin), refuses: None });
            }
            // It can be told with the others that fail.
            Err(NoPlugin::Refuses(error)) => {
                taken.push(error.plugin_name.clone());
                if let Ok(plugin) = self.shared.registry.get(&error.plugin_name) {
                    let (plugin, refuses) = (Arc::clone(plugin), Some(error.clone()));
                    candidates.push(Candidate { plugin, refuses });
                }
            }
            Err(_) => {}
        }
        if fallback.unwrap_or(named.is_none()) {
            for name in &self.shared.config.fallback.plugins {
                let usable = self.is_enabled(name)
                    && !self.shared.refusing.contains_key(name)
                    && !taken.contains(name);
                let Some(plugin) = self.shared.registry.get(name).ok().filter(|_| usable) else {
                    continue;
                };
                taken.push(name.clone());
                candidates.push(Candidate { plugin: Arc::clone(plugin), refuses: None });
            }
        }
        match first {
            Err(error) if candidates.iter().all(|candidate| candidate.refuses.is_some()) => {
                Err(error)
            }
            _ => Ok(candidates),
        }
    }

    /// How long a plugin is left alone after failures in a row; none while it is asked (M-36).
    #[must_use]
    pub fn breaker(&self, name: &str) -> Option<Duration> {
        self.shared.breakers().get(name)?.left(Instant::now())
    }

    /// What is known of a plugin's agent on this machine. Answers within 5 s.
    ///
    /// # Errors
    /// When there is no such plugin.
    pub async fn probe(&self, name: &str) -> Result<Probe, RegistryError> {
        let plugin = self.shared.registry.get(name)?;
        if !self.is_enabled(name) {
            return Ok(Probe::default());
        }
        if let Some(error) = self.shared.refusing.get(name) {
            let problem = Some(error.message.clone());
            return Ok(Probe { problem, hint: error.hint.clone(), ..Probe::default() });
        }
        let probe = tokio::time::timeout(PATIENCE, plugin.probe()).await;
        Ok(probe.unwrap_or_else(|_| Probe {
            problem: Some("it did not tell of itself in 5 s".to_owned()),
            ..Probe::default()
        }))
    }

    /// True unless the configuration disables the plugin.
    #[must_use]
    pub fn is_enabled(&self, name: &str) -> bool {
        self.shared.config.plugin(name).enabled
    }

    /// The conversation that was used last in that folder.
    ///
    /// # Errors
    /// When the record can't be read.
    pub async fn last_conversation(
        &self,
        cwd: &Path,
    ) -> Result<Option<ConversationId>, StoreError> {
        self.shared.store.last_conversation(Some(cwd)).await
    }

    /// Asks a task to end. Returns at once; the task's events tell how it ended. A second call ends
    /// it without patience. Unknown and ended tasks are left alone (M-24).
    pub fn abort(&self, task: &TaskId) {
        if let Some(asked) = self.shared.running().get(task) {
            asked.send_modify(|times| *times = times.saturating_add(1));
        }
    }

    /// Ends everything that runs and closes the store. Returns when all of it is gone.
    pub async fn close(&self) {
        self.shared.supervisor.shutdown().await;
        self.shared.store.close().await;
    }
}

/// A plugin that may be asked.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    pub(crate) plugin: Arc<dyn CodingPlugin>,
    /// Why it refuses its configuration.
    pub(crate) refuses: Option<Box<PluginError>>,
}

impl Shared {
    pub(crate) fn breakers(&self) -> MutexGuard<'_, HashMap<String, Breaker>> {
        self.breakers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn running(&self) -> MutexGuard<'_, HashMap<TaskId, watch::Sender<u32>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
