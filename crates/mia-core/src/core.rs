//! The core: what every door of Mia opens on.

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use mia_api::{ConversationId, PluginStatus, Resting, TaskId};
use mia_config::Config;
use mia_host::Supervisor;
use mia_plugin::{Environment, Services};
use mia_store::{Access, Owner, Store, StoreError};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::breaker::Breaker;
use crate::broker::PermissionBroker;
use crate::every::{AllEvents, Every};
use crate::feed::Feed;
use crate::gate::Gate;
use crate::meter::Meter;
use crate::plugins::Plugins;
use crate::registry::{Registry, RegistryError};
use crate::sessions::StoredSessions;
use crate::status::rest_in_ms;

/// Why the core could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The store can't be used.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What a [`Source`] found changed.
#[derive(Debug)]
pub struct Fresh {
    /// The configuration from now on.
    pub config: Config,
    /// The plugins from now on, not yet initialized; none where their settings are as they were.
    pub registry: Option<Registry>,
}

/// Where configuration and plugins come from when their files change while Mia runs (M-32, M-40).
pub trait Source: Send {
    /// What has changed since the last look; none when nothing has. Quick when nothing has.
    ///
    /// # Errors
    /// With what is wrong; what was in force stays. The same mistake is told once.
    fn refresh(&mut self) -> Result<Option<Fresh>, String>;
}

/// What the core is made of.
pub struct CoreSetup {
    /// The plugins, not yet initialized.
    pub registry: Registry,
    /// The configuration.
    pub config: Config,
    /// Where changes of these two come from; none where they never change.
    pub source: Option<Box<dyn Source>>,
    /// Where everything is recorded. One that was opened to read takes no prompts.
    pub store: Store,
    /// Starts and ends programs.
    pub supervisor: Supervisor,
    /// Mia's own environment.
    pub environment: Environment,
    /// The folder of agents that Mia installed.
    pub installed_agents: Option<PathBuf>,
}

impl fmt::Debug for CoreSetup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CoreSetup").finish_non_exhaustive()
    }
}

/// The core. A cheap handle; all clones are one.
#[derive(Clone)]
pub struct Core {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    plugins: RwLock<Arc<Plugins>>,
    source: tokio::sync::Mutex<Option<Box<dyn Source>>>,
    /// What is wrong with the configuration's files.
    mistake: Mutex<Option<String>>,
    services: Services,
    pub(crate) store: Store,
    /// None when the store was opened to read.
    pub(crate) owner: Option<Owner>,
    pub(crate) broker: PermissionBroker,
    pub(crate) running: watch::Sender<HashMap<TaskId, Running>>,
    pub(crate) every: Arc<Every>,
    pub(crate) gate: Gate,
    pub(crate) meter: Meter,
    pub(crate) stopping: watch::Sender<Stopping>,
    breakers: Mutex<HashMap<String, Breaker>>,
    supervisor: Supervisor,
}

/// Whether Mia is about to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum Stopping {
    /// It is not.
    #[default]
    No,
    /// It takes no prompts any more.
    Waits,
    /// What runs is interrupted.
    Now,
}

/// A task of this process that has not ended, or whose end is not on record yet.
#[derive(Debug, Clone)]
pub(crate) struct Running {
    pub(crate) conversation: ConversationId,
    /// How often somebody has asked for its end.
    pub(crate) abort: watch::Sender<u32>,
    pub(crate) feed: Arc<Feed>,
    /// How many clients answer its questions.
    pub(crate) attending: Arc<AtomicUsize>,
    /// True once the plugin is asked.
    pub(crate) begun: bool,
    /// Tells another prompt with the same id from the same one again.
    pub(crate) content: u64,
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
        let CoreSetup {
            registry,
            config,
            source,
            store,
            supervisor,
            environment,
            installed_agents,
        } = setup;
        let owner = match store.access() {
            Access::Write => {
                let owner = store.owner()?;
                store.recover().await?;
                Some(owner)
            }
            Access::Read | Access::Look => None,
        };
        let services = Services {
            supervisor: supervisor.clone(),
            sessions: Arc::new(StoredSessions { store: store.clone() }),
            environment,
            installed_agents,
        };
        let gate = Gate::new(config.limits.concurrent);
        let plugins = Plugins::initialize(registry, config, services.clone()).await;
        let shared = Shared {
            plugins: RwLock::new(Arc::new(plugins)),
            source: tokio::sync::Mutex::new(source),
            mistake: Mutex::default(),
            services,
            store,
            owner,
            broker: PermissionBroker::default(),
            running: watch::Sender::default(),
            every: Arc::new(Every::new()),
            gate,
            meter: Meter::new(),
            stopping: watch::Sender::default(),
            breakers: Mutex::default(),
            supervisor,
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// The plugins and the configuration in force.
    #[must_use]
    pub fn plugins(&self) -> Arc<Plugins> {
        self.shared.plugins()
    }

    /// Looks whether the configuration has changed, and puts it in force for what comes (M-32). Tasks
    /// that run are not touched. Costs a few file look-ups when nothing has changed.
    pub async fn refresh(&self) {
        self.shared.refresh().await;
    }

    /// What is wrong with the configuration's files, if something is; the last good configuration is
    /// in force then (M-40).
    #[must_use]
    pub fn mistake(&self) -> Option<String> {
        self.shared.mistake.lock().unwrap_or_else(PoisonError::into_inner).clone()
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

    /// Counts of what happens, for a monitoring system.
    #[must_use]
    pub fn meter(&self) -> &Meter {
        &self.shared.meter
    }

    /// How long a plugin is left alone after failures in a row; none while it is asked (M-36).
    #[must_use]
    pub fn breaker(&self, name: &str) -> Option<Duration> {
        self.shared.breakers().get(name)?.left(Instant::now())
    }

    /// All that are left alone now, by name (M-36).
    #[must_use]
    pub fn resting(&self) -> Vec<Resting> {
        let now = Instant::now();
        let breakers = self.shared.breakers();
        let rests = breakers.iter().filter_map(|(name, breaker)| {
            Some(Resting { plugin: name.clone(), left_ms: rest_in_ms(breaker.left(now)?) })
        });
        let mut resting: Vec<_> = rests.collect();
        resting.sort_by(|one, other| one.plugin.cmp(&other.plugin));
        resting
    }

    /// Every plugin by name, with the agent that somebody with this environment finds.
    pub async fn statuses(&self, environment: &Environment) -> Vec<PluginStatus> {
        self.refresh().await;
        let mut statuses = self.plugins().statuses(environment).await;
        for status in &mut statuses {
            status.resting_ms = self.breaker(&status.name).map(rest_in_ms);
        }
        statuses
    }

    /// One plugin, its agent asked for its version.
    ///
    /// # Errors
    /// When there is no such plugin.
    pub async fn status(
        &self,
        name: &str,
        environment: &Environment,
    ) -> Result<PluginStatus, RegistryError> {
        self.refresh().await;
        let mut status = self.plugins().status(name, environment).await?;
        status.resting_ms = self.breaker(name).map(rest_in_ms);
        Ok(status)
    }

    /// The events of all tasks from now on.
    #[must_use]
    pub fn all_events(&self) -> AllEvents {
        self.shared.every.watch()
    }

    /// Asks a task to end. Returns at once; the task's events tell how it ended. A second call ends
    /// it without patience. Unknown and ended tasks are left alone (M-24): false.
    pub fn abort(&self, task: &TaskId) -> bool {
        let running = self.shared.running.borrow();
        let Some(task) = running.get(task) else { return false };
        task.abort.send_modify(|times| *times = times.saturating_add(1));
        true
    }

    /// Asks all tasks to end, those that have not begun first, so that none of them begins because
    /// another one ends (M-37). Says which.
    pub fn abort_all(&self) -> Vec<TaskId> {
        let running = self.shared.running.borrow();
        let mut tasks: Vec<_> = running.iter().collect();
        tasks.sort_by_key(|(id, task)| (task.begun, *id));
        for (_, task) in &tasks {
            task.abort.send_modify(|times| *times = times.saturating_add(1));
        }
        tasks.into_iter().map(|(id, _)| id.clone()).collect()
    }

    /// How many tasks of this process have not ended.
    #[must_use]
    pub fn unfinished(&self) -> usize {
        self.shared.running.borrow().len()
    }

    /// How many tasks of this process are at work, and how many wait.
    #[must_use]
    pub fn at_work(&self) -> (usize, usize) {
        let running = self.shared.running.borrow();
        let begun = running.values().filter(|task| task.begun).count();
        (begun, running.len() - begun)
    }

    /// Takes no prompts from now on. What was accepted is answered.
    pub fn stop_accepting(&self) {
        self.shared.stopping.send_modify(|stopping| *stopping = (*stopping).max(Stopping::Waits));
    }

    /// True once no prompts are taken any more.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        *self.shared.stopping.borrow() > Stopping::No
    }

    /// Interrupts whatever waits or runs: each task ends as `ABORTED`, cause `interrupted`, its text
    /// kept (M-39). Takes no prompts from now on.
    pub fn interrupt(&self) {
        self.shared.stopping.send_replace(Stopping::Now);
        self.abort_all();
    }

    /// Ready when no task of this process is left and all ends are on record, or can't be put there.
    pub async fn idle(&self) {
        let mut running = self.shared.running.subscribe();
        // The sender lives as long as this does.
        let _ = running.wait_for(HashMap::is_empty).await;
    }

    /// Ends everything that runs and closes the store. Returns when all of it is gone.
    pub async fn close(&self) {
        self.shared.supervisor.shutdown().await;
        self.shared.every.close();
        self.shared.store.close().await;
    }
}

impl Shared {
    /// A task's plugin is asked from now on.
    pub(crate) fn begins(&self, task: &TaskId) {
        self.running.send_modify(|all| {
            if let Some(running) = all.get_mut(task) {
                running.begun = true;
            }
        });
    }

    /// A task has ended, and its end is on record.
    pub(crate) fn leaves(&self, task: &TaskId) {
        self.running.send_modify(|all| {
            all.remove(task);
        });
    }

    pub(crate) fn plugins(&self) -> Arc<Plugins> {
        Arc::clone(&self.plugins.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn breakers(&self) -> MutexGuard<'_, HashMap<String, Breaker>> {
        self.breakers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) async fn refresh(&self) {
        // One after the other: who comes second finds it done.
        let mut source = self.source.lock().await;
        let Some(source) = source.as_mut() else { return };
        let fresh = match source.refresh() {
            Ok(None) => return,
            Ok(Some(fresh)) => fresh,
            Err(mistake) => {
                *self.mistake.lock().unwrap_or_else(PoisonError::into_inner) = Some(mistake);
                return;
            }
        };
        self.gate.resize(fresh.config.limits.concurrent);
        let plugins = match fresh.registry {
            Some(registry) => {
                // Another program may be well where the one before was not.
                self.breakers().clear();
                Plugins::initialize(registry, fresh.config, self.services.clone()).await
            }
            None => self.plugins().under(fresh.config),
        };
        *self.plugins.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(plugins);
        *self.mistake.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}
