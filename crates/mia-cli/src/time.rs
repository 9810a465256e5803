//! Times for people.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ZonedDateTime};

/// How long something took.
pub(crate) fn took(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..10 => format!("{}.{} s", seconds, time.subsec_millis() / 100),
        10..120 => format!("{seconds} s"),
        120..3600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// How long ago something was.
pub(crate) fn ago(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{seconds} s ago"),
        60..3600 => format!("{} min ago", seconds / 60),
        3600..172_800 => format!("{} h ago", seconds / 3600),
        _ => format!("{} days ago", seconds / 86_400),
    }
}

/// Unix milliseconds now.
pub(crate) fn now() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_millis()).unwrap_or(i64::MAX)
}

/// How long ago that was, in unix milliseconds; nothing for what is to come.
pub(crate) fn since(then: i64) -> Duration {
    Duration::from_millis(u64::try_from(now().saturating_sub(then)).unwrap_or(0))
}

/// The last midnight here, in unix milliseconds.
pub(crate) fn midnight() -> i64 {
    ZonedDateTime::now()
        .start_of_day()
        .map_or_else(|_| now() - 86_400_000, |day| day.timestamp().as_millisecond())
}

/// A moment in unix milliseconds: a time before now (`90m`, `2d`), a date (its midnight here), or a
/// date with a time.
pub(crate) fn moment(text: &str) -> Result<i64, String> {
    if let Ok(before) = mia_config::parse_duration(text) {
        let before = i64::try_from(before.as_millis()).unwrap_or(i64::MAX);
        return Ok(now().saturating_sub(before));
    }
    if let Ok(date) = text.parse::<Date>() {
        let day = date.to_zoned_datetime(TimeZone::system()).map_err(|error| error.to_string())?;
        return Ok(day.timestamp().as_millisecond());
    }
    let moment = text.parse::<Timestamp>().map(|moment| moment.as_millisecond());
    moment.map_err(|_| {
        "is no time: write 90m or 2d for so long ago, or a date such as 2026-11-30".to_owned()
    })
}

/// A moment for people: date and time here.
pub(crate) fn shown(moment: i64) -> String {
    match Timestamp::from_millisecond(moment) {
        Ok(moment) => {
            moment.to_zoned_datetime(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string()
        }
        Err(_) => "?".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_short() {
        let of = |seconds: f64| took(Duration::from_secs_f64(seconds));
        let shown: Vec<_> = [0.04, 1.24, 9.99, 75.0, 125.0, 3725.0].map(of).into();
        let wanted = ["0.0 s", "1.2 s", "9.9 s", "75 s", "2 min 05 s", "1 h 02 min"];
        assert_eq!(shown, wanted);
        assert_eq!(ago(Duration::from_secs(61)), "1 min ago");
        assert_eq!(ago(Duration::from_secs(200_000)), "2 days ago");
    }
}
