//! The lines that Claude Code prints.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// Text that is borrowed from the line where it has no escapes.
#[derive(Debug, Deserialize)]
pub(super) struct Text<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

/// The text in a member whose type differs from line to line.
pub(super) fn text_of(raw: &RawValue) -> Option<Cow<'_, str>> {
    serde_json::from_str::<Text<'_>>(raw.get()).ok().map(|text| text.0)
}

/// One line. Its `type` may stand anywhere in it. Members of all types are side by side, for the
/// parser skips what is absent at no cost.
#[derive(Debug, Deserialize)]
pub(super) struct Line<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) subtype: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) event: Option<StreamEvent<'a>>,
    #[serde(borrow, default)]
    pub(super) parent_tool_use_id: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) session_id: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) message: Option<Lenient<Message<'a>>>,
    #[serde(borrow, default)]
    pub(super) model: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) error: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) request_id: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) request: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) tool_name: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) tool_use_id: Option<Text<'a>>,
    #[serde(default)]
    pub(super) attempt: Option<u64>,
    #[serde(default)]
    pub(super) max_retries: Option<u64>,
    #[serde(default)]
    pub(super) error_status: Option<u16>,
    #[serde(default)]
    pub(super) is_error: Option<bool>,
    #[serde(borrow, default)]
    pub(super) result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) stop_reason: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) terminal_reason: Option<Text<'a>>,
    #[serde(default)]
    pub(super) api_error_status: Option<u16>,
    #[serde(default)]
    pub(super) errors: Option<Vec<String>>,
    #[serde(default)]
    pub(super) permission_denials: Option<Vec<Value>>,
    // Raw, for a finished answer must not be lost to an odd number.
    #[serde(borrow, default)]
    pub(super) total_cost_usd: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) usage: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) model_usage_since_last_result: Option<&'a RawValue>,
}

/// An event of the provider's stream.
#[derive(Debug, Deserialize)]
pub(super) struct StreamEvent<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) delta: Option<Delta<'a>>,
    #[serde(borrow, default)]
    pub(super) message: Option<MessageId<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Delta<'a> {
    #[serde(borrow, default)]
    pub(super) text: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) thinking: Option<Text<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct MessageId<'a> {
    #[serde(borrow, default)]
    pub(super) id: Option<Text<'a>>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Message<'a> {
    #[serde(borrow, default)]
    pub(super) id: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) model: Option<Text<'a>>,
    /// Its blocks; a content that is a plain text has none that matter.
    #[serde(borrow, default)]
    pub(super) content: Lenient<Vec<Block<'a>>>,
}

/// A value that is of another type in some lines; those read as its default. What it is, is seen
/// while it is read, so that a large line is gone through once.
#[derive(Debug, Default)]
pub(super) struct Lenient<T>(pub(super) T);

impl<'de, T: Deserialize<'de> + Default> Deserialize<'de> for Lenient<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de> + Default> Visitor<'de> for Either<T> {
            type Value = T;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("anything")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<T, A::Error> {
                T::deserialize(SeqAccessDeserializer::new(seq))
            }

            fn visit_str<E>(self, _: &str) -> Result<T, E> {
                Ok(T::default())
            }

            fn visit_bool<E>(self, _: bool) -> Result<T, E> {
                Ok(T::default())
            }

            fn visit_i64<E>(self, _: i64) -> Result<T, E> {
                Ok(T::default())
            }

            fn visit_u64<E>(self, _: u64) -> Result<T, E> {
                Ok(T::default())
            }

            fn visit_f64<E>(self, _: f64) -> Result<T, E> {
                Ok(T::default())
            }

            fn visit_unit<E>(self) -> Result<T, E> {
                Ok(T::default())
            }
        }

        deserializer.deserialize_any(Either(PhantomData)).map(Self)
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Block<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) text: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) thinking: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) id: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) name: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) input: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) tool_use_id: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) content: Option<&'a RawValue>,
    #[serde(default)]
    pub(super) is_error: Option<bool>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ControlRequest<'a> {
    #[serde(borrow)]
    pub(super) subtype: Text<'a>,
    #[serde(borrow, default)]
    pub(super) tool_name: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) tool_use_id: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) input: Option<&'a RawValue>,
    #[serde(default)]
    pub(super) permission_suggestions: Option<Vec<Value>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct TurnUsage {
    pub(super) input_tokens: u64,
    pub(super) output_tokens: u64,
    pub(super) cache_creation_input_tokens: Option<u64>,
    pub(super) cache_read_input_tokens: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ModelUsage {
    #[serde(rename = "inputTokens")]
    pub(super) input: u64,
    #[serde(rename = "outputTokens")]
    pub(super) output: u64,
    #[serde(rename = "cacheCreationInputTokens")]
    pub(super) cache_creation: u64,
    #[serde(rename = "cacheReadInputTokens")]
    pub(super) cache_read: u64,
    #[serde(rename = "costUSD")]
    pub(super) cost: Option<f64>,
}
