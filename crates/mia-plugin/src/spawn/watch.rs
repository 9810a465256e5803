//! Time limits of a dispatch, as a pure machine (M-19).

use std::time::Duration;

use mia_api::Phase;
use tokio::time::Instant;

/// The limits; none is off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limits {
    pub(super) total: Option<Duration>,
    pub(super) stall: Option<Duration>,
    pub(super) tool: Option<Duration>,
}

/// How late a timer may be before this process must have stood still.
const OVERSLEPT: Duration = Duration::from_secs(1);

/// Watches a dispatch's time. It has no clock: every call brings the time.
///
/// The total limit runs from the beginning, start included. The limit for silence runs from the
/// last byte of stdout or stderr, only while we are reading, and not while a tool call or a
/// permission is open: then the limit for tools runs, from the moment that the first of them opened
/// or the last byte came.
#[derive(Debug)]
pub(super) struct Watch {
    limits: Limits,
    started: Instant,
    /// When the clock for silence last began.
    quiet_since: Instant,
    /// How many bytes of stdout had come then.
    bytes: u64,
    reading: bool,
    open: bool,
}

impl Watch {
    /// For an attempt that begins `now`, of a dispatch that began earlier.
    pub(super) fn new(limits: Limits, started: Instant, now: Instant) -> Self {
        Self { limits, started, quiet_since: now, bytes: 0, reading: true, open: false }
    }

    /// So many bytes of stdout came so far, of lines that are not complete too.
    pub(super) fn counted(&mut self, bytes: u64, now: Instant) {
        if bytes != self.bytes {
            self.bytes = bytes;
            self.heard(now);
        }
    }

    /// Bytes came.
    pub(super) fn heard(&mut self, now: Instant) {
        self.quiet_since = now;
    }

    /// We read, or we don't for our own reader is behind. Time in which we don't read is nobody's
    /// silence.
    pub(super) fn reading(&mut self, reading: bool, now: Instant) {
        if reading != self.reading {
            self.reading = reading;
            self.quiet_since = now;
        }
    }

    /// A tool call or a permission is open, or none is.
    pub(super) fn open(&mut self, open: bool, now: Instant) {
        if open != self.open {
            self.open = open;
            self.quiet_since = now;
        }
    }

    /// When the next limit runs out and which one it is.
    pub(super) fn deadline(&self) -> Option<(Instant, Phase)> {
        let total = self.total();
        let quiet = match (self.reading, self.open) {
            (false, _) => None,
            (true, true) => self.limits.tool.map(|limit| (limit, Phase::Tool)),
            (true, false) => self.limits.stall.map(|limit| (limit, Phase::Stall)),
        };
        let quiet =
            quiet.and_then(|(limit, phase)| Some((self.quiet_since.checked_add(limit)?, phase)));
        match (total, quiet) {
            (Some(total), Some((quiet, phase))) if quiet < total => Some((quiet, phase)),
            (Some(total), _) => Some((total, Phase::Total)),
            (None, quiet) => quiet,
        }
    }

    /// When the limit for everything runs out.
    pub(super) fn total(&self) -> Option<Instant> {
        self.limits.total.and_then(|limit| self.started.checked_add(limit))
    }

    /// Looks whether this process itself stood still: it was stopped (Ctrl-Z), or the machine slept,
    /// and wakes long after the time it had set. What the agent said meanwhile is still to be read,
    /// so its silence begins anew.
    pub(super) fn woke(&mut self, now: Instant) {
        let late = self
            .deadline()
            .filter(|(_, phase)| *phase != Phase::Total)
            .is_some_and(|(at, _)| now.saturating_duration_since(at) > OVERSLEPT);
        if late {
            self.quiet_since = now;
        }
    }

    /// The limit that has run out, if one has.
    pub(super) fn expired(&self, now: Instant) -> Option<Phase> {
        self.deadline().filter(|(at, _)| *at <= now).map(|(_, phase)| phase)
    }

    /// The limit of that phase, for the message.
    pub(super) fn limit(&self, phase: Phase) -> Duration {
        match phase {
            Phase::Tool => self.limits.tool,
            Phase::Stall => self.limits.stall,
            _ => self.limits.total,
        }
        .unwrap_or_default()
    }
}

/// A time that passes only while we read: what an agent said before it left is waiting in the
/// pipe, and a reader that is behind must not lose it.
#[derive(Debug)]
pub(super) struct Countdown {
    left: Duration,
    since: Option<Instant>,
}

impl Countdown {
    pub(super) fn new(time: Duration) -> Self {
        Self { left: time, since: None }
    }

    /// From now on we read, or we don't.
    pub(super) fn reading(&mut self, reading: bool, now: Instant) {
        if reading {
            self.since.get_or_insert(now);
        } else if let Some(since) = self.since.take() {
            self.left = self.left.saturating_sub(now.saturating_duration_since(since));
        }
    }

    /// When it is over, if we go on reading.
    pub(super) fn end(&self) -> Option<Instant> {
        self.since.map(|since| since + self.left)
    }

    pub(super) fn is_over(&self, now: Instant) -> bool {
        self.end().is_some_and(|end| end <= now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn watch(total: u32, stall: u32, tool: u32) -> (Watch, Instant) {
        let start = Instant::now();
        let seconds = |n: u32| (n > 0).then(|| SECOND * n);
        let limits = Limits { total: seconds(total), stall: seconds(stall), tool: seconds(tool) };
        (Watch::new(limits, start, start), start)
    }

    #[test]
    fn m_019_an_event_every_nine_tenths_of_the_limit_is_no_stall() {
        let (mut watch, start) = watch(0, 10, 0);
        for step in 1..100 {
            let now = start + SECOND * 9 * step;
            assert_eq!(watch.expired(now), None);
            watch.heard(now);
        }
        assert_eq!(watch.expired(start + SECOND * (99 * 9 + 10)), Some(Phase::Stall));
    }

    #[test]
    fn m_019_an_open_tool_suspends_the_stall_up_to_its_own_limit() {
        let (mut watch, start) = watch(0, 10, 100);
        watch.open(true, start + SECOND * 5);
        assert_eq!(watch.expired(start + SECOND * 35), None);
        watch.open(false, start + SECOND * 40);
        assert_eq!(watch.expired(start + SECOND * 49), None);
        assert_eq!(watch.expired(start + SECOND * 50), Some(Phase::Stall));
        watch.open(true, start + SECOND * 49);
        assert_eq!(watch.expired(start + SECOND * 148), None);
        assert_eq!(watch.expired(start + SECOND * 149), Some(Phase::Tool));
    }

    #[test]
    fn m_019_time_in_which_we_do_not_read_is_no_silence() {
        let (mut watch, start) = watch(0, 10, 0);
        watch.reading(false, start + SECOND * 9);
        assert_eq!(watch.expired(start + SECOND * 1000), None);
        watch.reading(true, start + SECOND * 1000);
        assert_eq!(watch.expired(start + SECOND * 1009), None);
        assert_eq!(watch.expired(start + SECOND * 1010), Some(Phase::Stall));
    }

    #[test]
    fn m_019_a_part_of_a_line_is_a_sign_of_life() {
        let (mut watch, start) = watch(0, 10, 0);
        watch.counted(1, start + SECOND * 9);
        watch.counted(1, start + SECOND * 18);
        assert_eq!(watch.expired(start + SECOND * 18), None);
        assert_eq!(watch.expired(start + SECOND * 19), Some(Phase::Stall));
    }

    #[test]
    fn m_019_a_second_attempt_has_its_own_silence_and_the_same_total() {
        let start = Instant::now();
        let limits = Limits { total: Some(SECOND * 15), stall: Some(SECOND * 10), tool: None };
        let watch = Watch::new(limits, start, start + SECOND * 9);
        assert_eq!(watch.expired(start + SECOND * 14), None);
        assert_eq!(watch.expired(start + SECOND * 15), Some(Phase::Total));
    }

    #[test]
    fn m_022_a_drain_counts_only_time_in_which_we_read() {
        let start = Instant::now();
        let mut drain = Countdown::new(SECOND * 2);
        assert!(!drain.is_over(start + SECOND * 100), "it has not begun");
        drain.reading(true, start);
        drain.reading(true, start + SECOND);
        drain.reading(false, start + SECOND);
        assert!(!drain.is_over(start + SECOND * 100));
        drain.reading(true, start + SECOND * 100);
        assert_eq!(drain.end(), Some(start + SECOND * 101));
        assert!(!drain.is_over(start + SECOND * 100));
        assert!(drain.is_over(start + SECOND * 101));
    }

    #[test]
    fn m_019_a_process_that_was_stopped_itself_sees_no_stall() {
        let (mut watch, start) = watch(0, 10, 0);
        let woken = start + SECOND * 60;
        watch.woke(woken);
        assert_eq!(watch.expired(woken), None);
        watch.woke(woken + SECOND * 10);
        assert_eq!(watch.expired(woken + SECOND * 10), Some(Phase::Stall));
    }

    #[test]
    fn m_019_the_total_limit_covers_everything_and_off_is_off() {
        let (mut watch, start) = watch(20, 10, 100);
        watch.open(true, start);
        watch.heard(start + SECOND * 19);
        assert_eq!(watch.expired(start + SECOND * 20), Some(Phase::Total));
        let (off, start) = self::watch(0, 0, 0);
        assert_eq!(off.deadline(), None);
        assert_eq!(off.expired(start + SECOND * 1_000_000), None);
    }
}
