//! Members whose type differs from line to line.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// Text that is borrowed from the line where it has no escapes.
#[derive(Debug, Deserialize)]
pub(crate) struct Text<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

/// The text in a member whose type differs from line to line.
pub(crate) fn text_of(raw: &RawValue) -> Option<Cow<'_, str>> {
    serde_json::from_str::<Text<'_>>(raw.get()).ok().map(|text| text.0)
}

/// A value that is of another type in some lines; those read as its default. What it is, is seen
/// while it is read, so that a large line is gone through once.
#[derive(Debug, Default)]
pub(crate) struct Lenient<T>(pub(crate) T);

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

/// A member that says nothing where it is of another type.
#[derive(Debug)]
pub(crate) struct Loose<T>(pub(crate) Option<T>);

impl<T> Default for Loose<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Loose<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw: &'de RawValue = Deserialize::deserialize(deserializer)?;
        Ok(Self(serde_json::from_str(raw.get()).ok()))
    }
}
