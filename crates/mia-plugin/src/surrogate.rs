//! Half characters in JSON.

use std::borrow::Cow;

/// The same JSON, with U+FFFD in the place of each half of a surrogate pair that stands alone.
///
/// Agents written in JavaScript cut long texts by UTF-16 units, and print the half that is left as
/// an escape like `\ud83d`. That is no text to the reader of JSON, which would refuse the whole
/// line: an answer, a question, or the result of a tool.
#[must_use]
pub fn without_lone(json: &str) -> Cow<'_, str> {
    // Halves are rare, and lines may be large: this looks at each byte once, and fast.
    if !json.contains(r"\ud") && !json.contains(r"\uD") {
        return Cow::Borrowed(json);
    }
    let mut mended = String::new();
    // How much of the line is in `mended`, and from where to look on.
    let (mut taken, mut from) = (0, 0);
    while let Some(at) = json.get(from..).and_then(|rest| rest.find('\\')).map(|at| from + at) {
        let first = json.get(at..).and_then(unit);
        let second = json.get(at + 6..).and_then(unit);
        from = match (first, second) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => at + 12,
            (Some(0xD800..=0xDFFF), _) => {
                mended.push_str(json.get(taken..at).unwrap_or_default());
                mended.push_str(r"\ufffd");
                taken = at + 6;
                taken
            }
            (Some(_), _) => at + 6,
            // An escape of one character, which may be a backslash.
            (None, _) => at + 1 + json.get(at + 1..).and_then(first_len).unwrap_or_default(),
        };
    }
    if mended.is_empty() {
        return Cow::Borrowed(json);
    }
    mended.push_str(json.get(taken..).unwrap_or_default());
    Cow::Owned(mended)
}

/// The UTF-16 unit whose escape a text begins with.
fn unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix(r"\u")?.get(..4)?;
    let all = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    u16::from_str_radix(digits, 16).ok().filter(|_| all)
}

fn first_len(text: &str) -> Option<usize> {
    text.chars().next().map(char::len_utf8)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn half_a_character_is_replaced_and_nothing_else() {
        for (json, expected) in [
            (r#""plain""#, r#""plain""#),
            (r#""\ud83d\ude00 \u00e9""#, r#""\ud83d\ude00 \u00e9""#),
            (r#""cut \ud83d""#, r#""cut \ufffd""#),
            (r#""\uDE00 cut""#, r#""\ufffd cut""#),
            (r#""\ud83d\ud83d\ude00\ude00""#, r#""\ufffd\ud83d\ude00\ufffd""#),
            (r#""\ud83dé\n""#, r#""\ufffdé\n""#),
            // Backslashes that stand for themselves.
            (r#""\\ud83d""#, r#""\\ud83d""#),
            (r#""\\\ud83d""#, r#""\\\ufffd""#),
            // No JSON at all.
            (r"\ud83", r"\ud83"),
            (r"\ud8é", r"\ud8é"),
            (r"\ud83d\", r"\ufffd\"),
            (r"\é\ud83d", r"\é\ufffd"),
        ] {
            assert_eq!(without_lone(json), expected, "{json}");
        }
        assert!(matches!(without_lone(r#""\ud83d\ude00""#), Cow::Borrowed(_)));
    }

    proptest! {
        #[test]
        fn any_units_make_a_text_that_can_be_read(units in prop::collection::vec(0xD7F0u16..0xE010, 0..12)) {
            let escapes: String = units.iter().map(|unit| format!("\\u{unit:04x}")).collect();
            let json = format!("\"{escapes}\"");
            let read: String = serde_json::from_str(&without_lone(&json)).unwrap();
            prop_assert_eq!(read, String::from_utf16_lossy(&units));
        }
    }
}
