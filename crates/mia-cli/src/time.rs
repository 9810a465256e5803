//! Times for people.

use std::time::Duration;

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
