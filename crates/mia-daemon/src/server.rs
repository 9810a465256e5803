//! What all requests share: the core, and how the daemon is.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
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
    core: RwLock<Core>,
    read_only: RwLock<Option<String>>,
    places: Places,
    environment: Environment,
    since: Instant,
    /// True once somebody has asked for the end.
    ending: watch::Sender<bool>,
    /// True when connections are to close.
    closing: watch::Sender<bool>,
}

impl Server {
    /// A server for that core. `environment` is the daemon's own, for callers who send none.
    #[must_use]
    pub fn new(core: Core, places: Places, environment: Environment) -> Self {
        let shared = Shared {
            core: RwLock::new(core),
            read_only: RwLock::default(),
            places,
            environment,
            since: Instant::now(),
            ending: watch::Sender::default(),
            closing: watch::Sender::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// The core.
    #[must_use]
    pub fn core(&self) -> Core {
        self.shared.core.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Puts a core that can write in place of the one that could only read, which is given back.
    #[must_use]
    pub fn replace(&self, core: Core) -> Core {
        self.read_only_for(None);
        let mut now = self.shared.core.write().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut now, core)
    }

    /// Notes why nothing can be put on record.
    pub fn read_only_for(&self, why: Option<String>) {
        *self.shared.read_only.write().unwrap_or_else(PoisonError::into_inner) = why;
    }

    /// Why nothing can be put on record.
    #[must_use]
    pub fn read_only(&self) -> Option<String> {
        self.shared.read_only.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn places(&self) -> &Places {
        &self.shared.places
    }

    /// Asks for the end.
    pub fn end(&self, how: End) {
        let core = self.core();
        match how {
            End::Patient => core.stop_accepting(),
            End::Now => core.interrupt(),
        }
        self.shared.ending.send_replace(true);
    }

    /// Ready once somebody has asked for the end.
    pub async fn asked_to_end(&self) {
        let mut ending = self.shared.ending.subscribe();
        // The sender lives as long as this.
        let _ = ending.wait_for(|ending| *ending).await;
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

    /// How the daemon is.
    pub(crate) async fn status(&self) -> Result<DaemonStatus, StoreError> {
        let core = self.core();
        Ok(DaemonStatus {
            pid: std::process::id(),
            version: VERSION.to_owned(),
            socket: self.shared.places.socket.clone().into(),
            uptime_ms: u64::try_from(self.shared.since.elapsed().as_millis()).unwrap_or(u64::MAX),
            stopping: core.is_stopping(),
            read_only: self.read_only(),
            configuration: core.mistake(),
            tasks: self.unfinished().await?,
        })
    }
}

/// Ready once that is so, or nobody is left who could say so.
pub(crate) async fn is_true(said: &mut watch::Receiver<bool>) {
    let _ = said.wait_for(|so| *so).await;
}

/// How many characters of a prompt are shown of what waits and runs.
const PROMPT: u32 = 4096;

/// The version of this Mia.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
