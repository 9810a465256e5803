//! How far a client has come in a task's events (M-38).

use std::fmt;
use std::str::FromStr;

use crate::{Event, EventBody};

/// How far a client has come in a task's events: the `seq` of the last event it has, and, when that
/// is text, the bytes of that kind up to its end: its `offset` plus its length. The default is the
/// beginning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ResumePoint {
    /// The event.
    pub seq: u64,
    /// The text's end.
    pub offset: Option<u64>,
}

impl ResumePoint {
    /// The point right after an event.
    #[must_use]
    pub fn after(event: &Event) -> Self {
        let text = match &event.body {
            EventBody::Token { text, .. } | EventBody::Thought { text, .. } => {
                Some(text.len() as u64)
            }
            _ => None,
        };
        let end = event.offset.zip(text).map(|(offset, bytes)| offset.saturating_add(bytes));
        Self { seq: event.seq, offset: end }
    }
}

/// A text that is no [`ResumePoint`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no place in a task's events: it is SEQ, or SEQ:OFFSET after text")]
pub struct BadResumePoint(String);

impl fmt::Display for ResumePoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.offset {
            Some(offset) => write!(f, "{}:{offset}", self.seq),
            None => write!(f, "{}", self.seq),
        }
    }
}

impl FromStr for ResumePoint {
    type Err = BadResumePoint;
    fn from_str(text: &str) -> Result<Self, BadResumePoint> {
        let bad = || BadResumePoint(text.to_owned());
        let number = |digits: &str| match digits.bytes().all(|byte| byte.is_ascii_digit()) {
            true => digits.parse::<u64>().map_err(|_| bad()),
            false => Err(bad()),
        };
        match text.split_once(':') {
            Some((seq, offset)) => Ok(Self { seq: number(seq)?, offset: Some(number(offset)?) }),
            None => Ok(Self { seq: number(text)?, offset: None }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_is_written_and_read() {
        for text in ["0", "7", "7:12", "18446744073709551615:0"] {
            assert_eq!(text.parse::<ResumePoint>().unwrap().to_string(), text);
        }
        for bad in ["", ":", "1:", ":1", "-1", "+1", "1:2:3", "18446744073709551616", " 1"] {
            assert!(bad.parse::<ResumePoint>().is_err(), "{bad:?} was read");
        }
    }
}
