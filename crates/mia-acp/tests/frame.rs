//! Messages: what is read of them, and that all else stays as it came.

use bytes::Bytes;
use mia_acp::{Frame, Id, Kind, NotAFrame, RequestError};
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::{Value, json};

fn parse(text: &str) -> Result<Frame, NotAFrame> {
    Frame::parse(Bytes::copy_from_slice(text.as_bytes()))
}

#[test]
fn an_envelope_is_read_whatever_the_order_and_the_spacing() {
    let text = " { \"params\" : {\"a\": 1e400 , \"id\":7} ,\n\"zzz\":[1],\"method\":\"session\\/update\"}\t";
    let frame = parse(text).unwrap();
    assert_eq!(
        (frame.kind(), frame.method(), frame.id()),
        (Kind::Notification, "session/update", None)
    );
    assert_eq!(frame.body(), Some("{\"a\": 1e400 , \"id\":7}"));
    assert_eq!(frame.text(), text);
    let frame = parse("{\"id\":null,\"method\":\"m\"}").unwrap();
    assert_eq!((frame.kind(), frame.body()), (Kind::Notification, None));
    let frame = parse("{\"id\":\"a\\u0062\",\"result\":null}").unwrap();
    assert_eq!(
        (frame.kind(), frame.id(), frame.body()),
        (Kind::Result, Some("ab".into()), Some("null"))
    );
    let frame = parse("{\"error\":{\"code\":-1},\"id\":1.0}").unwrap();
    assert_eq!((frame.kind(), frame.id()), (Kind::Error, Some(1.into())));
    assert_eq!(frame.read::<RequestError>().unwrap(), RequestError::new(-1, ""));
}

#[test]
fn what_is_no_message_is_refused() {
    for text in [
        "",
        "null",
        "[\"2.0\",1,\"m\",{},null,null]",
        "{\"jsonrpc\":\"2.0\"}",
        "{\"id\":1}",
        "{\"result\":1}",
        "{\"id\":1,\"result\":1,\"error\":{}}",
        "{\"id\":1,\"method\":\"m\",\"result\":1}",
        "{\"id\":{},\"method\":\"m\"}",
        "{\"id\":true,\"method\":\"m\"}",
        "{\"method\":1}",
        "{\"method\":\"m\"",
        "{\"method\":\"m\"} {}",
        // Each end could take another one.
        "{\"method\":\"a\",\"method\":\"b\"}",
        "{\"method\":\"a\",\"params\":1,\"params\":2}",
        "[{\"method\":\"m\"}]",
    ] {
        assert!(parse(text).is_err(), "{text}");
    }
    assert!(Frame::parse(Bytes::from_static(b"{\"method\":\"\xff\"}")).is_err());
    let deep =
        format!("{{\"method\":\"m\",\"params\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(parse(&deep).unwrap().body().unwrap().len(), 200_000);
}

#[test]
fn p_160_a_change_replaces_one_member_and_nothing_else() {
    let text =
        "{\"x\":0.10,\"id\":7,\"method\":\"m\", \"params\" : {\"a\":1},\"_meta\":{\"k\":1E2}}";
    let changed = parse(text).unwrap().with_body(&json!({"b": 2})).unwrap();
    assert_eq!(changed.text(), text.replace("{\"a\":1}", "{\"b\":2}"));
    let renamed = changed.with_id(&"mia-1".into()).unwrap();
    assert_eq!(renamed.text(), changed.text().replace("7", "\"mia-1\""));
    let given = parse("{\"method\":\"m\"}").unwrap().with_body(&json!([])).unwrap();
    assert_eq!(given.text(), "{\"method\":\"m\",\"params\":[]}");
}

#[test]
fn what_is_written_can_be_read() {
    let frame = Frame::request(&3.into(), "session/prompt", &json!({"a": "\n"})).unwrap();
    assert_eq!(
        frame.text(),
        r#"{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"a":"\n"}}"#
    );
    assert_eq!((frame.kind(), frame.id()), (Kind::Request, Some(3.into())));
    let frame = Frame::error(&"x".into(), &RequestError::cancelled());
    assert_eq!((frame.kind(), frame.id()), (Kind::Error, Some("x".into())));
    assert_eq!(frame.read::<RequestError>().unwrap(), RequestError::cancelled());
    let frame = Frame::result(&1.into(), &Value::Null).unwrap();
    assert_eq!((frame.kind(), frame.body()), (Kind::Result, Some("null")));
    let frame = Frame::notification("n", &json!({})).unwrap();
    assert_eq!((frame.kind(), frame.read::<Value>().unwrap()), (Kind::Notification, json!({})));
    assert!(!format!("{frame:?} {:?}", Frame::result(&1.into(), &"secret")).contains("secret"));
}

#[test]
fn ids_are_the_same_however_they_are_written() {
    let id =
        |text: &str| parse(&format!("{{\"id\":{text},\"method\":\"m\"}}")).unwrap().id().unwrap();
    assert_eq!(id("1"), id("1.0"));
    assert_eq!(id("10"), id("1e1"));
    assert_ne!(id("1"), id("\"1\""));
    for odd in ["18446744073709551615", "1.5"] {
        let answer = Frame::result(&id(odd), &1).unwrap();
        assert_eq!(answer.text(), format!("{{\"jsonrpc\":\"2.0\",\"id\":{odd},\"result\":1}}"));
        assert!(matches!(id(odd), Id::Odd(_)));
    }
}

fn json_text() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        any::<i64>().prop_map(|number| number.to_string()),
        any::<String>().prop_map(|text| Value::from(text).to_string()),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4)
                .prop_map(|all| format!("[{}]", all.join(" , "))),
            proptest::collection::vec((any::<String>(), inner), 0..4).prop_map(|all| {
                let all: Vec<_> = all
                    .into_iter()
                    .map(|(name, value)| format!("{}:{value}", Value::from(name)))
                    .collect();
                format!("{{{}}}", all.join(","))
            }),
        ]
    })
}

proptest! {
    #[test]
    fn any_body_is_found_and_can_be_replaced(body in json_text(), other in json_text()) {
        let text = format!("{{\"method\":\"m\",\"params\":{body},\"id\":\"1\"}}");
        let frame = parse(&text).unwrap();
        prop_assert_eq!(frame.body(), Some(body.as_str()));
        let raw = serde_json::value::RawValue::from_string(other.clone()).unwrap();
        let changed = frame.with_raw_body(&raw).unwrap();
        prop_assert_eq!(changed.body(), Some(other.as_str()));
        prop_assert_eq!(changed.id(), Some("1".into()));
    }

    #[test]
    fn no_text_makes_it_panic(text in "\\PC*") {
        let _ = parse(&text);
        let _ = parse(&format!("{{\"method\":{text}}}"));
    }
}
