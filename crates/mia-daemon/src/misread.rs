//! Why a body can't be read as what is expected, without anything that is in it: that may be a secret,
//! and a client may log what it is told.
//!
//! The messages of serde have values in them, in the same sentence as what was expected. So a body that
//! was refused is read once more, with an error that keeps only what comes from the types.

use std::cell::Cell;
use std::fmt;

use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error, Expected, MapAccess, SeqAccess,
    Unexpected, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::Value;

/// What is wrong, and where.
pub(crate) fn why<T: DeserializeOwned>(bytes: &[u8], error: &serde_json::Error) -> String {
    let place = format!("at line {} column {}", error.line(), error.column());
    if !error.is_data() {
        // Of JSON's grammar alone, with the place.
        return format!("it is no JSON: {error}");
    }
    let again = match serde_json::from_slice::<Value>(bytes) {
        Ok(value) => T::deserialize(Read(&value)),
        // What follows the mistake is no JSON either.
        Err(error) => return format!("it is no JSON: {error}"),
    };
    match again {
        Err(misread) => format!("{misread} {place}"),
        // The only thing that is lost in between.
        Ok(_) => format!("a member is there twice {place}"),
    }
}

/// Where, from the outside to the inside, and what.
#[derive(Debug)]
struct Misread {
    /// From the inside to the outside.
    path: Vec<Part>,
    what: String,
}

#[derive(Debug)]
enum Part {
    Member(String),
    /// A member whose name the sender chose.
    Other,
    Item(usize),
}

impl Misread {
    fn new(what: String) -> Self {
        Self { path: Vec::new(), what }
    }

    fn within(mut self, part: Part) -> Self {
        self.path.push(part);
        self
    }
}

impl fmt::Display for Misread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, part) in self.path.iter().rev().enumerate() {
            match part {
                Part::Item(index) => write!(f, "[{index}]")?,
                Part::Member(_) | Part::Other if number > 0 => f.write_str(".")?,
                Part::Member(_) | Part::Other => {}
            }
            match part {
                Part::Member(name) => f.write_str(name)?,
                Part::Other => f.write_str("…")?,
                Part::Item(_) => {}
            }
        }
        if !self.path.is_empty() {
            f.write_str(": ")?;
        }
        f.write_str(&self.what)
    }
}

impl std::error::Error for Misread {}

impl Error for Misread {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self::new("its value is not allowed".to_owned())
    }

    fn invalid_type(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::new(format!("another type of value, expected {expected}"))
    }

    fn invalid_value(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::new(format!("another value, expected {expected}"))
    }

    fn invalid_length(_: usize, expected: &dyn Expected) -> Self {
        Self::new(format!("another length, expected {expected}"))
    }

    fn unknown_variant(_: &str, expected: &'static [&'static str]) -> Self {
        Self::new(format!("unknown word, expected {}", one_of(expected)))
    }

    fn unknown_field(_: &str, expected: &'static [&'static str]) -> Self {
        Self::new(format!("unknown member, expected {}", one_of(expected)))
    }

    fn missing_field(field: &'static str) -> Self {
        Self::new(format!("the member `{field}` is missing"))
    }
}

fn one_of(words: &[&str]) -> String {
    let mut quoted = words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>();
    match (quoted.pop(), quoted.is_empty()) {
        (None, _) => "none".to_owned(),
        (Some(only), true) => only,
        (Some(last), false) => format!("{} or {last}", quoted.join(", ")),
    }
}

/// A value that is read.
#[derive(Clone, Copy)]
struct Read<'a>(&'a Value);

impl<'de> Deserializer<'de> for Read<'de> {
    type Error = Misread;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misread> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Number(number) => match (number.as_u64(), number.as_i64()) {
                (Some(number), _) => visitor.visit_u64(number),
                (None, Some(number)) => visitor.visit_i64(number),
                (None, None) => visitor.visit_f64(number.as_f64().unwrap_or(f64::NAN)),
            },
            Value::String(text) => visitor.visit_borrowed_str(text),
            Value::Array(items) => visitor.visit_seq(Items(items.iter().enumerate())),
            Value::Object(members) => {
                visitor.visit_map(Members { rest: members.iter(), next: None })
            }
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misread> {
        match self.0 {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Misread> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misread> {
        match self.0 {
            Value::String(word) => visitor.visit_enum(StrDeserializer::new(word)),
            Value::Object(members) => {
                let members = Members { rest: members.iter(), next: None };
                visitor.visit_enum(MapAccessDeserializer::new(members))
            }
            _ => self.deserialize_any(visitor),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

struct Items<'de>(std::iter::Enumerate<std::slice::Iter<'de, Value>>);

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = Misread;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Misread> {
        let Some((index, item)) = self.0.next() else { return Ok(None) };
        let read = seed.deserialize(Read(item));
        read.map(Some).map_err(|misread| misread.within(Part::Item(index)))
    }
}

struct Members<'de> {
    rest: serde_json::map::Iter<'de>,
    /// The value of the member whose name was read last, and how its place is told.
    next: Option<(Part, &'de Value)>,
}

impl<'de> MapAccess<'de> for Members<'de> {
    type Error = Misread;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Misread> {
        let Some((name, value)) = self.rest.next() else { return Ok(None) };
        let ours = Cell::new(false);
        // A name that is refused is not ours, so its place is that of the object.
        let key = seed.deserialize(Name { name, ours: &ours })?;
        let part = if ours.get() { Part::Member(name.clone()) } else { Part::Other };
        self.next = Some((part, value));
        Ok(Some(key))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Misread> {
        let Some((part, value)) = self.next.take() else {
            return Err(Misread::custom("a value is asked for before its name"));
        };
        seed.deserialize(Read(value)).map_err(|misread| misread.within(part))
    }
}

/// The name of a member.
struct Name<'de, 'a> {
    name: &'de str,
    /// Set when it is one of a type's own names, rather than a key of a map.
    ours: &'a Cell<bool>,
}

impl<'de> Deserializer<'de> for Name<'de, '_> {
    type Error = Misread;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misread> {
        visitor.visit_borrowed_str(self.name)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misread> {
        self.ours.set(true);
        self.deserialize_any(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map struct enum ignored_any
    }
}
