//! The supervisor's own loop: one thread, no runtime, little memory.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::ffi::OsStr;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::family::{Family, reap};
use super::marker::Token;
use super::protocol::{self, Reply, Request, SpawnBody};
use crate::ExitStatus;
use crate::proc::{self, ProcessId, Stat};

/// How long everything may take to end by itself once Mia is gone, before it is killed.
const CLOSING_GRACE: Duration = Duration::from_millis(2500);
/// How long killing goes on before what can't be killed (another user's process, one stuck in
/// the kernel) is left alone. With the grace it stays below the 6 s of M-21.
const KILL_LIMIT: Duration = Duration::from_secs(3);
/// Between two looks at something that is being killed: this at first, then doubled up to the
/// second. Most ends are noticed earlier, by SIGCHLD.
const FIRST_LOOK: Duration = Duration::from_millis(1);
const LAST_LOOK: Duration = Duration::from_millis(16);
/// How often a program's file may be found busy before that is an error, and how long between.
const BUSY_TRIES: u32 = 10;
const BUSY_PAUSE: Duration = Duration::from_millis(2);

/// Serves one connection until it closes and everything has ended.
pub(super) fn run(socket: OwnedFd, child_ended: UnixStream, token: Token) -> std::io::Result<()> {
    let me = std::process::id().cast_signed();
    let mut supervisor = Process {
        socket,
        child_ended,
        family: Family::new(me, token),
        children: BTreeMap::new(),
        outbox: VecDeque::new(),
        closing: None,
    };
    supervisor.say(Reply::Ready);
    while !supervisor.is_done() {
        supervisor.wait()?;
        supervisor.turn();
    }
    Ok(())
}

#[derive(Debug)]
struct Process {
    socket: OwnedFd,
    child_ended: UnixStream,
    family: Family,
    children: BTreeMap<u64, Supervised>,
    /// Replies that the socket had no room for. At most three for each child.
    outbox: VecDeque<Reply>,
    closing: Option<Closing>,
}

/// A child from its start until it is swept or released. Its leader is not reaped before that:
/// so neither its pid nor its group's number can become somebody else's.
#[derive(Debug)]
struct Supervised {
    process: ProcessId,
    exited: bool,
    sweep: Option<Sweep>,
}

#[derive(Debug)]
struct Sweep {
    began: Instant,
    next_look: Instant,
    pause: Duration,
    killed: HashSet<ProcessId>,
}

/// Mia is gone: everything ends.
#[derive(Debug)]
struct Closing {
    began: Instant,
    done: bool,
}

impl Process {
    fn is_done(&self) -> bool {
        self.closing.as_ref().is_some_and(|closing| closing.done)
    }

    /// Waits for a request, an ended child, room in the socket, or the next look.
    fn wait(&mut self) -> std::io::Result<()> {
        let now = Instant::now();
        let next_sweep = self.children.values().filter_map(|c| Some(c.sweep.as_ref()?.next_look));
        let next_closing = self.closing.as_ref().map(|_| now + LAST_LOOK);
        let timeout = next_sweep
            .chain(next_closing)
            .min()
            .and_then(|at| Timespec::try_from(at.saturating_duration_since(now)).ok());
        let mut interest = PollFlags::empty();
        interest.set(PollFlags::IN, self.closing.is_none());
        interest.set(PollFlags::OUT, !self.outbox.is_empty());
        let mut watched =
            [PollFd::new(&self.child_ended, PollFlags::IN), PollFd::new(&self.socket, interest)];
        // Once Mia is gone the socket would report nothing but its hang-up, again and again.
        let watched =
            if interest.is_empty() { watched.get_mut(..1) } else { Some(&mut watched[..]) };
        match poll(watched.unwrap_or_default(), timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Everything that there is to do now.
    fn turn(&mut self) {
        if self.drain_child_ended() {
            self.family.tend();
            self.observe_exits();
        }
        self.receive();
        let now = Instant::now();
        let due: Vec<u64> = self
            .children
            .iter()
            .filter(|(_, child)| child.sweep.is_some())
            .map(|(id, _)| *id)
            .collect();
        for id in due {
            self.continue_sweep(id, now);
        }
        self.continue_closing(now);
        self.flush();
    }

    fn drain_child_ended(&mut self) -> bool {
        let mut buffer = [0_u8; 64];
        let mut ended = false;
        while matches!(self.child_ended.read(&mut buffer), Ok(1..)) {
            ended = true;
        }
        ended
    }

    fn observe_exits(&mut self) {
        let mut exited = Vec::new();
        for (id, child) in self.children.iter_mut().filter(|(_, child)| !child.exited) {
            if let Some(status) = exit_of(child.process.pid) {
                child.exited = true;
                exited.push(Reply::Exited { id: *id, status });
            }
        }
        for reply in exited {
            self.say(reply);
        }
    }

    fn receive(&mut self) {
        while self.closing.is_none() {
            match protocol::receive::<Request>(self.socket.as_fd()) {
                Ok(Some((Request::Spawn { id }, descriptors))) => self.spawn(id, descriptors),
                Ok(Some((Request::Signal { id, signal }, _))) => self.signal(id, signal),
                Ok(Some((Request::Sweep { id }, _))) => self.begin_sweep(id),
                Ok(Some((Request::Release { id }, _))) => self.release(id),
                Err(Errno::AGAIN | Errno::INTR) => break,
                // The end, or a peer that makes no sense: one as good as the other.
                Ok(None) | Err(_) => self.begin_closing(),
            }
        }
    }

    fn spawn(&mut self, id: u64, descriptors: Vec<OwnedFd>) {
        // Whoever lost its parents before this child exists is certainly not this child's.
        self.family.tend();
        match start(descriptors) {
            Ok(process) => {
                self.family.join(id, process);
                self.children.insert(id, Supervised { process, exited: false, sweep: None });
                self.say(Reply::Spawned { id, pid: process.pid, start: process.start });
            }
            Err(errno) => self.say(Reply::SpawnFailed { id, errno: errno.raw_os_error() }),
        }
    }

    fn signal(&mut self, id: u64, signal: i32) {
        if let (Some(child), Some(signal)) =
            (self.children.get(&id), Signal::from_named_raw(signal))
        {
            let group = child.process.pid;
            self.family.snapshot(id);
            signal_group(group, signal);
        }
    }

    fn release(&mut self, id: u64) {
        self.family.release(id);
        self.children.remove(&id);
    }

    fn begin_sweep(&mut self, id: u64) {
        let now = Instant::now();
        match self.children.get_mut(&id) {
            Some(child) if child.sweep.is_none() => {
                child.sweep = Some(Sweep {
                    began: now,
                    next_look: now,
                    pause: FIRST_LOOK,
                    killed: HashSet::new(),
                });
                self.family.begin_sweep(id);
            }
            Some(_) => {}
            // Never started, or swept before: nothing is left of it.
            None => self.say(Reply::Swept { id, killed: 0, survivors: 0 }),
        }
    }

    /// Kills what runs of a child's tree, and forgets the child once nothing does.
    fn continue_sweep(&mut self, id: u64, now: Instant) {
        self.observe_exits();
        // An empty list is read twice: a list of children may miss one while another is ending.
        let mut members = self.family.members(id);
        if members.is_empty() {
            members = self.family.members(id);
        }
        let Some(child) = self.children.get_mut(&id) else {
            return;
        };
        let Some(sweep) = child.sweep.as_mut() else {
            return;
        };
        let out_of_time = now.duration_since(sweep.began) >= KILL_LIMIT;
        if (members.is_empty() && child.exited) || out_of_time {
            let killed = sweep.killed.difference(&members.iter().copied().collect()).count();
            let reply = Reply::Swept {
                id,
                killed: u32::try_from(killed).unwrap_or(u32::MAX),
                survivors: u32::try_from(members.len() + usize::from(!child.exited))
                    .unwrap_or(u32::MAX),
            };
            reap(child.process.pid);
            self.children.remove(&id);
            self.family.leave(id);
            self.say(reply);
            return;
        }
        signal_group(child.process.pid, Signal::KILL);
        for member in members {
            proc::signal(member, Signal::KILL);
            sweep.killed.insert(member);
        }
        if now >= sweep.next_look {
            sweep.next_look = now + sweep.pause;
            sweep.pause = (sweep.pause * 2).min(LAST_LOOK);
        }
    }

    fn begin_closing(&mut self) {
        self.closing = Some(Closing { began: Instant::now(), done: false });
        for id in self.children.keys().copied().collect::<Vec<_>>() {
            self.family.snapshot(id);
        }
        // A second TERM means "at once" to many programs: each process gets exactly one, and an
        // agent before its tools, so that it doesn't take their end for news.
        let groups: HashSet<i32> = self.children.values().map(|c| c.process.pid).collect();
        let mut outside = self.family.everyone();
        outside.retain(|process| {
            Stat::read(process.pid).is_some_and(|stat| !groups.contains(&stat.group))
        });
        for group in groups {
            signal_group(group, Signal::TERM);
        }
        for process in outside {
            proc::signal(process, Signal::TERM);
        }
    }

    fn continue_closing(&mut self, now: Instant) {
        let Some(elapsed) = self.closing.as_ref().map(|c| now.duration_since(c.began)) else {
            return;
        };
        let mut everyone = self.family.everyone();
        if everyone.is_empty() {
            everyone = self.family.everyone();
        }
        // After that look: so when nobody is left, every exit is told.
        self.observe_exits();
        if everyone.is_empty() || elapsed >= CLOSING_GRACE + KILL_LIMIT {
            self.closing = Some(Closing { began: now, done: true });
        } else if elapsed >= CLOSING_GRACE {
            for child in self.children.values() {
                signal_group(child.process.pid, Signal::KILL);
            }
            for process in everyone {
                proc::signal(process, Signal::KILL);
            }
        }
    }

    fn say(&mut self, reply: Reply) {
        self.outbox.push_back(reply);
    }

    fn flush(&mut self) {
        while let Some(reply) = self.outbox.front() {
            match protocol::send(self.socket.as_fd(), reply, &[]) {
                Err(Errno::AGAIN) => break,
                // Sent, or nobody is there to hear it.
                _ => self.outbox.pop_front(),
            };
        }
    }
}

/// Starts the child that a memory file describes, with the three streams that came with it.
fn start(descriptors: Vec<OwnedFd>) -> Result<ProcessId, Errno> {
    // Fewer arrive when our own table of descriptors is full.
    let [body, stdin, stdout, stderr] =
        <[OwnedFd; protocol::SPAWN_DESCRIPTORS]>::try_from(descriptors)
            .map_err(|_| Errno::MFILE)?;
    let body = protocol::read_body(body)?;
    let body: SpawnBody<'_> = postcard::from_bytes(&body).map_err(|_| Errno::BADMSG)?;
    let text = |bytes: protocol::Bytes<'_>| OsStr::from_bytes(bytes.0).to_owned();
    // No `pre_exec` and no ids: so the standard library takes its fast way, without a fork.
    let mut command = Command::new(text(body.program));
    command
        .args(body.args.into_iter().map(text))
        .env_clear()
        .envs(body.env.into_iter().map(|(name, value)| (text(name), text(value))))
        .current_dir(text(body.cwd))
        .process_group(0)
        .stdin(Stdio::from(stdin))
        .stdout(Stdio::from(stdout))
        .stderr(Stdio::from(stderr));
    let mut tries = 1;
    let mut child = loop {
        match command.spawn().map_err(protocol::errno_of) {
            Ok(child) => break child,
            // A file that was just written may be open still in a process that is about to
            // become another program.
            Err(Errno::TXTBSY) if tries < BUSY_TRIES => std::thread::sleep(BUSY_PAUSE),
            Err(errno) => return Err(errno),
        }
        tries += 1;
    };
    // It is not reaped yet, so it is there, alive or not; but we are blind without `/proc`.
    let Some(stat) = Stat::read(child.id().cast_signed()) else {
        let _ = child.kill();
        let _ = child.wait();
        return Err(Errno::SRCH);
    };
    Ok(stat.id)
}

/// How a leader has ended, if it has. It stays a zombie.
fn exit_of(pid: i32) -> Option<ExitStatus> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    let status = waitid(WaitId::Pid(Pid::from_raw(pid)?), options).ok()??;
    Some(ExitStatus { code: status.exit_status(), signal: status.terminating_signal() })
}

/// Signals a child's group. Its leader is not reaped yet, so the number is still its own.
fn signal_group(group: i32, signal: Signal) {
    if let Some(group) = Pid::from_raw(group) {
        let _ = kill_process_group(group, signal);
    }
}
