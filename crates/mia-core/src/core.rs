//! The core: what every door of Mia opens on.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mia_api::{ConversationId, TaskId};
use mia_config::Config;
use mia_host::Supervisor;
use mia_plugin::{CodingPlugin, Environment, Probe, Services};
use mia_store::{Owner, Store, StoreError};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::breaker::Breaker;
use crate::broker::PermissionBroker;
use crate::plugins::{NoPlugin, Plugins};
use crate::registry::{Registry, RegistryError};
use crate::sessions::StoredSessions;

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
    pub(crate) plugins: Plugins,
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
        let plugins = Plugins::initialize(registry, config, services).await;
        let shared = Shared {
            plugins,
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
        self.shared.plugins.registry()
    }

    /// The configuration.
    #[must_use]
    pub fn config(&self) -> &Config {
        self.shared.plugins.config()
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
        self.shared.plugins.choose(named, environment, cwd)
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
        self.shared.plugins.probe(name).await
    }

    /// True unless the configuration disables the plugin.
    #[must_use]
    pub fn is_enabled(&self, name: &str) -> bool {
        self.shared.plugins.is_enabled(name)
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

impl Shared {
    pub(crate) fn breakers(&self) -> MutexGuard<'_, HashMap<String, Breaker>> {
        self.breakers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn running(&self) -> MutexGuard<'_, HashMap<TaskId, watch::Sender<u32>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
