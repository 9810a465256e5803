//! The daemon takes what is too old, or too much, off the record (M-70).

use std::time::Duration;

use mia_config::History;
use mia_daemon::Server;
use mia_store::Store;

use crate::time::now;

/// How long after the start, and how often, the record is looked at.
const WAITS: (Duration, Duration) = (Duration::from_secs(60), Duration::from_secs(60 * 60));

/// Looks again and again, for as long as this is polled.
pub(crate) async fn keep_to(server: &Server) {
    let record = || {
        let core = server.read_only().is_none().then(|| server.core())?;
        Some((core.store().clone(), core.plugins().config().history))
    };
    look_again_and_again(WAITS, record, now).await;
}

/// `record` is none while nothing can be removed; `now` is the clock of the wall.
async fn look_again_and_again(
    (first, every): (Duration, Duration),
    record: impl Fn() -> Option<(Store, History)>,
    now: impl Fn() -> i64,
) {
    let mut clock = Clock::default();
    let mut wait = first;
    loop {
        tokio::time::sleep(wait).await;
        wait = every;
        let believed = clock.look(now());
        let Some((store, history)) = record() else { continue };
        let before = believed.zip(history.keep).map(|(at, keep)| earlier(at, keep));
        match store.prune(before, history.max_size).await {
            Ok(pruned) if pruned.tasks > 0 => {
                tracing::info!("{} tasks were taken off the record", pruned.tasks);
            }
            Ok(_) => {}
            Err(error) => tracing::warn!("nothing was taken off the record: {error}"),
        }
    }
}

/// That long before, in unix milliseconds.
fn earlier(at: i64, time: Duration) -> i64 {
    at.saturating_sub(i64::try_from(time.as_millis()).unwrap_or(i64::MAX))
}

/// The clock of the wall, which may be wrong for a while: a dead battery, a machine that was restored,
/// somebody who tries something. What one wrong look at it removed would be gone for good, so only what
/// was too old at the look before, too, is. Between two looks the clock of the process has gone on by
/// an hour, whatever that of the wall did. The look before is not kept for the next daemon: what a
/// wrong clock had left there, a start with the same wrong clock would confirm.
#[derive(Debug, Default)]
struct Clock {
    before: Option<i64>,
}

impl Clock {
    /// Takes what the clock says now, in unix milliseconds; the earlier one of this look and of the one
    /// before. None at the first look.
    fn look(&mut self, now: i64) -> Option<i64> {
        self.before.replace(now).map(|before| before.min(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::{Cell, RefCell};
    use std::pin::pin;

    use mia_api::{ErrorCode, PluginError};
    use mia_store::{Filter, NewTask, OpenOptions};
    use pretty_assertions::assert_eq;
    use tokio::sync::Notify;
    use tokio::time::{Instant, timeout};

    const HOUR: i64 = 3_600_000;
    const YEARS: i64 = 73 * 365 * 24 * HOUR;

    fn believed(looks: &[i64]) -> Vec<Option<i64>> {
        let mut clock = Clock::default();
        looks.iter().map(|now| clock.look(*now)).collect()
    }

    #[test]
    fn m_070_a_clock_that_is_ahead_at_one_look_makes_nothing_old() {
        let looks = [0, HOUR, YEARS, 3 * HOUR, 4 * HOUR];
        assert_eq!(believed(&looks), [None, Some(0), Some(HOUR), Some(3 * HOUR), Some(3 * HOUR)]);
        assert_eq!(believed(&[YEARS, HOUR, 2 * HOUR]), [None, Some(HOUR), Some(HOUR)]);
    }

    #[test]
    fn m_070_a_clock_that_goes_back_makes_nothing_old() {
        let looks = [10 * HOUR, -YEARS, -YEARS + HOUR];
        assert_eq!(believed(&looks), [None, Some(-YEARS), Some(-YEARS)]);
    }

    #[test]
    fn m_070_after_a_suspended_week_the_second_look_believes_it() {
        let week = 7 * 24 * HOUR;
        assert_eq!(believed(&[0, week, week + HOUR]), [None, Some(0), Some(week)]);
    }

    /// A record with one ended task.
    async fn record_of_one(folder: &tempfile::TempDir) -> Store {
        let store =
            Store::open(folder.path().join("mia.db"), OpenOptions::default()).await.unwrap();
        let task = NewTask {
            task_id: "task".parse().unwrap(),
            conversation_id: "talk".parse().unwrap(),
            prompt: "x".to_owned(),
            plugin: None,
            model: None,
            cwd: "/".into(),
            queue_limit: None,
        };
        store.accept(&task, &store.owner().unwrap()).await.unwrap();
        let error = PluginError::new(ErrorCode::Aborted, "", "x");
        store.withdraw(&task.task_id, &error).await.unwrap();
        store
    }

    /// How many tasks are on record before each look, when the first one is a minute after the task was
    /// accepted, and each other one an hour later.
    async fn before_each(count: usize, history: History) -> Vec<usize> {
        let folder = tempfile::tempdir().unwrap();
        let store = record_of_one(&folder).await;
        let tasks = async || store.recent(&Filter::default()).await.unwrap();
        let (clock, begun) = (Cell::new(tasks().await.first().unwrap().created_at), Notify::new());
        clock.set(clock.get() + 60_000 - HOUR);
        let now = || {
            begun.notify_one();
            clock.set(clock.get() + HOUR);
            clock.get()
        };
        let at_once = (Duration::ZERO, Duration::ZERO);
        let mut looking =
            pin!(look_again_and_again(at_once, || Some((store.clone(), history)), now));
        let mut seen = Vec::new();
        while seen.len() < count {
            tokio::select! {
                biased;
                // Then the look before is over, and this one has not yet got to the record.
                () = begun.notified() => seen.push(tasks().await.len()),
                () = &mut looking => unreachable!("it goes on for ever"),
            }
        }
        seen
    }

    #[tokio::test(start_paused = true)]
    async fn the_looks_are_a_minute_after_the_start_and_then_each_hour() {
        let (start, times) = (Instant::now(), RefCell::new(Vec::new()));
        let now = || {
            times.borrow_mut().push(start.elapsed().as_secs());
            0
        };
        let looking = look_again_and_again(WAITS, || None, now);
        timeout(Duration::from_secs(3 * 60 * 60), looking).await.unwrap_err();
        assert_eq!(times.into_inner(), [60, 3660, 7260]);
    }

    #[tokio::test]
    async fn m_070_what_is_too_old_goes_when_it_was_so_at_the_look_before_too() {
        let keep = Some(Duration::from_secs(90 * 60));
        assert_eq!(before_each(5, History { keep, max_size: None }).await, [1, 1, 1, 1, 0]);
    }

    #[tokio::test]
    async fn m_070_what_is_too_much_goes_at_the_first_look() {
        assert_eq!(before_each(2, History { keep: None, max_size: Some(1) }).await, [1, 0]);
    }

    #[tokio::test]
    async fn m_070_without_limits_nothing_goes() {
        assert_eq!(before_each(4, History { keep: None, max_size: None }).await, [1; 4]);
    }
}
