//! [`Supervisor`]: the async end, in the Mia process.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::error::SupervisorError;
use super::link::{Link, Loss};
use super::marker::MARKER;
use super::protocol::Request;
use crate::child::{Child, Process};
use crate::spawn::{SpawnError, SpawnSpec};
use crate::streams::Streams;

/// Which program is the supervisor. Its `main` calls
/// [`enter_if_asked`](super::enter_if_asked) first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SupervisorProgram {
    /// The running program, also when its file was replaced or deleted meanwhile.
    #[default]
    ThisProgram,
    /// Another program.
    Path(PathBuf),
}

impl SupervisorProgram {
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::ThisProgram => Path::new("/proc/self/exe"),
            Self::Path(path) => path,
        }
    }
}

/// Starts children of which nothing survives: not their end, not an abort, not the end of Mia,
/// not even `kill -9` of Mia (M-21).
///
/// A handle to one supervisor process; cheap to clone. The process starts with the first spawn,
/// and a new one with the first spawn after it was killed. It ends, with everything below it,
/// when the last clone and the last [`Process`] are gone, or when this process ends in whatever
/// way.
///
/// ```no_run
/// # use mia_host::{SpawnSpec, Stdin, Supervisor, SupervisorProgram};
/// #[tokio::main]
/// async fn run() -> Result<(), Box<dyn std::error::Error>> {
///     let supervisor = Supervisor::new(SupervisorProgram::ThisProgram);
///     let child = supervisor
///         .spawn(SpawnSpec {
///             program: "/bin/ls".into(),
///             args: vec!["-l".into()],
///             env: vec![],
///             cwd: "/".into(),
///             stdin: Stdin::Null,
///         })
///         .await?;
///     println!("{}", child.process.wait_exit().await?);
///     Ok(())
/// }
///
/// fn main() {
///     mia_host::supervisor::enter_if_asked();
///     run().unwrap();
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Supervisor {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    program: SupervisorProgram,
    /// The marker that this process itself was started with, when it lives in another Mia's tree.
    outer: Option<OsString>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    link: Option<Arc<Link>>,
    shut_down: bool,
}

impl Supervisor {
    /// A handle; nothing is started yet.
    #[must_use]
    pub fn new(program: SupervisorProgram) -> Self {
        let outer = std::env::var_os(MARKER);
        Self { shared: Arc::new(Shared { program, outer, state: Mutex::default() }) }
    }

    /// Starts the supervisor process now, if none runs, so that the first spawn needn't. Blocks
    /// for about a millisecond; the process gets ready by itself meanwhile.
    ///
    /// # Errors
    ///
    /// When the program can't be run, or after [`shutdown`](Self::shutdown).
    pub fn start(&self) -> Result<(), SupervisorError> {
        self.shared.link().map(drop)
    }

    /// The pid of the supervisor process, when one runs.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        let state = self.shared.lock();
        state.link.as_ref().filter(|link| !link.is_lost()).map(|link| link.pid())
    }

    /// Starts a child.
    ///
    /// Cancel-safe: when the future is dropped, whatever was started is swept. Must be called
    /// within a tokio runtime with I/O enabled.
    ///
    /// # Errors
    ///
    /// [`SpawnError`] says what stands in the way. Nothing runs then.
    pub async fn spawn(&self, spec: SpawnSpec) -> Result<Child, SpawnError> {
        spec.check()?;
        let link = self.shared.link()?;
        let (id, mut progress) = link.register();
        // From here on a drop sweeps the child: on the socket that request comes after this one.
        let guard = Process::new(Arc::clone(&link), id, progress.clone());
        let marker = link.token().path(self.shared.outer.as_deref(), id);
        let body = spec.to_memory_file(&marker)?;
        let streams = Streams::open(spec.stdin)?;
        let [stdin, stdout, stderr] = streams.theirs;
        link.send(Request::Spawn { id }, vec![body, stdin, stdout, stderr]);
        let news = progress.wait_for(|child| child.spawned.is_some() || child.lost.is_some()).await;
        let news = news.map(|news| *news).unwrap_or_default();
        match news.spawned {
            Some(Ok(process)) => Ok(Child {
                stdin: streams.stdin,
                stdout: streams.stdout,
                stderr: streams.stderr,
                process: guard.started(process),
            }),
            Some(Err(errno)) => {
                guard.forget();
                Err(spec.diagnose(errno))
            }
            None => {
                guard.forget();
                let program = self.shared.program.path().to_owned();
                Err(SpawnError::Supervisor(match news.lost {
                    Some(Loss::NeverReady) => SupervisorError::NotASupervisor { program },
                    Some(Loss::Closed) => SupervisorError::ShutDown,
                    Some(Loss::Died) | None => SupervisorError::Lost,
                }))
            }
        }
    }

    /// Ends everything: TERM to all children and what they started, 2.5 s of grace, then KILL.
    /// Returns when all of it is gone, within 6 s; nothing can be spawned any more. May be called
    /// again. When the future is dropped, the end goes on by itself.
    pub async fn shutdown(&self) {
        let link = {
            let mut state = self.shared.lock();
            state.shut_down = true;
            state.link.clone()
        };
        if let Some(link) = link {
            link.close();
            link.ended().await;
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The connection to a running supervisor, a new one where there is none.
    fn link(&self) -> Result<Arc<Link>, SupervisorError> {
        // Makes the names of all supervisors that this process ever starts differ.
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let mut state = self.lock();
        if state.shut_down {
            return Err(SupervisorError::ShutDown);
        }
        if let Some(link) = state.link.as_ref().filter(|link| !link.is_lost()) {
            return Ok(Arc::clone(link));
        }
        let link = Arc::new(Link::start(&self.program, COUNT.fetch_add(1, Ordering::Relaxed))?);
        state.link = Some(Arc::clone(&link));
        Ok(link)
    }
}
