//! The connection to one supervisor process, and the one thread that listens to it.
//!
//! A thread and not a task: so it outlives any runtime, needs none to hear of an exit, and can
//! block where it has to end what a killed supervisor left behind.

use std::collections::{HashMap, VecDeque};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;
use tokio::sync::watch;

use super::client::SupervisorProgram;
use super::entry::{SENTINEL, was_asked};
use super::error::SupervisorError;
use super::lost;
use super::marker::Token;
use super::protocol::{self, Reply, Request};
use crate::proc::ProcessId;
use crate::{ExitStatus, Leftover, descriptors};

/// How long a new supervisor may take to say that it is one.
const READY_LIMIT: Duration = Duration::from_secs(10);
/// How long a supervisor may take to end everything and itself; its own limits add up to less.
const CLOSING_LIMIT: Duration = Duration::from_secs(6);

/// What is known of one child.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Progress {
    /// Its process, or the `errno` of why there is none.
    pub(crate) spawned: Option<Result<ProcessId, i32>>,
    pub(crate) exit: Option<ExitStatus>,
    pub(crate) swept: Option<Leftover>,
    /// There will be no further news.
    pub(crate) lost: Option<Loss>,
}

/// Why there will be no further news of a supervisor's children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    /// The program that was started is no supervisor.
    NeverReady,
    /// It was closed by us.
    Closed,
    /// It died.
    Died,
}

/// Our end. Closing happens when the last one who holds it lets go.
#[derive(Debug)]
pub(crate) struct Link {
    shared: Arc<Shared>,
    next_id: AtomicU64,
    pid: u32,
}

#[derive(Debug)]
struct Shared {
    socket: OwnedFd,
    /// Tells the thread that there is something in the outbox, or that we are closing.
    wake: OwnedFd,
    token: Token,
    state: Mutex<State>,
    ended: watch::Sender<bool>,
}

#[derive(Debug, Default)]
struct State {
    children: HashMap<u64, watch::Sender<Progress>>,
    /// Requests that the socket had no room for. At most three for each child.
    outbox: VecDeque<Outgoing>,
    closing: Option<Instant>,
    loss: Option<Loss>,
}

#[derive(Debug)]
struct Outgoing {
    request: Request,
    descriptors: Vec<OwnedFd>,
}

impl Outgoing {
    fn send(&self, socket: BorrowedFd<'_>) -> Result<(), Errno> {
        let descriptors: Vec<BorrowedFd<'_>> = self.descriptors.iter().map(AsFd::as_fd).collect();
        protocol::send(socket, &self.request, &descriptors)
    }
}

impl Link {
    /// Starts a supervisor process. Takes about as long as any program takes to start.
    pub(crate) fn start(program: &SupervisorProgram, count: u64) -> Result<Self, SupervisorError> {
        if was_asked() {
            return Err(SupervisorError::NotEntered);
        }
        let cannot_start =
            |source| SupervisorError::Start { program: program.path().into(), source };
        let (ours, theirs) = protocol::connection().map_err(|e| cannot_start(e.into()))?;
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(|e| cannot_start(e.into()))?;
        let token = Token::mint(count);
        let process = Command::new(program.path())
            .arg0("mia-supervisor")
            .args([SENTINEL, token.as_str()])
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(cannot_start)?;
        descriptors::as_before(&process);
        let pid = process.id();
        let shared = Arc::new(Shared {
            socket: ours,
            wake,
            token,
            state: Mutex::default(),
            ended: watch::Sender::new(false),
        });
        let listener = Listener { shared: Arc::clone(&shared), process, began: Instant::now() };
        std::thread::Builder::new()
            .name("mia-supervised".into())
            .spawn(move || listener.run())
            // The listener is dropped, and with it our end of the socket.
            .map_err(cannot_start)?;
        Ok(Self { shared, next_id: AtomicU64::new(1), pid })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    pub(crate) fn token(&self) -> &Token {
        &self.shared.token
    }

    /// Whether this supervisor is gone, so that another one is needed.
    pub(crate) fn is_lost(&self) -> bool {
        self.shared.lock().loss.is_some()
    }

    /// A new child's number, and where its news appear.
    pub(crate) fn register(&self) -> (u64, watch::Receiver<Progress>) {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let mut state = self.shared.lock();
        let (sender, receiver) =
            watch::channel(Progress { lost: state.loss, ..Progress::default() });
        if state.loss.is_none() {
            state.children.insert(id, sender);
        }
        (id, receiver)
    }

    /// Sends a request, in order with all others and without waiting.
    pub(crate) fn send(&self, request: Request, descriptors: Vec<OwnedFd>) {
        let outgoing = Outgoing { request, descriptors };
        let mut state = self.shared.lock();
        if state.outbox.is_empty() {
            match outgoing.send(self.shared.socket.as_fd()) {
                // A failure means that the listener is about to see the end.
                Ok(()) => {}
                Err(Errno::AGAIN) => {
                    state.outbox.push_back(outgoing);
                    self.shared.wake();
                }
                Err(Errno::TOOMANYREFS) => state.spawn_failed(request, Errno::MFILE),
                Err(_) => {}
            }
        } else {
            state.outbox.push_back(outgoing);
        }
        if let Request::Release { id } = request {
            state.children.remove(&id);
        }
    }

    /// Asks the supervisor to end everything and itself. Does not wait.
    pub(crate) fn close(&self) {
        self.shared.lock().closing.get_or_insert_with(Instant::now);
        let _ = rustix::net::shutdown(&self.shared.socket, rustix::net::Shutdown::Write);
        self.shared.wake();
    }

    /// Waits until the supervisor process is gone, and all of its children.
    pub(crate) async fn ended(&self) {
        let mut ended = self.shared.ended.subscribe();
        // An error would mean that the listener is gone, which is an end as well.
        let _ = ended.wait_for(|ended| *ended).await;
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.close();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self) {
        let _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
    }
}

impl State {
    fn spawn_failed(&mut self, request: Request, errno: Errno) {
        if let Request::Spawn { id } = request {
            self.update(id, |child| child.spawned = Some(Err(errno.raw_os_error())));
            self.children.remove(&id);
        }
    }

    fn update(&self, id: u64, change: impl FnOnce(&mut Progress)) {
        if let Some(child) = self.children.get(&id) {
            child.send_modify(change);
        }
    }

    fn flush(&mut self, socket: BorrowedFd<'_>) {
        while let Some(outgoing) = self.outbox.front() {
            let sent = outgoing.send(socket);
            if sent == Err(Errno::AGAIN) {
                return;
            }
            let request = outgoing.request;
            self.outbox.pop_front();
            if sent == Err(Errno::TOOMANYREFS) {
                self.spawn_failed(request, Errno::MFILE);
            }
        }
    }

    fn hear(&mut self, reply: Reply) {
        match reply {
            Reply::Ready => {}
            Reply::Spawned { id, pid, start } => {
                self.update(id, |child| child.spawned = Some(Ok(ProcessId { pid, start })));
            }
            Reply::SpawnFailed { id, errno } => {
                self.update(id, |child| child.spawned = Some(Err(errno)));
                self.children.remove(&id);
            }
            Reply::Exited { id, status } => self.update(id, |child| child.exit = Some(status)),
            Reply::Swept { id, killed, survivors } => {
                self.update(id, |child| child.swept = Some(Leftover { killed, survivors }));
                self.children.remove(&id);
            }
        }
    }
}

/// What the thread runs, from the supervisor's start to its end.
struct Listener {
    shared: Arc<Shared>,
    process: std::process::Child,
    began: Instant,
}

impl Listener {
    fn run(mut self) {
        let loss = self.listen();
        let known = {
            let mut state = self.shared.lock();
            // From now on a spawn starts another supervisor.
            state.loss = Some(loss);
            state.outbox.clear();
            let alive = state.children.values().filter_map(|child| child.borrow().spawned?.ok());
            alive.collect::<Vec<_>>()
        };
        // It has ended in almost every case; this ends one that only closed its socket.
        let _ = self.process.kill();
        let _ = self.process.wait();
        if loss == Loss::Died {
            lost::sweep(&self.shared.token, &known);
        }
        for (_, child) in self.shared.lock().children.drain() {
            child.send_modify(|child| child.lost = Some(loss));
        }
        self.shared.ended.send_replace(true);
    }

    /// Hears replies until the end of the connection.
    fn listen(&mut self) -> Loss {
        let mut ready = false;
        loop {
            if let Some(loss) = self.wait(ready) {
                return loss;
            }
            loop {
                match protocol::receive::<Reply>(self.shared.socket.as_fd()) {
                    Ok(Some((reply, _))) => {
                        ready = true;
                        self.shared.lock().hear(reply);
                    }
                    Err(Errno::AGAIN | Errno::INTR) => break,
                    Ok(None) | Err(_) if !ready => return Loss::NeverReady,
                    Ok(None) if self.shared.lock().closing.is_some() => return Loss::Closed,
                    Ok(None) | Err(_) => return Loss::Died,
                }
            }
            self.shared.lock().flush(self.shared.socket.as_fd());
        }
    }

    /// Waits for something to do; says so when the supervisor took too long.
    fn wait(&self, ready: bool) -> Option<Loss> {
        let (has_mail, closing) = {
            let state = self.shared.lock();
            (!state.outbox.is_empty(), state.closing)
        };
        let deadline = match closing {
            Some(began) => Some((began + CLOSING_LIMIT, Loss::Died)),
            None if !ready => Some((self.began + READY_LIMIT, Loss::NeverReady)),
            None => None,
        };
        let mut timeout = None;
        if let Some((at, loss)) = deadline {
            let left = at.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Some(loss);
            }
            timeout = Timespec::try_from(left).ok();
        }
        let mut interest = PollFlags::IN;
        interest.set(PollFlags::OUT, has_mail);
        let mut watched = [
            PollFd::new(&self.shared.socket, interest),
            PollFd::new(&self.shared.wake, PollFlags::IN),
        ];
        let _ = poll(&mut watched, timeout.as_ref());
        let _ = rustix::io::read(&self.shared.wake, &mut [0_u8; 8]);
        None
    }
}
