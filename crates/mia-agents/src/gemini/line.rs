//! The lines that Gemini CLI prints.

use std::borrow::Cow;
use std::fmt;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// One line. Members of all types are side by side, and raw: one of an odd type says nothing, and
/// the rest of its line counts.
#[derive(Debug, Deserialize)]
pub(super) struct Line<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) timestamp: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) session_id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) model: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) role: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) tool_name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) tool_id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) parameters: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) status: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) output: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) error: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) severity: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) message: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) stats: Option<&'a RawValue>,
}

/// The `error` of a result or of a tool.
#[derive(Debug, Default)]
pub(super) struct Failure {
    pub(super) kind: String,
    pub(super) message: String,
}

impl Failure {
    pub(super) fn of(raw: Option<&RawValue>) -> Self {
        #[derive(Deserialize)]
        struct Members<'a> {
            #[serde(borrow, default, rename = "type")]
            kind: Option<&'a RawValue>,
            #[serde(borrow, default)]
            message: Option<&'a RawValue>,
        }

        let members = raw.and_then(|raw| serde_json::from_str::<Members<'_>>(raw.get()).ok());
        let owned = |raw| text(raw).map(Cow::into_owned).unwrap_or_default();
        members.map_or_else(Self::default, |members| Self {
            kind: owned(members.kind),
            message: owned(members.message),
        })
    }
}

/// The text in a member, if it is one. It is borrowed from the line where it has no escapes.
///
/// Gemini cuts long texts by UTF-16 units, so half of a surrogate pair may stand at the end: that
/// is no reason to lose the text.
pub(super) fn text(raw: Option<&RawValue>) -> Option<Cow<'_, str>> {
    struct Text<'a>(Cow<'a, str>);

    impl<'de> Deserialize<'de> for Text<'de> {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct Bytes;

            impl<'de> Visitor<'de> for Bytes {
                type Value = Text<'de>;

                fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str("a text")
                }

                fn visit_borrowed_bytes<E>(self, bytes: &'de [u8]) -> Result<Text<'de>, E> {
                    Ok(Text(String::from_utf8_lossy(bytes)))
                }

                fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Text<'de>, E> {
                    Ok(Text(Cow::Owned(String::from_utf8_lossy(bytes).into_owned())))
                }
            }

            // As text the reader would refuse a lone surrogate; as bytes it does not.
            deserializer.deserialize_bytes(Bytes)
        }
    }

    let raw = raw.filter(|raw| raw.get().starts_with('"'))?;
    serde_json::from_str::<Text<'_>>(raw.get()).ok().map(|text| text.0)
}

/// Any value; null where there is none.
pub(super) fn value(raw: Option<&RawValue>) -> Value {
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or(Value::Null)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(json: &str) -> &RawValue {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn a_text_is_read_though_half_a_character_was_cut_off() {
        assert_eq!(text(Some(raw(r#""plain""#))), Some(Cow::Borrowed("plain")));
        assert_eq!(text(Some(raw(r#""a\nb\ud83d\ude00""#))).as_deref(), Some("a\nb\u{1f600}"));
        let cut = text(Some(raw(r#""before \ud83d""#))).unwrap();
        assert!(cut.starts_with("before \u{fffd}"), "{cut:?}");
    }

    #[test]
    fn what_is_no_text_says_nothing() {
        for odd in ["5", "null", "[1]", r#"{"a":1}"#, "true"] {
            assert_eq!(text(Some(raw(odd))), None, "{odd}");
        }
        assert_eq!(text(None), None);
    }
}
