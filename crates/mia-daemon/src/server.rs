//! What all requests share: the core, and how the daemon is.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Instant;

use mia_api::{DaemonStatus, EnvVar};
use mia_core::Core;
use mia_plugin::Environment;
use mia_store::{Filter, StoreError};
use tokio::sync::watch;

/// How the daemon is asked to end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// It is not.
    #[default]
    No,
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
    /// The socket; none for a core that is asked in its own process.
    pub socket: Option<PathBuf>,
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
    end: watch::Sender<End>,
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
            end: watch::Sender::default(),
            closing: watch::Sender::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// The core.
    #[must_use]
    pub fn core(&self) -> Core {
        self.shared.core.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Puts another core in place of the one that could only read, and says why this one can't write
    /// either, if so.
    pub fn replace(&self, core: Core, read_only: Option<String>) {
        *self.shared.core.write().unwrap_or_else(PoisonError::into_inner) = core;
        self.read_only_for(read_only);
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

    /// Asks for the end. A stronger wish stays.
    pub fn end(&self, how: End) {
        let core = self.core();
        match how {
            End::No => return,
            End::Patient => core.stop_accepting(),
            End::Now => core.interrupt(),
        }
        self.shared.end.send_modify(|end| *end = (*end).max(how));
    }

    /// Ready once somebody has asked for the end.
    pub async fn asked_to_end(&self) -> End {
        let mut end = self.shared.end.subscribe();
        // The sender lives as long as this.
        end.wait_for(|end| *end > End::No).await.map_or(End::Patient, |end| *end)
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

    /// Ready once streams are to end.
    pub(crate) async fn closing(&self) {
        let mut closing = self.shared.closing.subscribe();
        let _ = closing.wait_for(|closing| *closing).await;
    }

    /// The environment that a caller sent, or the daemon's own.
    pub(crate) fn environment(&self, sent: Option<Vec<EnvVar>>) -> Environment {
        match sent {
            Some(sent) => sent.into_iter().map(|var| (var.name.0, var.value.0)).collect(),
            None => self.shared.environment.clone(),
        }
    }

    /// How the daemon is.
    pub(crate) async fn status(&self) -> Result<DaemonStatus, StoreError> {
        let core = self.core();
        let unfinished = Filter {
            unfinished: true,
            limit: 10_000,
            prompt_chars: Some(PROMPT),
            ..Filter::default()
        };
        let socket = self.shared.places.socket.clone().unwrap_or_default();
        Ok(DaemonStatus {
            pid: std::process::id(),
            version: VERSION.to_owned(),
            socket: socket.into(),
            uptime_ms: u64::try_from(self.shared.since.elapsed().as_millis()).unwrap_or(u64::MAX),
            stopping: core.is_stopping(),
            read_only: self.read_only(),
            configuration: core.mistake(),
            tasks: core.store().recent(&unfinished).await?,
        })
    }
}

/// How many characters of a prompt a list of tasks shows, unless it is asked for all.
pub(crate) const PROMPT: u32 = 4096;

/// The version of this Mia.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
