//! The id of a request.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The id by which a request and its answer belong together: a number or a text of whoever asked.
/// Numbers are the same however they are written.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Id {
    /// A whole number.
    Number(i64),
    /// A text.
    Text(Box<str>),
    /// A number that is not whole, or too large.
    Odd(serde_json::Number),
}

impl Id {
    /// Reads an id as it is in a message.
    ///
    /// # Errors
    /// When it is neither a text nor a number.
    pub(crate) fn parse(text: &str) -> Result<Self, serde_json::Error> {
        if text.starts_with('"') {
            return serde_json::from_str(text).map(Self::Text);
        }
        let number: serde_json::Number = serde_json::from_str(text)?;
        Ok(match number.as_i64() {
            Some(number) => Self::Number(number),
            // 1.0 may come back as 1.
            None => match number.as_f64() {
                Some(float) if float.fract() == 0.0 && float.abs() < 9e15 => {
                    Self::Number(float as i64)
                }
                _ => Self::Odd(number),
            },
        })
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(text),
            Self::Odd(number) => write!(f, "{number}"),
        }
    }
}

impl From<i64> for Id {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl From<&str> for Id {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}
