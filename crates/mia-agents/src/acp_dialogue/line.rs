//! The lines: JSON-RPC 2.0, one message each.

use std::borrow::Cow;

use mia_plugin::{Noise, Out};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// A message of the agent.
#[derive(Debug)]
pub(crate) enum Message<'a> {
    /// It waits for an answer.
    Request { id: &'a RawValue, method: Cow<'a, str>, params: Option<&'a RawValue> },
    /// It does not.
    Notification { method: Cow<'a, str>, params: Option<&'a RawValue> },
    /// The answer to a request of ours; none of ours has an id that is not a number.
    Answer { id: Option<u64>, outcome: Result<Option<&'a RawValue>, Failure> },
}

/// A request that was answered with an error.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Failure {
    pub(crate) code: i64,
    pub(crate) message: String,
    pub(crate) data: Value,
}

/// All members raw, so that a wrong type of one does not lose the line.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Line<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<&'a RawValue>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

/// Text that is borrowed where it has no escapes.
#[derive(Debug, Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// A member's text, if it is text.
pub(super) fn text(raw: Option<&RawValue>) -> Option<Cow<'_, str>> {
    raw.and_then(|raw| serde_json::from_str::<Text<'_>>(raw.get()).ok()).map(|text| text.0)
}

/// Reads a line.
///
/// # Errors
/// When it is no message.
pub(crate) fn read(line: &str) -> Result<Message<'_>, Noise> {
    let Line { id, method, params, result, error } = serde_json::from_str(line)?;
    match (id, text(method)) {
        (Some(id), Some(method)) => Ok(Message::Request { id, method, params }),
        (None, Some(method)) => Ok(Message::Notification { method, params }),
        (Some(id), None) if method.is_none() => {
            let outcome = error.map_or(Ok(result), |error| Err(failure(error)));
            Ok(Message::Answer { id: id.get().parse().ok(), outcome })
        }
        _ => Err(Noise::UnknownType("a message that is no request and no answer".to_owned())),
    }
}

fn failure(error: &RawValue) -> Failure {
    let mut error: Value = serde_json::from_str(error.get()).unwrap_or_default();
    Failure {
        code: error.get("code").and_then(Value::as_i64).unwrap_or_default(),
        message: error.get("message").and_then(Value::as_str).unwrap_or_default().to_owned(),
        data: error.get_mut("data").map(Value::take).unwrap_or_default(),
    }
}

/// A request of ours.
pub(super) fn request(id: u64, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// A notification of ours.
pub(super) fn notification(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

/// Answers a request of the agent.
pub(crate) fn answer(id: &Value, result: Value, out: &mut Out) {
    out.write_json_line(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
}

/// Answers a request that nobody here serves: an unanswered one would wait for ever.
pub(crate) fn refuse(id: &RawValue, method: &str, out: &mut Out) {
    let error = json!({"code": -32601, "message": format!("mia does not serve {method}")});
    out.write_json_line(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_of_a_wrong_type_does_not_lose_the_line() {
        let line = r#"{"jsonrpc":2,"id":3,"error":{"code":"x","message":["odd"]}}"#;
        let Ok(Message::Answer { id: Some(3), outcome: Err(failure) }) = read(line) else {
            panic!("no answer")
        };
        assert_eq!(failure, Failure::default());
        let line = r#"{"method":"session/update","params":7}"#;
        assert!(matches!(read(line), Ok(Message::Notification { params: Some(_), .. })));
        for noise in ["{}", "[]", "7", r#"{"method":7,"id":1}"#, r#"{"id":null}"#, "{"] {
            assert!(read(noise).is_err(), "{noise}");
        }
    }
}
