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
            // A folder that is not there is the caller's.
            (ErrorCode::SpawnFailure, cause, _) if cause != Some(Cause::WorkingDirectory) => {
                Self::Unwell
            }
            _ => Self::Nothing,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    #[default]
    Closed,
    Open {
        until: Instant,
    },
    /// Open, and somebody tries whether it is well again.
    Trying,
}

/// The breaker of one plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Breaker {
    state: State,
    failures: u32,
}

impl Breaker {
    /// Lets an attempt through, or says how long it is not to be tried. Each attempt that is let
    /// through is to be followed by [`Breaker::record`].
    pub(crate) fn admit(&mut self, now: Instant) -> Result<(), Duration> {
        match self.state {
            State::Closed => Ok(()),
            State::Open { until } if now < until => Err(until - now),
            State::Open { .. } => {
                self.state = State::Trying;
                Ok(())
            }
            // Whoever tries will tell.
            State::Trying => Err(Duration::ZERO),
        }
    }

    /// Takes note of how an attempt came out.
    pub(crate) fn record(&mut self, bearing: Bearing, now: Instant) {
        match bearing {
            Bearing::Well => *self = Self::default(),
            Bearing::Unwell => {
                self.failures = self.failures.saturating_add(1);
                if self.failures >= FAILURES || self.state == State::Trying {
                    self.state = State::Open { until: now + REST };
                }
            }
            Bearing::Wait(long) => self.state = State::Open { until: now + long },
            // The next one may try.
            Bearing::Nothing if self.state == State::Trying => {
                self.state = State::Open { until: now };
            }
            Bearing::Nothing => {}
        }
    }

    /// How long it is still left alone; none while it is closed.
    pub(crate) fn left(&self, now: Instant) -> Option<Duration> {
        match self.state {
            State::Closed => None,
            State::Open { until } => Some(until.saturating_duration_since(now)),
            State::Trying => Some(Duration::ZERO),
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
            (ErrorCode::SpawnFailure, Some(Cause::NotInstalled), Bearing::Unwell),
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

    #[test]
    fn m_036_three_failures_in_a_row_open_it_for_five_minutes_and_then_one_may_try() {
        let start = Instant::now();
        let mut breaker = Breaker::default();
        for bearing in [Bearing::Unwell, Bearing::Unwell, Bearing::Well, Bearing::Unwell] {
            assert_eq!(breaker.admit(start), Ok(()));
            breaker.record(bearing, start);
        }
        breaker.record(Bearing::Nothing, start);
        breaker.record(Bearing::Unwell, start);
        assert_eq!(breaker.admit(start), Ok(()), "two in a row");
        breaker.record(Bearing::Unwell, start);
        assert_eq!(breaker.admit(start + MINUTE), Err(4 * MINUTE));
        let later = start + 5 * MINUTE;
        assert_eq!(breaker.admit(later), Ok(()));
        for _ in 0..9 {
            assert_eq!(breaker.admit(later), Err(Duration::ZERO), "exactly one tries");
        }
        breaker.record(Bearing::Nothing, later);
        assert_eq!(breaker.admit(later), Ok(()), "one that said nothing lets the next one try");
        breaker.record(Bearing::Unwell, later);
        assert_eq!(breaker.admit(later + MINUTE), Err(4 * MINUTE));
        assert_eq!(breaker.admit(later + 5 * MINUTE), Ok(()));
        breaker.record(Bearing::Well, later + 5 * MINUTE);
        assert_eq!(breaker.left(later + 5 * MINUTE), None);
    }

    #[test]
    fn m_036_a_wish_to_wait_is_heeded_at_once() {
        let start = Instant::now();
        let mut breaker = Breaker::default();
        breaker.record(Bearing::Wait(MINUTE), start);
        assert_eq!(breaker.admit(start), Err(MINUTE));
        assert_eq!(breaker.admit(start + MINUTE), Ok(()));
    }
}
