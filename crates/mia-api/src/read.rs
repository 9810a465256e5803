//! Reading no more than what is described.
//!
//! What serde derives is more lenient than any document that could be written of it: an object is
//! also read from a list of its members' values in order, and a word also from an object that has it
//! as its one member. No client is told of either, so both are mistakes, and are refused.
//!
//! And it is less lenient in one thing: JSON has one kind of number, and some languages write whole
//! ones as `5.0`. They are read with [`whole`] and [`whole_or_none`].
//!
//! A type that is read this way has the attribute `#[serde(remote = "Self")]`, by which what is
//! derived becomes functions of the type; the traits are implemented here.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};

/// The number after the largest, exact as a floating point number.
const PAST_THE_LARGEST: f64 = 18_446_744_073_709_551_616.0;

/// A number that is whole and not negative, however it is written.
struct Whole(u64);

impl<'de> Deserialize<'de> for Whole {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Number;

        impl Visitor<'_> for Number {
            type Value = Whole;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number from 0 to 18446744073709551615")
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Whole, E> {
                Ok(Whole(number))
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Whole, E> {
                let whole = u64::try_from(number).map(Whole);
                whole.map_err(|_| E::invalid_value(Unexpected::Signed(number), &self))
            }

            fn visit_f64<E: Error>(self, number: f64) -> Result<Whole, E> {
                if number.fract() == 0.0 && (0.0..PAST_THE_LARGEST).contains(&number) {
                    // Exact: it is whole, and in between.
                    return Ok(Whole(number as u64));
                }
                Err(E::invalid_value(Unexpected::Float(number), &self))
            }
        }

        deserializer.deserialize_u64(Number)
    }
}

/// Reads a whole number.
pub(crate) fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    Whole::deserialize(deserializer).map(|whole| whole.0)
}

/// Reads a whole number or null.
pub(crate) fn whole_or_none<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<u64>, D::Error> {
    Ok(Option::<Whole>::deserialize(deserializer)?.map(|whole| whole.0))
}

/// Implements both traits for a struct that is read from an object alone.
macro_rules! objects {
    ($($name:ident),* $(,)?) => {$(
        $crate::read::written_as_derived!($name);

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Members;

                impl<'de> serde::de::Visitor<'de> for Members {
                    type Value = $name;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str(concat!("an object with the members of ", stringify!($name)))
                    }

                    fn visit_map<A: serde::de::MapAccess<'de>>(
                        self,
                        map: A,
                    ) -> Result<$name, A::Error> {
                        $name::deserialize(serde::de::value::MapAccessDeserializer::new(map))
                    }
                }

                deserializer.deserialize_map(Members)
            }
        }
    )*};
}

/// Implements both traits for an enumeration of words that is read from a word alone.
macro_rules! words {
    ($($name:ident),* $(,)?) => {$(
        $crate::read::written_as_derived!($name);

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Word;

                impl serde::de::Visitor<'_> for Word {
                    type Value = $name;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str(concat!("a word of ", stringify!($name)))
                    }

                    fn visit_str<E: serde::de::Error>(self, word: &str) -> Result<$name, E> {
                        $name::deserialize(serde::de::value::StrDeserializer::new(word))
                    }
                }

                deserializer.deserialize_str(Word)
            }
        }
    )*};
}

macro_rules! written_as_derived {
    ($name:ident) => {
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                // The function of the type, not this one.
                $name::serialize(self, serializer)
            }
        }
    };
}

pub(crate) use {objects, words, written_as_derived};
