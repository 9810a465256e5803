//! A supervised child: its pipes, and the handle that ends it.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::net::unix::pipe;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::kill::{KillAction, KillEvent, KillMachine, KillPlan, KillReport, KillStep};
use crate::proc::ProcessId;
use crate::supervisor::link::{Link, Progress};
use crate::supervisor::protocol::Request;
use crate::{ExitStatus, Signal};

/// A running child: its pipes and its process. Take it apart: the pipes can be read while the
/// process is being ended.
#[derive(Debug)]
pub struct Child {
    /// Where the child reads from, when that was asked for. Drop it to close it.
    pub stdin: Option<pipe::Sender>,
    /// What the child writes. Its end comes when the child *and* all that inherited it are gone.
    pub stdout: pipe::Receiver,
    /// What the child complains about. Must be read, or the child stands still one day.
    pub stderr: pipe::Receiver,
    /// The process itself.
    pub process: Process,
}

/// A child's process and all that it starts. When dropped, what is left of the tree is killed.
#[derive(Debug)]
pub struct Process {
    link: Arc<Link>,
    id: u64,
    process: ProcessId,
    progress: watch::Receiver<Progress>,
    hurry: watch::Sender<bool>,
    /// Nothing is left to be done when this is dropped.
    settled: AtomicBool,
}

/// What a child left running.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Leftover {
    /// How many processes were killed, besides the child itself.
    pub killed: u32,
    /// How many could not be killed in 3 s: another user's, or stuck in the kernel.
    pub survivors: u32,
}

/// The supervisor was killed, and so was the child.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("follow the child to its end: its supervisor was killed, and the child with it")]
pub struct SupervisorLost;

impl From<SupervisorLost> for io::Error {
    fn from(lost: SupervisorLost) -> Self {
        Self::other(lost)
    }
}

impl Process {
    /// The handle of a child that is about to be asked for.
    pub(crate) fn new(link: Arc<Link>, id: u64, progress: watch::Receiver<Progress>) -> Self {
        Self {
            link,
            id,
            process: ProcessId { pid: 0, start: 0 },
            progress,
            hurry: watch::Sender::new(false),
            settled: AtomicBool::new(false),
        }
    }

    pub(crate) fn started(mut self, process: ProcessId) -> Self {
        self.process = process;
        self
    }

    /// Drops the handle of a child that there never was.
    pub(crate) fn forget(self) {
        self.settled.store(true, Ordering::Relaxed);
    }

    /// The child's pid, which is also the number of its group. It is not reused before the child
    /// was swept.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.process.pid.unsigned_abs()
    }

    /// Waits until the child itself has ended; what it started may run on, and may hold its
    /// stdout open. Cancel-safe, and gives the same answer each time.
    ///
    /// # Errors
    ///
    /// When the supervisor was killed. The child is gone then.
    pub async fn wait_exit(&self) -> Result<ExitStatus, SupervisorLost> {
        self.news(|child| child.exit).await
    }

    /// Sends a signal to the child's group. Returns at once; a child that has ended takes no
    /// notice.
    pub fn signal(&self, signal: Signal) {
        let signal = signal.to_os().as_raw();
        self.link.send(Request::Signal { id: self.id, signal }, Vec::new());
    }

    /// Sends SIGINT to the child's group, like Ctrl-C on a terminal.
    pub fn interrupt(&self) {
        self.signal(Signal::Interrupt);
    }

    /// Ends the child and its tree as planned, and waits until all of it is gone (M-21). Poll it
    /// beside the reads of stdout and stderr: a child may block on a full pipe instead of ending.
    ///
    /// Cancel-safe: when the future is dropped, the child stays as it is at that moment, and may
    /// be killed again. A kill of what has ended finds [`KillStep::AlreadyGone`].
    ///
    /// # Errors
    ///
    /// When the supervisor was killed. The child is gone then.
    pub async fn kill(&self, plan: KillPlan) -> Result<KillReport, SupervisorLost> {
        let began = Instant::now();
        let mut machine = KillMachine::new(plan);
        let mut hurry = self.hurry.subscribe();
        let mut event =
            if self.exit_so_far().is_some() { KillEvent::Exited } else { KillEvent::Tick };
        loop {
            match machine.on(event, began.elapsed()) {
                Some(KillAction::Signal(signal)) => self.signal(signal),
                Some(KillAction::Sweep) => break,
                None => {}
            }
            // A grace beyond what the clock can hold is no deadline.
            let deadline = machine.deadline().and_then(|at| began.checked_add(at));
            event = tokio::select! {
                biased;
                exit = self.wait_exit() => exit.map(|_| KillEvent::Exited)?,
                _ = hurry.wait_for(|hurry| *hurry) => KillEvent::Hurry,
                () = sleep_until(deadline) => KillEvent::Tick,
            };
        }
        let leftover = self.sweep().await?;
        let ended_by = machine.ended_by().unwrap_or(KillStep::Kill);
        Ok(KillReport { ended_by, exit: self.exit_so_far(), leftover })
    }

    /// Makes a [`kill`](Self::kill) that is under way, or the next one, kill at once (M-24).
    pub fn hurry(&self) {
        self.hurry.send_replace(true);
    }

    /// Kills all that is left of the child's tree, the child itself too if it still runs, and
    /// waits until it is gone: the end of every child that has ended by itself (M-22). May be
    /// called again, and gives the same answer.
    ///
    /// Cancel-safe: once polled, the sweep goes on by itself.
    ///
    /// # Errors
    ///
    /// When the supervisor was killed. The child is gone then.
    pub async fn sweep(&self) -> Result<Leftover, SupervisorLost> {
        if !self.settled.swap(true, Ordering::Relaxed) {
            self.link.send(Request::Sweep { id: self.id }, Vec::new());
        }
        self.news(|child| child.swept).await
    }

    /// Lets the child and its tree live on, even after Mia has ended (`keep_background`).
    pub fn release(self) {
        if !self.settled.swap(true, Ordering::Relaxed) {
            self.link.send(Request::Release { id: self.id }, Vec::new());
        }
    }

    fn exit_so_far(&self) -> Option<ExitStatus> {
        self.progress.borrow().exit
    }

    /// Waits for a piece of news, or for the news that there will be none.
    async fn news<T>(&self, pick: impl Fn(&Progress) -> Option<T>) -> Result<T, SupervisorLost> {
        let mut progress = self.progress.clone();
        let news = progress.wait_for(|child| pick(child).is_some() || child.lost.is_some()).await;
        news.ok().and_then(|child| pick(&child)).ok_or(SupervisorLost)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !*self.settled.get_mut() {
            self.link.send(Request::Sweep { id: self.id }, Vec::new());
        }
    }
}

async fn sleep_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
