//! One value of the configuration, without its place.

use std::fmt;
use std::time::Duration;

use serde::{Serialize, Serializer};

use crate::units::{format_duration, format_size};

/// One value of the configuration.
///
/// Its display is what a script wants: text as it is, `4h`, `32MiB`, `off`, `[a, b]`.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// `true` or `false`.
    Flag(bool),
    /// A whole number.
    Count(u64),
    /// A price per million tokens: finite, not negative.
    Price(f64),
    /// A time; `None` is `off`.
    Duration(Option<Duration>),
    /// A number of bytes; `None` is `off`.
    Size(Option<u64>),
    /// A text, a name, or one of several choices.
    Text(String),
    /// Texts in order.
    List(Vec<String>),
    /// Nothing is set, and there is no default.
    Unset,
    /// Something is set that may be a secret; [`crate::Loaded::get`] of its own key shows it.
    Hidden,
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => write!(f, "{flag}"),
            Self::Count(count) => write!(f, "{count}"),
            Self::Price(price) => write!(f, "{price}"),
            Self::Duration(None) | Self::Size(None) => f.write_str("off"),
            Self::Duration(Some(time)) => f.write_str(&format_duration(*time)),
            Self::Size(Some(bytes)) => f.write_str(&format_size(*bytes)),
            Self::Text(text) => f.write_str(text),
            Self::List(items) => f.write_str(&flow_list(items)),
            Self::Unset => f.write_str("(not set)"),
            Self::Hidden => f.write_str("(hidden)"),
        }
    }
}

impl Value {
    /// The value as YAML on one line, which reads back as the same value in any context.
    pub(crate) fn to_yaml(&self) -> String {
        match self {
            Self::Text(text) => scalar(text),
            other => other.to_string(),
        }
    }
}

/// As in YAML: numbers and flags bare, times and sizes as text, nothing as null.
impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Flag(flag) => serializer.serialize_bool(*flag),
            Self::Count(count) => serializer.serialize_u64(*count),
            Self::Price(price) => serializer.serialize_f64(*price),
            Self::List(items) => items.serialize(serializer),
            Self::Unset => serializer.serialize_none(),
            other => serializer.collect_str(other),
        }
    }
}

fn flow_list(items: &[String]) -> String {
    format!("[{}]", items.iter().map(|item| scalar(item)).collect::<Vec<_>>().join(", "))
}

/// Plain where every reader takes it for text, else double-quoted.
pub(crate) fn scalar(text: &str) -> String {
    let plain_char =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '+');
    let starts_plain = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/');
    let word = matches!(
        text.to_ascii_lowercase().as_str(),
        "true" | "false" | "null" | "yes" | "no" | "on" | "off" | "y" | "n"
    );
    let number = text.parse::<f64>().is_ok();
    if starts_plain && text.chars().all(plain_char) && !word && !number {
        return text.to_owned();
    }
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            // Controls, line separators and the byte-order mark don't survive bare.
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}') => {
                quoted.push_str(&format!("\\u{:04X}", u32::from(c)));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text_for_any_reader() {
        for plain in ["opus", "claude-code", "/usr/bin/x", "gpt-4.1", "my.cli", "A_B"] {
            assert_eq!(scalar(plain), plain);
        }
        for quoted in [
            "", "true", "No", "OFF", "null", "~", "5", "1.5", "1e3", "nan", "Infinity", "0x1F",
            "12:30", "--flag", "-", "a b", "a: b", "a #b", "#a", "*a", "&a", "!a", "[a]", "{a}",
            "a,b", "é", "@",
        ] {
            assert_eq!(scalar(quoted), format!("\"{quoted}\""));
        }
        assert_eq!(scalar("\"\\\u{feff}\u{85}"), r#""\"\\\uFEFF\u0085""#);
    }
}
