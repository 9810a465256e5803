//! The breaker of one plugin: after three failures in a row that are not the user's making it is
//! left alone for a while, and then tried once (M-36). Pure: the time is given.

use std::time::Duration;

use mia_api::{Cause, ErrorCode, Phase, PluginError};
use tokio::time::Instant;

/// How many failures in a row open it.
const FAILURES: u32 = 3;
/// How long it stays open.
const REST: Duration = Duration::from_secs(5 * 60);
/// The longest that a provider's own wish to wait is heeded.
const LONGEST: Duration = Duration::from_secs(60 * 60);

/// How a plugin's attempt bears on its breaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bearing {
    /// It is well.
    Well,
    /// It, or what it depends on, is not well.
    Unwell,
    /// The provider asks to wait that long.
    Wait(Duration),
    /// It says nothing about the plugin.
    Nothing,
}

impl Bearing {
    /// That of an attempt's outcome.
    pub(crate) fn of(error: Option<&PluginError>) -> Self {
        let Some(error) = error else { return Self::Well };
        match (error.code, error.cause, error.phase) {
            (ErrorCode::ProviderError, Some(Cause::RateLimited), _) => {
                match error.retry_after_ms.map(Duration::from_millis) {
                    Some(wait) => Self::Wait(wait.min(LONGEST)),
                    None => Self::Nothing,
                }
            }
            (ErrorCode::ProviderError, Some(Cause::Server | Cause::Overloaded), _)
            | (ErrorCode::Timeout, _, Some(Phase::Stall))
            | (ErrorCode::ProcessExit, ..) => Self::Unwell,
            // A folder that is not there is the caller's, and a program that is not there costs
            // nothing to look for: once it is installed it is to be asked.
            (ErrorCode::SpawnFailure, Some(Cause::WorkingDirectory | Cause::NotInstalled), _) => {
                Self::Nothing
            }
            (ErrorCode::SpawnFailure, ..) => Self::Unwell,
            _ => Self::Nothing,
        }
    }
}

/// Why a plugin is left alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    /// It failed several times in a row.
    Failures,
    /// Its provider asked to wait.
    Asked,
}

/// How an attempt was let through; [`Breaker::record`] wants it back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ticket {
    /// Nothing was wrong.
    Usual,
    /// It is the one that tries whether all is well again.
    Trial,
}

/// An attempt was not let through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Closed {
    /// Why not.
    pub(crate) why: Why,
    /// For how long; none while somebody tries, for that one will tell.
    pub(crate) left: Option<Duration>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    #[default]
    Working,
    Resting {
        until: Instant,
        why: Why,
    },
    /// Somebody tries whether it is well again.
    Tried {
        why: Why,
    },
}

/// The breaker of one plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Breaker {
    state: State,
    failures: u32,
}

impl Breaker {
    /// Lets an attempt through, or says why not.
    pub(crate) fn admit(&mut self, now: Instant) -> Result<Ticket, Closed> {
        match self.state {
            State::Working => Ok(Ticket::Usual),
            State::Resting { until, why } if now < until => {
                Err(Closed { why, left: Some(until - now) })
            }
            State::Resting { why, .. } => {
                self.state = State::Tried { why };
                Ok(Ticket::Trial)
            }
            State::Tried { why } => Err(Closed { why, left: None }),
        }
    }

    /// An attempt that was let through shows something. The others need not wait for its end, which
    /// may take hours; if it fails all the same, that is one failure too many.
    pub(crate) fn shows_life(&mut self, ticket: Ticket) {
        if let (Ticket::Trial, State::Tried { why }) = (ticket, self.state) {
            self.state = State::Working;
            self.failures = match why {
                Why::Failures => FAILURES - 1,
                Why::Asked => self.failures,
            };
        }
    }

    /// Takes note of how an attempt came out.
    pub(crate) fn record(&mut self, ticket: Ticket, bearing: Bearing, now: Instant) {
        let tried = match (ticket, self.state) {
            (Ticket::Trial, State::Tried { why }) => Some(why),
            _ => None,
        };
        match bearing {
            Bearing::Well => *self = Self::default(),
            Bearing::Wait(long) => self.rest(now + long, Why::Asked),
            Bearing::Unwell => {
                // One that began before the rest did says nothing new.
                if tried.is_none() && self.state != State::Working {
                    return;
                }
                self.failures = self.failures.saturating_add(1);
                if self.failures >= FAILURES || tried == Some(Why::Failures) {
                    self.rest(now + REST, Why::Failures);
                } else {
                    self.state = State::Working;
                }
            }
            // The next one may try.
            Bearing::Nothing => {
                if let Some(why) = tried {
                    self.state = State::Resting { until: now, why };
                }
            }
        }
    }

    /// Rests until then; a longer rest stays.
    fn rest(&mut self, until: Instant, why: Why) {
        match self.state {
            State::Resting { until: longer, .. } if longer >= until => {}
            _ => self.state = State::Resting { until, why },
        }
    }

    /// How long it is still left alone; none while it is asked.
    pub(crate) fn left(&self, now: Instant) -> Option<Duration> {
        match self.state {
            State::Working => None,
            State::Resting { until, .. } => Some(until.saturating_duration_since(now)),
            State::Tried { .. } => Some(Duration::ZERO),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    fn error(code: ErrorCode, cause: Option<Cause>) -> PluginError {
        PluginError { cause, ..PluginError::new(code, "p", "x") }
    }

    #[test]
    fn m_036_what_counts_and_what_never_does() {
        let table = [
            (ErrorCode::SpawnFailure, Some(Cause::NotInstalled), Bearing::Nothing),
            (ErrorCode::SpawnFailure, Some(Cause::NotExecutable), Bearing::Unwell),
            (ErrorCode::SpawnFailure, Some(Cause::WorkingDirectory), Bearing::Nothing),
            (ErrorCode::ProcessExit, Some(Cause::NoResult), Bearing::Unwell),
            (ErrorCode::ProviderError, Some(Cause::Server), Bearing::Unwell),
            (ErrorCode::ProviderError, Some(Cause::Overloaded), Bearing::Unwell),
            (ErrorCode::ProviderError, Some(Cause::InvalidRequest), Bearing::Nothing),
            (ErrorCode::ProviderError, Some(Cause::Authentication), Bearing::Nothing),
            (ErrorCode::ProviderError, Some(Cause::RateLimited), Bearing::Nothing),
            (ErrorCode::Aborted, Some(Cause::Requested), Bearing::Nothing),
            (ErrorCode::ConcurrencyLimit, None, Bearing::Nothing),
            (ErrorCode::BufferOverflow, None, Bearing::Nothing),
            (ErrorCode::SessionError, None, Bearing::Nothing),
        ];
        for (code, cause, bearing) in table {
            assert_eq!(Bearing::of(Some(&error(code, cause))), bearing, "{code} {cause:?}");
        }
        let stall = error(ErrorCode::Timeout, None).with_phase(Phase::Stall);
        assert_eq!(Bearing::of(Some(&stall)), Bearing::Unwell);
        let total = error(ErrorCode::Timeout, None).with_phase(Phase::Total);
        assert_eq!(Bearing::of(Some(&total)), Bearing::Nothing);
        let mut limited = error(ErrorCode::ProviderError, Some(Cause::RateLimited));
        limited.retry_after_ms = Some(7000);
        assert_eq!(Bearing::of(Some(&limited)), Bearing::Wait(Duration::from_secs(7)));
        limited.retry_after_ms = Some(u64::MAX);
        assert_eq!(Bearing::of(Some(&limited)), Bearing::Wait(LONGEST));
        assert_eq!(Bearing::of(None), Bearing::Well);
    }

    fn rests(left: Duration) -> Result<Ticket, Closed> {
        Err(Closed { why: Why::Failures, left: Some(left) })
    }

    /// One that has failed three times.
    fn resting(now: Instant) -> Breaker {
        let mut breaker = Breaker::default();
        for _ in 0..3 {
            assert_eq!(breaker.admit(now), Ok(Ticket::Usual));
            breaker.record(Ticket::Usual, Bearing::Unwell, now);
        }
        breaker
    }

    #[test]
    fn m_036_three_failures_in_a_row_open_it_for_five_minutes_and_then_one_may_try() {
        let start = Instant::now();
        let mut breaker = Breaker::default();
        let usual = Ticket::Usual;
        for bearing in [Bearing::Unwell, Bearing::Unwell, Bearing::Well, Bearing::Unwell] {
            assert_eq!(breaker.admit(start), Ok(usual));
            breaker.record(usual, bearing, start);
        }
        breaker.record(usual, Bearing::Nothing, start);
        breaker.record(usual, Bearing::Unwell, start);
        assert_eq!(breaker.admit(start), Ok(usual), "two in a row");
        breaker.record(usual, Bearing::Unwell, start);
        assert_eq!(breaker.admit(start + MINUTE), rests(4 * MINUTE));
        let later = start + 5 * MINUTE;
        assert_eq!(breaker.admit(later), Ok(Ticket::Trial));
        for _ in 0..9 {
            let closed = Closed { why: Why::Failures, left: None };
            assert_eq!(breaker.admit(later), Err(closed), "exactly one tries");
        }
        breaker.record(Ticket::Trial, Bearing::Nothing, later);
        assert_eq!(
            breaker.admit(later),
            Ok(Ticket::Trial),
            "who said nothing lets the next one try"
        );
        breaker.record(Ticket::Trial, Bearing::Unwell, later);
        assert_eq!(breaker.admit(later + MINUTE), rests(4 * MINUTE));
        assert_eq!(breaker.admit(later + 5 * MINUTE), Ok(Ticket::Trial));
        breaker.record(Ticket::Trial, Bearing::Well, later + 5 * MINUTE);
        assert_eq!(breaker.left(later + 5 * MINUTE), None);
    }

    #[test]
    fn m_036_one_that_began_earlier_is_not_the_one_that_tries() {
        let start = Instant::now();
        let later = start + 5 * MINUTE;
        for bearing in [Bearing::Nothing, Bearing::Unwell] {
            let mut breaker = resting(start);
            assert_eq!(breaker.admit(later), Ok(Ticket::Trial));
            breaker.record(Ticket::Usual, bearing, later);
            assert!(breaker.admit(later).is_err(), "still only one tries");
        }
    }

    #[test]
    fn m_036_who_tries_and_shows_something_lets_the_others_in() {
        let start = Instant::now();
        let mut breaker = resting(start);
        let later = start + 5 * MINUTE;
        assert_eq!(breaker.admit(later), Ok(Ticket::Trial));
        breaker.shows_life(Ticket::Trial);
        assert_eq!(breaker.admit(later), Ok(Ticket::Usual));
        breaker.record(Ticket::Trial, Bearing::Unwell, later);
        assert_eq!(breaker.admit(later), rests(5 * MINUTE), "it was not well after all");
    }

    #[test]
    fn m_036_a_wish_to_wait_is_heeded_and_makes_no_rest_shorter() {
        let start = Instant::now();
        let mut breaker = Breaker::default();
        breaker.record(Ticket::Usual, Bearing::Wait(MINUTE), start);
        let asked = Closed { why: Why::Asked, left: Some(MINUTE) };
        assert_eq!(breaker.admit(start), Err(asked));
        assert_eq!(breaker.admit(start + MINUTE), Ok(Ticket::Trial));
        breaker.record(Ticket::Trial, Bearing::Unwell, start + MINUTE);
        assert_eq!(breaker.admit(start + MINUTE), Ok(Ticket::Usual), "the first failure");
        let mut breaker = resting(start);
        breaker.record(Ticket::Usual, Bearing::Wait(MINUTE), start);
        assert_eq!(breaker.admit(start), rests(5 * MINUTE));
    }
}
