//! Durations and sizes as people write them.

use std::fmt::Write;
use std::time::Duration;

/// Milliseconds of each unit, largest first.
const TIMES: [(&str, u64); 5] =
    [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// Bytes of each unit, largest first. `MB` is 1000 kB; nobody is told otherwise.
const SIZES: [(&str, u64); 8] = [
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1_000),
    ("B", 1),
];

/// `1h30m`, `500ms`, or a bare number of milliseconds. Each unit at most once, larger ones first.
/// `None` when it is none of these or too large for 64 bits of milliseconds.
pub(crate) fn duration(text: &str) -> Option<Duration> {
    if let Some(millis) = digits(text) {
        return Some(Duration::from_millis(millis));
    }
    let mut rest = text;
    let mut total = 0_u64;
    let mut units = TIMES.iter();
    while !rest.is_empty() {
        let (number, tail) = split(rest, |c| !c.is_ascii_digit());
        let (unit, tail) = split(tail, |c| !c.is_ascii_alphabetic());
        let (_, factor) = units.find(|(name, _)| *name == unit)?;
        total = total.checked_add(digits(number)?.checked_mul(*factor)?)?;
        rest = tail;
    }
    (!text.is_empty()).then(|| Duration::from_millis(total))
}

/// A time as a person writes it on a command line: `90s`, `20m`, `1h30m`, `500ms`.
///
/// # Errors
///
/// What is wrong with it, as a fragment: no unit, an unknown one, zero, or more than 10 years.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    if digits(text).is_some() {
        return Err(format!("{text} has no unit: write {text}s, {text}m or {text}h"));
    }
    match duration(text) {
        None => Err("is no time: write 90s, 20m or 1h30m".to_owned()),
        Some(Duration::ZERO) => Err("is no time to work in: write 90s, 20m or 1h30m".to_owned()),
        Some(time) if time > Duration::from_secs(10 * 366 * 86_400) => {
            Err("is over 10 years; leave it out for the plugin's own limit".to_owned())
        }
        Some(time) => Ok(time),
    }
}

/// `32MiB`, `64 KiB`, or a bare number of bytes; `None` otherwise or when over 64 bits.
pub(crate) fn size(text: &str) -> Option<u64> {
    if let Some(bytes) = digits(text) {
        return Some(bytes);
    }
    let (number, unit) = split(text, |c| !c.is_ascii_digit());
    let (_, factor) = SIZES.iter().find(|(name, _)| *name == unit.trim_start())?;
    digits(number)?.checked_mul(*factor)
}

/// Only ASCII digits: no sign, no blank, no underscore.
pub(crate) fn digits(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

fn split(text: &str, at: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(at).unwrap_or(text.len()))
}

/// The shortest form that [`duration`] reads back.
pub(crate) fn format_duration(value: Duration) -> String {
    let mut rest = u64::try_from(value.as_millis()).unwrap_or(u64::MAX);
    let mut text = String::new();
    for (unit, factor) in TIMES {
        if rest >= factor {
            let _ = write!(text, "{}{unit}", rest / factor);
            rest %= factor;
        }
    }
    if text.is_empty() { "0ms".into() } else { text }
}

/// The shortest exact form that [`size`] reads back.
pub(crate) fn format_size(bytes: u64) -> String {
    SIZES
        .iter()
        .filter(|(unit, _)| unit.ends_with("iB"))
        .find(|(_, factor)| bytes >= *factor && bytes.is_multiple_of(*factor))
        .map_or_else(|| bytes.to_string(), |(unit, factor)| format!("{}{unit}", bytes / factor))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn m_002_durations_as_written() {
        let ms = |text| duration(text).map(|value| value.as_millis());
        assert_eq!(ms("30m"), Some(1_800_000));
        assert_eq!(ms("1h30m"), Some(5_400_000));
        assert_eq!(ms("1d2h3m4s5ms"), Some(93_784_005));
        assert_eq!(ms("500ms"), Some(500));
        assert_eq!(ms("5000"), Some(5000));
        for wrong in [
            "",
            " 1h",
            "1 h",
            "30m1h",
            "1h1h",
            "h",
            "1x",
            "-1h",
            "+1h",
            "1.5h",
            "NaN",
            ".inf",
            "1h ",
            "1H",
            "18446744073709551616",
            "9999999999999999d",
        ] {
            assert_eq!(ms(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn sizes_as_written() {
        assert_eq!(size("32MiB"), Some(33_554_432));
        assert_eq!(size("64 KiB"), Some(65_536));
        assert_eq!(size("2GiB"), Some(2_147_483_648));
        assert_eq!(size("5MB"), Some(5_000_000));
        assert_eq!(size("12"), Some(12));
        for wrong in ["", "MiB", "1.5GiB", "-1", "1mib", "1KB", "99999999999TiB", "1MiB "] {
            assert_eq!(size(wrong), None, "{wrong:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_formatted_reads_back(millis in any::<u64>(), bytes in any::<u64>()) {
            let value = Duration::from_millis(millis);
            prop_assert_eq!(duration(&format_duration(value)), Some(value));
            prop_assert_eq!(size(&format_size(bytes)), Some(bytes));
        }

        #[test]
        fn nothing_panics(text in ".{0,20}") {
            let _ = (duration(&text), size(&text));
        }
    }
}
