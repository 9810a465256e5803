//! Both ways, for whatever comes.

use agent_client_protocol_schema::v1::SessionUpdate;
use mia_acp::{from_update, to_update};
use mia_api::{EventBody, NoticeKind, ToolResultInfo};
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::generate::{event, json_value, update, with};

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, failure_persistence: None, ..Default::default() })]

    #[test]
    fn m_005_every_event_comes_back(event in event()) {
        let update = to_update(&event).unwrap();
        prop_assert_eq!(from_update(&update), event, "by way of {}", update);
    }

    #[test]
    fn m_005_every_update_comes_back(update in update()) {
        let event = from_update(&update);
        prop_assert_eq!(to_update(&event).unwrap(), update, "by way of {:?}", event);
    }

    /// What looks like ours and is not quite is a foreign update, and as such comes back whole.
    #[test]
    fn m_005_a_changed_update_of_ours_comes_back(
        event in event(),
        name in prop::sample::select(vec!["title", "content", "toolCallId", "_meta", "x"]),
        inside in prop::option::of((prop::sample::select(vec!["type", "text", "raw", "x"]), json_value())),
        value in json_value(),
    ) {
        let mut update = to_update(&event).unwrap();
        match (inside, update.pointer_mut("/_meta/mia").and_then(Value::as_object_mut)) {
            (Some((name, value)), Some(members)) => {
                members.insert(name.to_owned(), value);
            }
            _ => update = with(update, Some((name.to_owned(), value))),
        }
        prop_assume!(update["sessionUpdate"].is_string());
        let event = from_update(&update);
        prop_assert_eq!(to_update(&event).unwrap(), update, "by way of {:?}", event);
    }

    /// What is no update of somebody else's is one that ACP's types read.
    #[test]
    fn m_005_our_updates_are_well_formed(event in event()) {
        let members = serde_json::to_value(&event).unwrap();
        prop_assume!(members.get("raw").is_none_or(|raw| !raw["sessionUpdate"].is_string()));
        let update = to_update(&event).unwrap();
        let typed = serde_json::from_value::<SessionUpdate>(update.clone());
        prop_assert!(typed.is_ok(), "{:?}: {}", typed, update);
    }

    /// An event is what it was after a way over a wire, as text.
    #[test]
    fn m_005_a_wire_changes_nothing(event in event()) {
        let members = serde_json::to_value(&event).unwrap();
        // Numbers with a fraction are read from text to the nearest, or the one next to it.
        prop_assume!(serde_json::from_str::<Value>(&members.to_string()).unwrap() == members);
        let text = to_update(&event).unwrap().to_string();
        prop_assert_eq!(from_update(&serde_json::from_str(&text).unwrap()), event);
    }
}

#[test]
fn m_005_a_tool_result_is_the_last_update_of_its_call() {
    let event = EventBody::ToolResult(ToolResultInfo {
        id: "c1".to_owned(),
        name: "Bash".to_owned(),
        output: "a long text".to_owned(),
        is_error: true,
        truncated: true,
        duration_ms: 12,
    });
    let expected = json!({
        "sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "failed",
        "content": [{"type": "content", "content": {"type": "text", "text": "a long text"}}],
        "_meta": {"mia": {
            "type": "tool_result", "name": "Bash", "truncated": true, "duration_ms": 12,
        }},
    });
    assert_eq!(to_update(&event).unwrap(), expected);
}

#[test]
fn m_005_what_acp_has_no_word_for_rides_in_the_meta() {
    let token = EventBody::Token { text: "a".into(), parent_id: Some("c1".into()), raw: None };
    let expected = json!({
        "sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "a"},
        "_meta": {"mia": {"type": "token", "parent_id": "c1"}},
    });
    assert_eq!(to_update(&token).unwrap(), expected);

    let notice = EventBody::notice(NoticeKind::Denied, "no");
    let expected = json!({
        "sessionUpdate": "session_info_update",
        "_meta": {"mia": {"type": "notice", "kind": "denied", "message": "no"}},
    });
    assert_eq!(to_update(&notice).unwrap(), expected);
}
