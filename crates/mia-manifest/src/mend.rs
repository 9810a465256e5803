//! Lines that are nearly JSON.

use std::borrow::Cow;

use mia_plugin::surrogate::without_lone;
use serde_json::Value;

/// Reads a line. What JSON has no word for becomes what comes nearest, so that the rest of the line
/// still counts: half a character is U+FFFD; NaN, an infinity, and a number that is too large are
/// `null`.
pub(crate) fn read(line: &str) -> Result<Value, serde_json::Error> {
    let line = without_lone(line);
    serde_json::from_str(&line).or_else(|error| match without_numberless(&line) {
        Cow::Owned(mended) => serde_json::from_str(&mended),
        Cow::Borrowed(_) => Err(error),
    })
}

/// The same line with `null` in the place of what some writers of JSON print for numbers that JSON
/// can't have, and of numbers that no `f64` can.
fn without_numberless(json: &str) -> Cow<'_, str> {
    let mut mended = String::new();
    // How much of the line is in `mended`, and where in it we are.
    let (mut taken, mut at) = (0, 0);
    let bytes = json.as_bytes();
    while let Some(&byte) = bytes.get(at) {
        if byte == b'"' {
            at = text_end(bytes, at + 1);
            continue;
        }
        if !is_of_word(byte) {
            at += 1;
            continue;
        }
        let rest = bytes.get(at..).unwrap_or_default();
        let end = at + rest.iter().position(|b| !is_of_word(*b)).unwrap_or(rest.len());
        if json.get(at..end).is_some_and(is_numberless) {
            mended.push_str(json.get(taken..at).unwrap_or_default());
            mended.push_str("null");
            taken = end;
        }
        at = end;
    }
    if taken == 0 {
        return Cow::Borrowed(json);
    }
    mended.push_str(json.get(taken..).unwrap_or_default());
    Cow::Owned(mended)
}

/// Where the text ends that begins before `at`: after its quote.
fn text_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    at
}

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')
}

fn is_numberless(word: &str) -> bool {
    let unsigned = word.strip_prefix('-').unwrap_or(word);
    matches!(unsigned, "NaN" | "Infinity")
        || (unsigned.starts_with(|c: char| c.is_ascii_digit())
            && unsigned.parse::<f64>().is_ok_and(f64::is_infinite))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_no_number_is_null_and_the_rest_is_as_it_was() {
        for (line, expected) in [
            (r#"{"a":NaN,"b":"NaN 1e400"}"#, json!({"a": null, "b": "NaN 1e400"})),
            (r#"[-Infinity,Infinity , 1e400,-1e400,2]"#, json!([null, null, null, null, 2])),
            (r#"["\"NaN",NaN,"\\",NaN,"é"]"#, json!(["\"NaN", null, "\\", null, "é"])),
            (r#"[NaN,"cut \ud83d"]"#, json!([null, "cut \u{fffd}"])),
            (&format!("[1{}]", "0".repeat(400)), json!([null])),
            (r#"[1.5e3,true,null]"#, json!([1500.0, true, null])),
        ] {
            assert_eq!(read(line).unwrap(), expected, "{line}");
        }
        for line in ["NaNs", "[nan]", "[1e400", "[+Infinity]", "", "\"", "\"\\", "[NaN", "{NaN:1}"]
        {
            assert!(read(line).is_err() || line == "NaN", "{line}");
        }
    }

    #[test]
    fn a_large_line_is_read_once() {
        let began = std::time::Instant::now();
        let long = format!("[{}\"{}\",NaN]", "NaN,".repeat(500_000), "\\\"".repeat(500_000));
        assert!(read(&long).is_ok());
        assert!(read(&format!("[{}e400x]", "9".repeat(2_000_000))).is_err());
        assert!(began.elapsed() < std::time::Duration::from_secs(20));
    }
}
