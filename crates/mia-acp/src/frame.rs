//! One JSON-RPC message, kept as the text that came.
//!
//! Only the envelope is looked at: which members there are and where they lie. What is in them is for
//! whoever asks. Unknown members, odd spacing and big numbers stay as they are, because nothing is
//! written anew: a change replaces one member's text and leaves the rest.

use std::fmt;
use std::ops::Range;

use bytes::Bytes;
use bytestring::ByteString;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::id::Id;
use crate::request_error::RequestError;

/// A message as it came, and where its members lie. A cheap handle.
#[derive(Clone, PartialEq, Eq)]
pub struct Frame {
    text: ByteString,
    kind: Kind,
    /// Where the text of the id, and of the params, the result or the error, lies.
    id: Option<Range<usize>>,
    body: Option<Range<usize>>,
    method: Option<Box<str>>,
}

/// What a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// It wants an answer.
    Request,
    /// It wants none.
    Notification,
    /// The answer to a request, as it was wished.
    Result,
    /// The answer to a request that failed.
    Error,
}

/// Why a text is no message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotAFrame {
    /// It is no JSON object, or a member of the envelope is there twice or has the wrong type.
    #[error("it is not a JSON-RPC message: {0}")]
    Syntax(String),
    /// It has neither a method nor a result nor an error, or an answer without an id.
    #[error("it is not a JSON-RPC message: it has neither a method nor an answer's members")]
    Shape,
}

/// The members that make the envelope. One that is there twice is an error: the two ends of a
/// connection could each take another one.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default, deserialize_with = "there")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "there")]
    method: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "there")]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "there")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "there")]
    error: Option<&'a RawValue>,
}

/// A member that is there, also when it is null.
fn there<'a, D: Deserializer<'a>>(deserializer: D) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

impl Frame {
    /// Looks at the envelope of a line. The whole line is checked to be JSON; nothing is copied.
    ///
    /// # Errors
    /// When it is no JSON-RPC message. Batches are none: ACP has no use for them.
    pub fn parse(line: Bytes) -> Result<Self, NotAFrame> {
        let syntax = |error: &dyn fmt::Display| NotAFrame::Syntax(error.to_string());
        let text = ByteString::try_from(line).map_err(|error| syntax(&error))?;
        // A derived structure would take an array for its members in order.
        if !text.trim_start().starts_with('{') {
            return Err(NotAFrame::Syntax("it is no JSON object".to_owned()));
        }
        let envelope: Envelope<'_> = serde_json::from_str(&text).map_err(|error| syntax(&error))?;
        let place = |part: Option<&RawValue>| part.map(|part| place(&text, part.get()));
        let method = envelope.method.map(|raw| serde_json::from_str::<Box<str>>(raw.get()));
        let method = method.transpose().map_err(|error| syntax(&error))?;
        // An id that is null is that of an answer to what nobody could read.
        let id = envelope.id.filter(|id| id.get() != "null");
        let (kind, body) = match (&method, id, envelope.result, envelope.error) {
            (Some(_), Some(_), None, None) => (Kind::Request, envelope.params),
            (Some(_), None, None, None) => (Kind::Notification, envelope.params),
            (None, Some(_), Some(result), None) => (Kind::Result, Some(result)),
            (None, Some(_), None, Some(error)) => (Kind::Error, Some(error)),
            _ => return Err(NotAFrame::Shape),
        };
        if let Some(id) = id {
            Id::parse(id.get()).map_err(|error| syntax(&error))?;
        }
        let (id, body) = (place(id), place(body));
        Ok(Self { kind, id, body, method, text })
    }

    /// A request of ours.
    ///
    /// # Errors
    /// When the params can't be JSON.
    pub fn request(
        id: &Id,
        method: &str,
        params: &impl Serialize,
    ) -> Result<Self, serde_json::Error> {
        #[derive(Serialize)]
        struct Request<'a, P> {
            jsonrpc: &'static str,
            id: &'a Id,
            method: &'a str,
            params: &'a P,
        }
        Self::written(&Request { jsonrpc: "2.0", id, method, params })
    }

    /// A notification of ours.
    ///
    /// # Errors
    /// When the params can't be JSON.
    pub fn notification(method: &str, params: &impl Serialize) -> Result<Self, serde_json::Error> {
        #[derive(Serialize)]
        struct Notification<'a, P> {
            jsonrpc: &'static str,
            method: &'a str,
            params: &'a P,
        }
        Self::written(&Notification { jsonrpc: "2.0", method, params })
    }

    /// The answer to a request.
    ///
    /// # Errors
    /// When the result can't be JSON.
    pub fn result(id: &Id, result: &impl Serialize) -> Result<Self, serde_json::Error> {
        #[derive(Serialize)]
        struct Answer<'a, R> {
            jsonrpc: &'static str,
            id: &'a Id,
            result: &'a R,
        }
        Self::written(&Answer { jsonrpc: "2.0", id, result })
    }

    /// The answer to a request that failed.
    #[must_use]
    pub fn error(id: &Id, error: &RequestError) -> Self {
        #[derive(Serialize)]
        struct Answer<'a> {
            jsonrpc: &'static str,
            id: &'a Id,
            error: &'a RequestError,
        }
        let answer = Answer { jsonrpc: "2.0", id, error };
        Self::written(&answer).unwrap_or_else(|_| {
            // All of it is JSON already; and an answer without its data is one still.
            let error = &RequestError { data: None, ..error.clone() };
            Self::written(&Answer { error, ..answer }).unwrap_or_else(|_| Self::nothing())
        })
    }

    fn written(message: &impl Serialize) -> Result<Self, serde_json::Error> {
        let text = serde_json::to_vec(message)?;
        Self::parse(text.into()).map_err(serde::de::Error::custom)
    }

    /// A notification that nobody knows, which takes the place of what can't be said.
    fn nothing() -> Self {
        Self {
            text: ByteString::from_static("{\"jsonrpc\":\"2.0\",\"method\":\"$/nothing\"}"),
            kind: Kind::Notification,
            id: None,
            body: None,
            method: Some("$/nothing".into()),
        }
    }

    /// What it is.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The method of a request or a notification; empty for an answer.
    #[must_use]
    pub fn method(&self) -> &str {
        self.method.as_deref().unwrap_or_default()
    }

    /// The id of a request or an answer.
    #[must_use]
    pub fn id(&self) -> Option<Id> {
        Id::parse(self.part(&self.id)?).ok()
    }

    /// The text of the params, the result or the error, as it came. None where there are no params.
    #[must_use]
    pub fn body(&self) -> Option<&str> {
        self.part(&self.body)
    }

    /// The params, the result or the error in a type.
    ///
    /// # Errors
    /// When they don't fit it. Missing params are read as null.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.body().unwrap_or("null"))
    }

    /// The whole message, without a newline at its end.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The same as bytes.
    #[must_use]
    pub fn bytes(&self) -> &Bytes {
        self.text.as_bytes()
    }

    /// The same message with other params, another result or another error. Everything else stays as it
    /// came.
    ///
    /// # Errors
    /// When the body can't be JSON.
    pub fn with_body(&self, body: &impl Serialize) -> Result<Self, serde_json::Error> {
        self.with_raw_body(&serde_json::value::to_raw_value(body)?)
    }

    /// The same with a body that is text already.
    ///
    /// # Errors
    /// When the message could not be read again, which does not happen.
    pub fn with_raw_body(&self, body: &RawValue) -> Result<Self, serde_json::Error> {
        match &self.body {
            Some(place) => self.spliced(place, body.get()),
            // A request without params: they come before the last brace.
            None => {
                let end = self.text.rfind('}').unwrap_or(self.text.len());
                self.spliced(&(end..end), &format!(",\"params\":{}", body.get()))
            }
        }
    }

    /// The same message under another id. One without an id stays as it is.
    ///
    /// # Errors
    /// When the message could not be read again, which does not happen.
    pub fn with_id(&self, id: &Id) -> Result<Self, serde_json::Error> {
        match &self.id {
            Some(place) => self.spliced(place, &serde_json::to_string(id)?),
            None => Ok(self.clone()),
        }
    }

    fn spliced(&self, place: &Range<usize>, text: &str) -> Result<Self, serde_json::Error> {
        let before = self.text.get(..place.start).unwrap_or_default();
        let after = self.text.get(place.end..).unwrap_or_default();
        Self::parse([before, text, after].concat().into()).map_err(serde::de::Error::custom)
    }

    fn part(&self, place: &Option<Range<usize>>) -> Option<&str> {
        self.text.get(place.clone()?)
    }
}

/// Where a part that was borrowed from a text lies in it.
fn place(text: &str, part: &str) -> Range<usize> {
    let start = (part.as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
    start..start + part.len()
}

impl fmt::Debug for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Prompts and answers don't belong into logs.
        f.debug_struct("Frame")
            .field("kind", &self.kind)
            .field("id", &self.id())
            .field("method", &self.method)
            .field("bytes", &self.text.len())
            .finish()
    }
}
