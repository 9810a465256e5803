//! The server and the handle that a test holds.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use axum::Router;
use axum::serve::ListenerExt as _;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::gates::Gates;
use super::handler::{Shared, handle};
use super::log::{Journal, Log, Request};
use super::script::Attempts;

/// How long the waits of [`FakeLlm`] wait before they panic.
const PATIENCE: Duration = Duration::from_secs(30);

/// How a server is set up.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The port; 0 for any that is free.
    pub port: u16,
    /// The only key that is let in; any is when not set.
    pub require_key: Option<String>,
    /// Whether the log keeps the bodies of requests.
    pub bodies: bool,
}

/// A running server. It stops, with all its connections, when dropped.
#[derive(Debug)]
pub struct FakeLlm {
    url: String,
    shared: Arc<Shared>,
    /// The server's runtime: its clock is real, whatever the test does with its own.
    clock: Handle,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl FakeLlm {
    /// Starts a server on a free port of 127.0.0.1. It takes connections from now on.
    pub async fn start() -> Self {
        Self::with(Options::default()).expect("a free port on loopback")
    }

    /// Starts a server that is set up otherwise. Needs no runtime.
    ///
    /// # Errors
    /// When the port can't be had.
    pub fn with(options: Options) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.port))?;
        listener.set_nonblocking(true)?;
        let url = format!("http://{}", listener.local_addr()?);
        let shared = Arc::new(Shared {
            options,
            journal: Journal::new(),
            gates: Gates::new(),
            attempts: Mutex::new(Attempts::default()),
        });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let clock = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel::<()>();
        let router = Router::new().fallback(handle).with_state(Arc::clone(&shared));
        let thread = std::thread::Builder::new().name("fakellm".to_owned()).spawn(move || {
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener)
                    .expect("a listener that doesn't block");
                let listener = listener.tap_io(|stream| {
                    // Words go out one by one; without this some would wait for the next.
                    let _ = stream.set_nodelay(true);
                });
                tokio::select! {
                    served = axum::serve(listener, router) => served.expect("serving doesn't end"),
                    _ = stopped => {}
                }
            });
            // Dropping the runtime ends what it still runs: connections, hanging answers.
        })?;
        Ok(Self { url, shared, clock, stop: Some(stop), thread: Some(thread) })
    }

    /// The base address, such as `http://127.0.0.1:40000`.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The newest requests, at most 500, oldest first.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.log().requests
    }

    /// The log as it is now.
    #[must_use]
    pub fn log(&self) -> Log {
        self.shared.journal.snapshot()
    }

    /// Waits until something holds for the log, and returns the log then.
    ///
    /// # Panics
    /// After 30 s of real time, with the log.
    pub async fn wait_for(&self, what: &str, holds: impl Fn(&Log) -> bool) -> Log {
        let mut receiver = self.shared.journal.subscribe();
        let wait = async { receiver.wait_for(|log| holds(log)).await.map(|log| log.clone()) };
        match self.patiently(wait).await {
            Some(log) => log.expect("the server is ours"),
            None => panic!("waited {PATIENCE:?} for {what}; the log is {:#?}", self.log()),
        }
    }

    /// Opens the gate of that name, for good.
    pub fn open(&self, gate: &str) {
        self.shared.gates.open(gate);
    }

    /// Waits until an answer has come to the gate: all that stands before it has been handed to the connection.
    ///
    /// # Panics
    /// After 30 s of real time, with the log.
    pub async fn reached(&self, gate: &str) {
        if self.patiently(self.shared.gates.reached(gate)).await.is_none() {
            panic!(
                "waited {PATIENCE:?} for an answer at the gate {gate}; the log is {:#?}",
                self.log()
            );
        }
    }

    /// What it gives, or nothing when patience ends.
    async fn patiently<T>(&self, wait: impl Future<Output = T>) -> Option<T> {
        // Made inside the task: a sleep belongs to the runtime in which it is made.
        let mut end = self.clock.spawn(async { tokio::time::sleep(PATIENCE).await });
        let result = tokio::select! {
            value = wait => Some(value),
            _ = &mut end => None,
        };
        end.abort();
        result
    }
}

impl Drop for FakeLlm {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // It panicked if this fails, and has said so.
            let _ = thread.join();
        }
    }
}
