//! Names of tasks and conversations.

use std::fmt;
use std::str::FromStr;

use serde::de::{Error as _, Unexpected};
use serde::{Deserialize, Deserializer, Serialize};

/// The longest id that is accepted, in bytes.
const LONGEST: usize = 128;

/// What readers of JSON are told that an id is.
const EXPECTED: &str = "an id: at most 128 letters, digits and . _ - : @ +, of which the first is a \
                        letter or a digit";

/// Why a text is not an id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadId {
    /// The text was empty.
    #[error("an id must not be empty")]
    Empty,
    /// The text was longer than 128 bytes.
    #[error("an id has at most 128 characters, this one has {0}")]
    TooLong(usize),
    /// The text has a character outside letters, digits, `.`, `_`, `-`, `:`, `@` and `+`, or begins
    /// with something else than a letter or a digit.
    #[error(
        "{0:?} is not an id: letters, digits and . _ - : @ + are allowed, and it begins with a letter or a digit"
    )]
    Characters(String),
}

/// Checks a name that a caller chose. Ids reach file names, logs and URLs, so neither a slash nor a
/// space nor a leading dash or dot can be in one.
fn check(text: &str) -> Result<(), BadId> {
    if text.is_empty() {
        return Err(BadId::Empty);
    }
    if text.len() > LONGEST {
        return Err(BadId::TooLong(text.chars().count()));
    }
    let first_good = text.starts_with(|c: char| c.is_ascii_alphanumeric());
    let allowed = |c: char| c.is_ascii_alphanumeric() || "._-:@+".contains(c);
    if first_good && text.chars().all(allowed) {
        Ok(())
    } else {
        Err(BadId::Characters(text.to_owned()))
    }
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
        #[serde(into = "String")]
        pub struct $name(String);

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                check(&text).map_err(|_| {
                    D::Error::invalid_value(Unexpected::Str(&text), &EXPECTED)
                })?;
                Ok(Self(text))
            }
        }

        impl $name {
            /// A fresh id, unique and sorted by time of creation (a version 7 UUID).
            #[must_use]
            pub fn generate() -> Self {
                Self(uuid::Uuid::now_v7().to_string())
            }

            /// The id as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = BadId;
            fn from_str(text: &str) -> Result<Self, BadId> {
                check(text)?;
                Ok(Self(text.to_owned()))
            }
        }

        impl TryFrom<String> for $name {
            type Error = BadId;
            fn try_from(text: String) -> Result<Self, BadId> {
                check(&text)?;
                Ok(Self(text))
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

id! {
    /// One prompt of one conversation, from acceptance to its terminal event. A client may choose
    /// it; it is then an idempotency key (M-04).
    TaskId
}

id! {
    /// What a person sees as one talk. A caller may choose its name.
    ConversationId
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_could_leave_a_folder_or_an_argument_are_refused() {
        for bad in ["", "../x", "a/b", "-v", ".hidden", "a b", "a\0b", "ü", &"a".repeat(129)] {
            assert!(bad.parse::<TaskId>().is_err(), "{bad:?} was accepted");
        }
        for good in ["a", "release-1.2", "me@host:5", &"a".repeat(128)] {
            assert!(good.parse::<ConversationId>().is_ok(), "{good:?} was refused");
        }
    }

    #[test]
    fn fresh_ids_sort_by_time() {
        let first = TaskId::generate();
        let second = TaskId::generate();
        assert!(first < second);
    }
}
