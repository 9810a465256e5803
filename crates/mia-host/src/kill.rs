//! How a child is ended: one routine for abort, timeout, stall, overflow, shutdown and drop
//! (M-21, M-24).
//!
//! *Why* a child is ended is the caller's business, [`KillPlan`] says *how*, and [`KillReport`]
//! what came of it. [`KillMachine`] decides each step and is pure: times go in as durations since
//! the kill began, actions come out. [`Process::kill`](crate::Process::kill) drives it.

use std::time::Duration;

use crate::{ExitStatus, Leftover, Signal};

/// How long a child may take to end after TERM, by default.
pub const GRACE: Duration = Duration::from_secs(5);

/// How a child is to be ended: perhaps a polite step, then TERM to its group, then KILL, and in
/// each case what is left of its tree at last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KillPlan {
    /// What is tried before TERM.
    pub polite: Option<PoliteStep>,
    /// How long the child may take to end after TERM. Zero: no TERM, KILL at once.
    pub grace: Duration,
}

/// A first step that lets an agent save its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoliteStep {
    /// What is sent to the child's group. `None` when the caller asks in another way, by a
    /// message on stdin or by closing it: then this is the time that it gets for that.
    pub signal: Option<Signal>,
    /// How long the child may take to end after it.
    pub grace: Duration,
}

impl Default for KillPlan {
    fn default() -> Self {
        Self { polite: None, grace: GRACE }
    }
}

impl KillPlan {
    /// KILL at once.
    pub const AT_ONCE: Self = Self { polite: None, grace: Duration::ZERO };

    /// SIGINT first, with this grace, then as by default.
    #[must_use]
    pub fn interrupt_first(grace: Duration) -> Self {
        let polite = PoliteStep { signal: Some(Signal::Interrupt), grace };
        Self { polite: Some(polite), ..Self::default() }
    }

    /// The caller has asked the child in its own way, which gets this grace; then as by default.
    #[must_use]
    pub fn asked(grace: Duration) -> Self {
        Self { polite: Some(PoliteStep { signal: None, grace }), ..Self::default() }
    }
}

/// The step that ended a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KillStep {
    /// None: the child had ended before.
    AlreadyGone,
    /// The polite one.
    Polite,
    /// TERM.
    Terminate,
    /// KILL.
    Kill,
}

/// What came of a kill. The child and its tree are gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KillReport {
    /// The step that ended the child itself.
    pub ended_by: KillStep,
    /// How the child ended. `None` only where it could not be killed in 3 s.
    pub exit: Option<ExitStatus>,
    /// What the child left behind and was killed after it.
    pub leftover: Leftover,
}

/// What happens to a kill from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KillEvent {
    /// Time went by.
    Tick,
    /// The child itself has ended.
    Exited,
    /// Somebody asked again: no more patience.
    Hurry,
}

/// What is to be done now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KillAction {
    /// Send this to the child's group.
    Signal(Signal),
    /// Kill all that is left, the child included, and reap it. The last action.
    Sweep,
}

/// Decides the steps of one kill.
#[derive(Clone, Copy, Debug)]
pub struct KillMachine {
    plan: KillPlan,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    New,
    Polite { until: Duration },
    Terminating { until: Duration },
    Over(KillStep),
}

impl KillMachine {
    /// A kill that has not begun.
    #[must_use]
    pub fn new(plan: KillPlan) -> Self {
        Self { plan, phase: Phase::New }
    }

    /// Takes what happened, `at` this time since the kill began. The first call begins it, with
    /// any event. After [`KillAction::Sweep`] there is nothing more to do, whatever happens.
    pub fn on(&mut self, event: KillEvent, at: Duration) -> Option<KillAction> {
        match (self.phase, event) {
            (Phase::Over(_), _) => None,
            (Phase::New, KillEvent::Exited) => self.sweep(KillStep::AlreadyGone),
            (Phase::Polite { .. }, KillEvent::Exited) => self.sweep(KillStep::Polite),
            (Phase::Terminating { .. }, KillEvent::Exited) => self.sweep(KillStep::Terminate),
            (_, KillEvent::Hurry) => self.sweep(KillStep::Kill),
            (Phase::New, KillEvent::Tick) => match self.plan.polite {
                Some(step) => {
                    self.phase = Phase::Polite { until: at.saturating_add(step.grace) };
                    step.signal.map(KillAction::Signal)
                }
                None => self.terminate(at),
            },
            (Phase::Polite { until }, KillEvent::Tick) if at >= until => self.terminate(at),
            (Phase::Terminating { until }, KillEvent::Tick) if at >= until => {
                self.sweep(KillStep::Kill)
            }
            (Phase::Polite { .. } | Phase::Terminating { .. }, KillEvent::Tick) => None,
        }
    }

    /// When the next [`KillEvent::Tick`] is due, since the kill began.
    #[must_use]
    pub fn deadline(&self) -> Option<Duration> {
        match self.phase {
            Phase::New => Some(Duration::ZERO),
            Phase::Polite { until } | Phase::Terminating { until } => Some(until),
            Phase::Over(_) => None,
        }
    }

    /// The step that ended the child, once there is nothing more to do than to sweep.
    #[must_use]
    pub fn ended_by(&self) -> Option<KillStep> {
        match self.phase {
            Phase::Over(step) => Some(step),
            _ => None,
        }
    }

    fn terminate(&mut self, at: Duration) -> Option<KillAction> {
        if self.plan.grace.is_zero() {
            return self.sweep(KillStep::Kill);
        }
        self.phase = Phase::Terminating { until: at.saturating_add(self.plan.grace) };
        Some(KillAction::Signal(Signal::Terminate))
    }

    fn sweep(&mut self, ended_by: KillStep) -> Option<KillAction> {
        self.phase = Phase::Over(ended_by);
        Some(KillAction::Sweep)
    }
}

#[cfg(test)]
mod tests {
    use super::KillAction::{Signal as Send, Sweep};
    use super::KillEvent::{Exited, Hurry, Tick};
    use super::*;

    type Row = (KillEvent, u64, Option<KillAction>);

    /// Feeds events at these milliseconds, and compares what comes out and the end.
    fn check(plan: KillPlan, rows: &[Row], ended_by: Option<KillStep>) {
        let mut machine = KillMachine::new(plan);
        for (event, at, action) in rows {
            assert_eq!(
                machine.on(*event, Duration::from_millis(*at)),
                *action,
                "{event:?} at {at}"
            );
        }
        assert_eq!(machine.ended_by(), ended_by);
    }

    const INT: Option<KillAction> = Some(Send(Signal::Interrupt));
    const TERM: Option<KillAction> = Some(Send(Signal::Terminate));
    const SWEEP: Option<KillAction> = Some(Sweep);

    #[test]
    fn m_021_term_then_five_seconds_then_kill() {
        let rows = [(Tick, 0, TERM), (Tick, 4999, None), (Tick, 5000, SWEEP), (Tick, 9000, None)];
        check(KillPlan::default(), &rows, Some(KillStep::Kill));
    }

    #[test]
    fn m_021_the_step_that_ended_the_child_is_told() {
        let polite = KillPlan::interrupt_first(Duration::from_secs(2));
        let default = KillPlan::default();
        check(default, &[(Exited, 0, SWEEP)], Some(KillStep::AlreadyGone));
        check(default, &[(Tick, 0, TERM), (Exited, 10, SWEEP)], Some(KillStep::Terminate));
        check(polite, &[(Tick, 0, INT), (Exited, 10, SWEEP)], Some(KillStep::Polite));
        let rows = [(Tick, 0, INT), (Tick, 2000, TERM), (Exited, 2001, SWEEP)];
        check(polite, &rows, Some(KillStep::Terminate));
        let rows = [(Tick, 0, INT), (Tick, 2500, TERM), (Tick, 7499, None), (Tick, 7500, SWEEP)];
        check(polite, &rows, Some(KillStep::Kill));
    }

    #[test]
    fn m_024_a_second_request_kills_in_every_phase() {
        let polite = KillPlan::interrupt_first(Duration::from_secs(2));
        let killed = Some(KillStep::Kill);
        check(polite, &[(Hurry, 0, SWEEP)], killed);
        check(polite, &[(Tick, 0, INT), (Hurry, 1, SWEEP), (Hurry, 2, None)], killed);
        check(polite, &[(Tick, 0, INT), (Tick, 2000, TERM), (Hurry, 2001, SWEEP)], killed);
        // But what has ended before was not ended by it.
        let rows = [(Tick, 0, INT), (Exited, 1, SWEEP), (Hurry, 2, None)];
        check(polite, &rows, Some(KillStep::Polite));
    }

    #[test]
    fn a_request_of_the_callers_own_sends_no_signal() {
        let rows = [(Tick, 0, None), (Tick, 999, None), (Tick, 1000, TERM), (Exited, 1001, SWEEP)];
        check(KillPlan::asked(Duration::from_secs(1)), &rows, Some(KillStep::Terminate));
    }

    #[test]
    fn no_grace_no_term() {
        check(KillPlan::AT_ONCE, &[(Tick, 0, SWEEP)], Some(KillStep::Kill));
    }

    #[test]
    fn the_deadline_is_when_a_tick_has_an_effect() {
        let mut machine = KillMachine::new(KillPlan::interrupt_first(Duration::from_secs(2)));
        let mut actions = Vec::new();
        while let Some(at) = machine.deadline() {
            actions.push((at.as_secs(), machine.on(Tick, at)));
        }
        assert_eq!(actions, [(0, INT), (2, TERM), (7, SWEEP)]);
    }

    #[test]
    fn an_endless_grace_does_not_overflow() {
        let plan = KillPlan { polite: None, grace: Duration::MAX };
        check(plan, &[(Tick, 5, TERM), (Tick, u64::MAX, None)], None);
    }
}
