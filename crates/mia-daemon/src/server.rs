//! What all requests share: the core, and how the daemon is.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Instant;

use mia_api::{DaemonStatus, EnvVar, TaskSummary};
use mia_core::Core;
use mia_plugin::Environment;
use mia_store::{Filter, StoreError};
use tokio::sync::watch;

/// How the daemon is asked to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Once what was accepted is answered.
    Patient,
    /// At once; what runs is interrupted (M-39).
    Now,
}

/// Where the daemon's files are, as far as requests need them.
#[derive(Debug, Clone, Default)]
pub struct Places {
    /// The configuration that a switch changes.
    pub config_file: PathBuf,
    /// The folder in which tests get an empty folder.
    pub runs_dir: PathBuf,
    /// The daemon's socket.
    pub socket: PathBuf,
}

/// What all requests share. A cheap handle; all clones are one.
#[derive(Debug, Clone)]
pub struct Server {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    now: RwLock<Now>,
    places: Places,
    environment: Environment,
    since: Instant,
    /// How somebody has asked for the end.
    ending: watch::Sender<Option<End>>,
    /// True when connections are to close.
    closing: watch::Sender<bool>,
}

/// What may change while the daemon runs.
#[derive(Debug)]
struct Now {
    core: Core,
    /// Why nothing can be put on record.
    read_only: Option<String>,
}

impl Now {
    fn end(&self, how: End) {
        match how {
            End::Patient => self.core.stop_accepting(),
            End::Now => self.core.interrupt(),
        }
    }
}

impl Server {
    /// A server for that core. `environment` is the daemon's own, for callers who send none.
    #[must_use]
    pub fn new(core: Core, places: Places, environment: Environment) -> Self {
        let shared = Shared {
            now: RwLock::new(Now { core, read_only: None }),
            places,
            environment,
            since: Instant::now(),
            ending: watch::Sender::default(),
            closing: watch::Sender::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    fn now(&self) -> RwLockReadGuard<'_, Now> {
        self.shared.now.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn now_mut(&self) -> RwLockWriteGuard<'_, Now> {
        self.shared.now.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The core.
    #[must_use]
    pub fn core(&self) -> Core {
        self.now().core.clone()
    }

    /// Puts a core that can write in place of the one that could only read, which is given back. Where
    /// the end was asked for, this one takes no prompts either.
    #[must_use]
    pub fn replace(&self, core: Core) -> Core {
        let mut now = self.now_mut();
        let before = std::mem::replace(&mut *now, Now { core, read_only: None });
        if let Some(how) = *self.shared.ending.borrow() {
            now.end(how);
        }
        before.core
    }

    /// Notes why nothing can be put on record.
    pub fn read_only_for(&self, why: Option<String>) {
        self.now_mut().read_only = why;
    }

    /// Why nothing can be put on record.
    #[must_use]
    pub fn read_only(&self) -> Option<String> {
        self.now().read_only.clone()
    }

    pub(crate) fn places(&self) -> &Places {
        &self.shared.places
    }

    /// Asks for the end.
    pub fn end(&self, how: End) {
        // Nobody puts another core in its place meanwhile.
        let now = self.now_mut();
        self.shared.ending.send_replace(Some(how));
        now.end(how);
    }

    /// True once somebody has asked for the end.
    #[must_use]
    pub fn is_ending(&self) -> bool {
        self.shared.ending.borrow().is_some()
    }

    /// Ready once somebody has asked for the end.
    pub async fn asked_to_end(&self) {
        let mut ending = self.shared.ending.subscribe();
        // The sender lives as long as this.
        let _ = ending.wait_for(Option::is_some).await;
    }

    /// Ends all streams.
    pub fn close_streams(&self) {
        self.shared.closing.send_replace(true);
    }

    /// Says when connections are to close.
    #[must_use]
    pub fn closes(&self) -> watch::Receiver<bool> {
        self.shared.closing.subscribe()
    }

    /// The environment that a caller sent, or the daemon's own.
    pub(crate) fn environment(&self, sent: Option<Vec<EnvVar>>) -> Environment {
        match sent {
            Some(sent) => sent.into_iter().map(|var| (var.name.0, var.value.0)).collect(),
            None => self.shared.environment.clone(),
        }
    }

    /// What waits and runs, the newest first.
    pub(crate) async fn unfinished(&self) -> Result<Vec<TaskSummary>, StoreError> {
        let unfinished = Filter {
            unfinished: true,
            limit: 10_000,
            prompt_chars: Some(PROMPT),
            ..Filter::default()
        };
        self.core().store().recent(&unfinished).await
    }

    /// How the daemon is. That it can't read what waits and runs is one thing more to tell.
    pub(crate) async fn status(&self) -> DaemonStatus {
        let core = self.core();
        let (tasks, unreadable) = match self.unfinished().await {
            Ok(tasks) => (tasks, None),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        DaemonStatus {
            pid: std::process::id(),
            version: VERSION.to_owned(),
            socket: self.shared.places.socket.clone().into(),
            uptime_ms: u64::try_from(self.shared.since.elapsed().as_millis()).unwrap_or(u64::MAX),
            stopping: core.is_stopping(),
            read_only: self.read_only().or(unreadable),
            configuration: core.mistake(),
            resting: core.resting(),
            tasks,
        }
    }
}

/// Ready once that is so, or nobody is left who could say so.
pub(crate) async fn is_true(said: &mut watch::Receiver<bool>) {
    let _ = said.wait_for(|so| *so).await;
}

/// How many characters of a prompt are shown of what waits and runs.
const PROMPT: u32 = 400;

/// The version of this Mia.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
