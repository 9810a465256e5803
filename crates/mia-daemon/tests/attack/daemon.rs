//! A daemon of a test, what it says, and raw connections to it.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once, PoisonError};
use std::time::Duration;

use mia_api::{ConversationId, DispatchBody, DispatchOptions, Problem};
use mia_config::Config;
use mia_core::{Core, CoreSetup, Registry};
use mia_daemon::{Connection, Limits, Places, Server, Socket, router, serve};
use mia_host::{Supervisor, SupervisorProgram};
use mia_plugin::Environment;
use mia_store::{OpenOptions, Store};
use mia_testkit as _;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::described::as_described;

/// How long anything may take that is to happen.
pub(crate) const SOON: Duration = Duration::from_secs(30);
/// For limits that are to be reached.
pub(crate) const SHORT: Duration = Duration::from_millis(200);

static SAID: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// Everything that is logged in this process, down to the finest level.
pub(crate) fn said() -> String {
    String::from_utf8_lossy(&SAID.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
}

struct Said;

impl io::Write for Said {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        SAID.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn listen_to_what_is_said() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        tracing_subscriber::fmt()
            .with_max_level(tracing::Level::TRACE)
            .with_ansi(false)
            .with_writer(|| Said)
            .init();
    });
}

/// A daemon that has the built-in plugins and no agent.
pub(crate) struct Daemon {
    folder: TempDir,
    server: Server,
    serving: JoinHandle<()>,
    _socket: Socket,
}

impl Daemon {
    pub(crate) async fn start() -> Self {
        Self::with(Limits::default()).await
    }

    pub(crate) async fn with(limits: Limits) -> Self {
        listen_to_what_is_said();
        let folder = TempDir::new().unwrap();
        let home = folder.path().join("mia");
        fs::create_dir(&home).unwrap();
        fs::set_permissions(&home, fs::Permissions::from_mode(0o700)).unwrap();
        let mut registry = Registry::new();
        for plugin in mia_agents::built_in() {
            let name = plugin.name().to_owned();
            registry.register_shared(&name, plugin).unwrap();
        }
        let core = Core::open(CoreSetup {
            registry,
            config: Config::default(),
            source: None,
            store: Store::open(home.join("mia.db"), OpenOptions::default()).await.unwrap(),
            supervisor: Supervisor::new(SupervisorProgram::default()),
            environment: Environment::default(),
            installed_agents: None,
        })
        .await
        .unwrap();
        let places = Places { runs_dir: home.join("runs"), ..Places::default() };
        let server = Server::new(core, places, Environment::default());
        let (socket, listener) = Socket::bind(&home.join("daemon.sock")).unwrap();
        let api = as_described(router(server.clone()));
        let serving = tokio::spawn(serve(listener, api, server.closes(), limits));
        Self { folder, server, serving, _socket: socket }
    }

    /// The folder around all that it has.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.folder().join("mia/daemon.sock")
    }

    pub(crate) fn client(&self) -> Connection {
        Connection::over(self.socket())
    }

    pub(crate) async fn raw(&self) -> UnixStream {
        loop {
            match UnixStream::connect(self.socket()).await {
                // The queue is full.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    tokio::task::yield_now().await;
                }
                stream => return stream.unwrap(),
            }
        }
    }

    /// Sends that and gives what comes, up to the end of the connection.
    pub(crate) async fn says(&self, bytes: impl AsRef<[u8]>) -> String {
        let mut stream = self.raw().await;
        // It may have been cut before all was written.
        let _ = timeout(SOON, stream.write_all(bytes.as_ref())).await.unwrap();
        rest(&mut stream).await
    }

    /// Fails the test unless it answers as if nothing had happened.
    #[track_caller]
    pub(crate) fn is_well(&self) -> impl Future<Output = ()> {
        let client = self.client();
        async move {
            let status: serde_json::Value =
                timeout(SOON, client.get("/v1/status")).await.unwrap().unwrap();
            assert_eq!(status["stopping"], false);
        }
    }

    /// A prompt for the guide.
    pub(crate) fn help(&self, task: &str) -> DispatchBody {
        let cwd = self.folder().to_owned();
        let options = DispatchOptions::new(task.parse().unwrap(), ConversationId::generate(), cwd);
        let mut body = DispatchBody::of("help".to_owned(), options);
        body.plugin = Some("guide".to_owned());
        body
    }

    /// Has connections closed.
    pub(crate) fn close(&self) {
        self.server.close_streams();
    }

    /// Ready when nothing is served any more.
    pub(crate) async fn end(mut self) {
        timeout(SOON, &mut self.serving).await.expect("an end").unwrap();
    }
}

/// All that comes, up to the end of the connection.
pub(crate) async fn rest(stream: &mut UnixStream) -> String {
    let mut text = Vec::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match timeout(SOON, stream.read(&mut buffer)).await.expect("an end") {
            // What was sent and not read is told as a reset, after all that came.
            Ok(0) | Err(_) => return String::from_utf8_lossy(&text).into_owned(),
            Ok(count) => text.extend_from_slice(&buffer[..count]),
        }
    }
}

/// The status of an answer, and its body as a problem.
#[track_caller]
pub(crate) fn problem(answer: &str) -> (u16, Problem) {
    let (head, body) =
        answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no head: {answer:?}"));
    assert!(head.contains("mia-version: ") && head.contains("application/json"), "{head}");
    let problem = serde_json::from_str(body).unwrap_or_else(|_| panic!("no problem: {answer}"));
    (status(answer), problem)
}

/// The status of an answer that no route has given, and that says no more.
#[track_caller]
pub(crate) fn bare(answer: &str) -> u16 {
    let (head, body) =
        answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no head: {answer:?}"));
    assert!(body.is_empty() && !head.contains("mia-version"), "{answer}");
    status(answer)
}

#[track_caller]
pub(crate) fn status(answer: &str) -> u16 {
    let code = answer.strip_prefix("HTTP/1.").and_then(|rest| rest.get(2..5));
    code.and_then(|code| code.parse().ok()).unwrap_or_else(|| panic!("no status: {answer:?}"))
}
