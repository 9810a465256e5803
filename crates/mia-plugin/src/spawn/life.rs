//! What is known of a child while it lives, and what is to be done next.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use mia_api::{EventBody, NoticeKind};
use mia_host::kill::{KillPlan, KillReport, KillStep};
use mia_host::{ExitStatus, Supervisor, SupervisorLost};
use tokio::time::Instant;

use super::adapter::{CliAdapter, Interrupt, Launch, Profile};
use super::failure::Cut;
use super::out::{Out, Terminal};
use super::questions::{Answer, Questions};
use super::stdin::ToStdin;
use super::watch::{Countdown, Limits, Watch};
use crate::permissions::{Permissions, resolved};
use crate::sessions::{SessionKey, SessionRecord, Sessions};
use crate::sink::{EventSink, SinkError};
use crate::slots::Requests;

/// How long output is still read once the agent has said its last word or is gone (M-22).
const DRAIN: Duration = Duration::from_millis(500);

/// What a child's life needs.
pub(super) struct Start<'a, A> {
    pub(super) plugin: &'a str,
    pub(super) adapter: A,
    pub(super) launch: Launch,
    pub(super) profile: &'a Profile,
    pub(super) supervisor: &'a Supervisor,
    pub(super) events: EventSink,
    pub(super) permissions: Arc<dyn Permissions>,
    pub(super) limits: Limits,
    /// When the dispatch began.
    pub(super) began: Instant,
    /// How often somebody has asked for the end.
    pub(super) requests: Requests,
    pub(super) max_line: usize,
    pub(super) stderr_tail: usize,
    pub(super) keep_background: bool,
    /// The session that is to be resumed.
    pub(super) resumed: Option<String>,
    pub(super) key: &'a SessionKey,
    pub(super) sessions: &'a dyn Sessions,
}

/// Where in its life the child is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Running,
    /// It has said its last word or is gone; its output is read for a while.
    Draining,
    /// It is being ended, or what it left behind is.
    Ending,
    /// Nothing of it lives; what is left in the pipes is read.
    Gone,
}

/// What is to be done next.
#[derive(Debug)]
pub(super) enum Next {
    /// Wait for something to happen, until then at most.
    Wait(Option<Instant>),
    /// End it.
    Kill(KillPlan),
    /// Nothing: all is done.
    Over,
}

/// A child's life, but for its process and the pipes that it writes to.
pub(super) struct Life<'a, A> {
    pub(super) start: Start<'a, A>,
    pub(super) out: Out,
    pub(super) watch: Watch,
    pub(super) stdin: ToStdin,
    pub(super) questions: Questions,
    /// What the reader had no room for yet. While there is any, nothing more is read.
    pub(super) pending: VecDeque<EventBody>,
    pub(super) stdout_open: bool,
    pub(super) stderr_open: bool,
    pub(super) exit: Option<ExitStatus>,
    pub(super) cut: Option<Cut>,
    /// True when we ended it: its exit then says nothing.
    pub(super) by_us: bool,
    /// Nobody reads the events any more.
    pub(super) unread: bool,
    /// The session that is on record, or is being put there.
    recorded: Option<String>,
    /// The write that puts it there, while it lasts.
    pub(super) recording: Option<BoxFuture<'a, ()>>,
    stage: Stage,
    drain: Countdown,
    /// The end has to come: no more waiting for a reader that is behind.
    impatient: bool,
}

impl<'a, A: CliAdapter> Life<'a, A> {
    pub(super) fn new(mut start: Start<'a, A>) -> Self {
        let mut out = Out::new(start.plugin);
        if start.profile.resume_keeps_id {
            out.expect_session(start.resumed.clone());
        }
        Self {
            out,
            watch: Watch::new(start.limits, start.began, Instant::now()),
            stdin: ToStdin::new(std::mem::take(&mut start.launch.stdin)),
            questions: Questions::default(),
            pending: VecDeque::new(),
            stdout_open: true,
            stderr_open: true,
            exit: None,
            cut: None,
            by_us: false,
            unread: false,
            recorded: start.resumed.clone(),
            recording: None,
            stage: Stage::Running,
            drain: Countdown::new(DRAIN),
            impatient: false,
            start,
        }
    }

    /// What the adapter said goes its ways.
    pub(super) fn hand_on(&mut self) {
        self.stdin.push(&self.out.take_stdin());
        self.pending.extend(self.out.take_events());
        if self.out.is_visible() {
            self.start.events.sign_of_work();
        }
        for question in self.out.take_questions() {
            // An agent that has said its last word or is being ended gets no answers.
            if self.stage == Stage::Running {
                self.pending.push_back(EventBody::Permission(question.clone()));
                if let Some(refused) = self.questions.ask(question, &*self.start.permissions) {
                    self.answered(refused);
                }
            }
        }
        for id in self.out.take_withdrawn() {
            let resolution = self.questions.withdraw(&id);
            self.pending.extend(resolution.map(EventBody::PermissionResolved));
        }
        self.record();
        let over = self.out.terminal().is_some() || self.exit.is_some();
        if over || self.stage != Stage::Running {
            let withdrawn = self.questions.end();
            self.pending.extend(withdrawn.into_iter().map(EventBody::PermissionResolved));
        }
        if self.unread {
            self.pending.clear();
        }
        let said_all = !self.start.launch.dialogue || self.out.terminal().is_some();
        if said_all && (self.stdin.is_empty() || self.exit.is_some()) {
            self.stdin.close();
        }
    }

    /// Puts a fresh session on record: for a crash in the middle (M-39). The write that counts
    /// comes at the end, so a failure of this one is no news, and nothing waits for it.
    fn record(&mut self) {
        let said = &self.out.said;
        let stale = matches!(self.out.terminal(), Some(Terminal::StaleSession(_)));
        if stale || said.session_id.is_none() || said.session_id == self.recorded {
            return;
        }
        self.recorded.clone_from(&said.session_id);
        if let Some(session_id) = said.session_id.clone() {
            let record = SessionRecord { session_id, state: said.session_state.clone() };
            let (sessions, key) = (self.start.sessions, self.start.key);
            let mut write: BoxFuture<'a, ()> = Box::pin(async move {
                let _ = sessions.put(key, &record).await;
            });
            // A write that needs no waiting is done even if the agent ends right here.
            let done = (&mut write).now_or_never().is_some();
            self.recording = (!done).then_some(write);
        }
    }

    /// Goes from one stage to the next. `bytes` of stdout came so far.
    pub(super) fn next(&mut self, bytes: u64, now: Instant) -> Next {
        let reading = self.pending.is_empty();
        self.watch.counted(bytes, now);
        self.watch.reading(reading, now);
        self.watch.open(self.out.has_open_tools() || !self.questions.is_empty(), now);
        if self.stage == Stage::Running {
            self.watch.woke(now);
            if self.out.terminal().is_none() && self.exit.is_none() {
                if self.cut.is_none()
                    && let Some(phase) = self.watch.expired(now)
                {
                    self.cut = Some(Cut::Expired(phase, self.watch.limit(phase)));
                }
                return match self.cut {
                    Some(cut) => Next::Kill(self.end(cut)),
                    None => Next::Wait(self.watch.deadline().map(|(at, _)| at)),
                };
            }
            self.stage = Stage::Draining;
        }
        if self.watch.total().is_some_and(|at| at <= now) {
            self.impatient = true;
        }
        match self.stage {
            Stage::Draining => self.drain(now),
            Stage::Gone => self.finish(now),
            Stage::Running | Stage::Ending => Next::Wait(None),
        }
    }

    /// Reads on for a while what was said before the end.
    fn drain(&mut self, now: Instant) -> Next {
        self.drain.reading(self.pending.is_empty(), now);
        let left = self.exit.is_some() && !self.stdout_open;
        let over = left || self.drain.is_over(now) || self.impatient || self.cut.is_some();
        if !over {
            return self.wait();
        }
        if self.start.keep_background && self.cut.is_none() {
            // Nothing is swept, so nobody else closes the pipes.
            return self.finish(now);
        }
        self.by_us |= self.exit.is_none();
        self.stage = Stage::Ending;
        Next::Kill(KillPlan::default())
    }

    /// Reads what is left in the pipes. Nothing of it is lost to a reader that is behind.
    fn finish(&mut self, now: Instant) -> Next {
        if self.impatient {
            // What is left is bounded by the pipe.
            self.push_pending();
        }
        let reading = self.pending.is_empty();
        self.drain.reading(reading, now);
        let all_read = !self.stdout_open && !self.stderr_open;
        if reading && (all_read || self.drain.is_over(now)) { Next::Over } else { self.wait() }
    }

    fn wait(&self) -> Next {
        let total = self.watch.total().filter(|_| !self.impatient);
        Next::Wait(self.drain.end().into_iter().chain(total).min())
    }

    /// Begins to end a child that still runs.
    fn end(&mut self, cut: Cut) -> KillPlan {
        self.cut = Some(cut);
        self.by_us = true;
        self.impatient = true;
        self.stage = Stage::Ending;
        let grace = self.start.profile.interrupt_grace;
        match cut {
            Cut::Overflow => KillPlan::default(),
            _ => match self.start.adapter.interrupt(&mut self.out) {
                Interrupt::Signal => KillPlan::interrupt_first(grace),
                Interrupt::Written if self.stdin.is_open() => KillPlan::asked(grace),
                Interrupt::Written | Interrupt::None => KillPlan::default(),
            },
        }
    }

    /// Somebody asks for the end. True when the end has begun already, so that it is to hurry.
    pub(super) fn abort(&mut self) -> bool {
        self.impatient = true;
        if self.stage == Stage::Running && self.cut.is_none() {
            self.cut = Some(Cut::Aborted);
            return false;
        }
        true
    }

    /// Hands on what waits, over the bound if need be.
    pub(super) fn push_pending(&mut self) {
        for event in self.pending.drain(..) {
            if let Err(SinkError::Closed) = self.start.events.push(event) {
                self.unread = true;
            }
        }
        if self.unread {
            self.unread();
        }
    }

    /// Nobody reads the events any more: a child that still works is ended.
    pub(super) fn unread(&mut self) {
        self.unread = true;
        self.pending.clear();
        if self.stage == Stage::Running && self.out.terminal().is_none() && self.exit.is_none() {
            self.cut = self.cut.or(Some(Cut::Unread));
        }
    }

    /// A line of stdout. What comes after the last word is not listened to.
    pub(super) fn line(&mut self, line: &str) {
        if self.out.terminal().is_some() || line.trim_ascii().is_empty() {
            return;
        }
        if let Err(noise) = self.start.adapter.parse_output(line, &mut self.out) {
            self.out.noise(line, &noise);
        }
    }

    /// A line was too long (M-15).
    pub(super) fn overflow(&mut self) {
        if self.out.terminal().is_none() && self.cut.is_none() {
            self.cut = Some(Cut::Overflow);
        }
    }

    /// A question has its answer.
    pub(super) fn answered(&mut self, answer: Answer) {
        let Answer { title, resolution } = answer;
        self.pending.extend(resolved(&title, &resolution));
        self.start.adapter.on_permission(&resolution, &mut self.out);
    }

    /// The child and all that it left were ended.
    pub(super) fn ended(&mut self, report: KillReport) {
        let KillReport { ended_by, exit, leftover } = report;
        self.exit = self.exit.or(exit);
        if self.cut.is_none() && ended_by != KillStep::AlreadyGone {
            self.leftover("ended the agent, which ran on after its last word".to_owned());
        }
        match leftover.killed {
            1.. if self.cut.is_some() => {}
            0 => {}
            1 => self.leftover("ended 1 process that the agent had left running".to_owned()),
            n => self.leftover(format!("ended {n} processes that the agent had left running")),
        }
        if leftover.survivors > 0 {
            let count = leftover.survivors;
            self.out.warn(format!("{count} processes of the agent could not be ended"));
        }
        self.gone();
    }

    fn leftover(&mut self, message: String) {
        self.pending.push_back(EventBody::notice(NoticeKind::Leftover, message));
    }

    /// The supervisor was killed, and all of the child with it.
    pub(super) fn lost(&mut self, lost: SupervisorLost) {
        if self.out.terminal().is_none() && self.cut.is_none() {
            self.cut = Some(Cut::Lost(lost));
        }
        self.gone();
    }

    fn gone(&mut self) {
        self.stage = Stage::Gone;
        self.drain = Countdown::new(DRAIN);
    }
}
