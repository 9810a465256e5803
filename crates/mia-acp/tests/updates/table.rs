//! The table over all variants of the schema crate.

use agent_client_protocol_schema::v1::SessionUpdate;
use mia_acp::{from_update, to_update};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// One update of each variant and more where a variant has several forms: its kind of event,
/// whether the event says all of it, and the update.
fn table() -> Vec<(&'static str, bool, Value)> {
    let text = json!({"type": "text", "text": "hello"});
    let image = json!({"type": "image", "data": "AA==", "mimeType": "image/png"});
    vec![
        ("other", true, json!({"sessionUpdate": "user_message_chunk", "content": text})),
        ("token", true, json!({"sessionUpdate": "agent_message_chunk", "content": text})),
        (
            "token",
            false,
            json!({
                "sessionUpdate": "agent_message_chunk", "content": text, "messageId": "m1",
                "_meta": {"x": 1},
            }),
        ),
        (
            "token",
            false,
            json!({
                "sessionUpdate": "agent_message_chunk",
                "content": {"type": "text", "text": "a", "annotations": {"audience": ["user"]}},
            }),
        ),
        ("other", true, json!({"sessionUpdate": "agent_message_chunk", "content": image})),
        ("thought", true, json!({"sessionUpdate": "agent_thought_chunk", "content": text})),
        (
            "tool_call",
            true,
            json!({
                "sessionUpdate": "tool_call", "toolCallId": "c1", "title": "Read a.rs",
            }),
        ),
        (
            "tool_call",
            true,
            json!({
                "sessionUpdate": "tool_call", "toolCallId": "c1", "title": "Read a.rs",
                "name": "Read", "kind": "read", "rawInput": {"path": "a.rs"},
                "locations": [{"path": "/w/a.rs", "line": 3}, {"path": "/w/b.rs"}],
            }),
        ),
        (
            "tool_call",
            false,
            json!({
                "sessionUpdate": "tool_call", "toolCallId": "c1", "title": "t", "kind": "other",
                "status": "in_progress", "rawOutput": [1, 2], "content": [],
            }),
        ),
        (
            "tool_update",
            true,
            json!({
                "sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "in_progress",
                "content": [
                    {"type": "content", "content": text},
                    {"type": "diff", "path": "/w/a.rs", "newText": "b"},
                    {"type": "diff", "path": "/w/a.rs", "oldText": "a", "newText": "b"},
                    {"type": "terminal", "terminalId": "t1"},
                    {"type": "content", "content": image},
                    {"type": "session", "sessionId": "s2"},
                ],
            }),
        ),
        (
            "tool_update",
            false,
            json!({
                "sessionUpdate": "tool_call_update", "toolCallId": "c1", "title": "new title",
                "kind": "edit", "name": "Edit", "locations": [], "rawInput": null, "rawOutput": "x",
            }),
        ),
        (
            "plan",
            true,
            json!({"sessionUpdate": "plan", "entries": [
                {"content": "one", "priority": "high", "status": "completed"},
                {"content": "two", "priority": "low", "status": "pending"},
            ]}),
        ),
        (
            "plan",
            false,
            json!({"sessionUpdate": "plan", "entries": [
                {"content": "one", "priority": "high", "status": "completed", "_meta": {"x": 1}},
            ]}),
        ),
        (
            "other",
            true,
            json!({"sessionUpdate": "plan_update", "plan": {
                "type": "markdown", "planId": "p", "content": "# Plan",
            }}),
        ),
        ("other", true, json!({"sessionUpdate": "plan_removed", "planId": "p"})),
        (
            "other",
            true,
            json!({"sessionUpdate": "available_commands_update", "availableCommands": [
                {"name": "web", "description": "Searches", "input": {"hint": "query"}},
            ]}),
        ),
        ("other", true, json!({"sessionUpdate": "current_mode_update", "currentModeId": "ask"})),
        (
            "other",
            true,
            json!({"sessionUpdate": "config_option_update", "configOptions": [{
                "id": "model", "name": "Model", "type": "select", "currentValue": "a",
                "options": [{"value": "a", "name": "A"}],
            }]}),
        ),
        (
            "other",
            true,
            json!({
                "sessionUpdate": "session_info_update", "title": null, "updatedAt": "2030-01-01T00:00:00Z",
            }),
        ),
        (
            "usage",
            true,
            json!({
                "sessionUpdate": "usage_update", "used": 10, "size": 200,
                "cost": {"amount": 0.25, "currency": "USD"},
            }),
        ),
        ("usage", true, json!({"sessionUpdate": "usage_update", "used": 10, "size": u64::MAX})),
        (
            "usage",
            false,
            json!({
                "sessionUpdate": "usage_update", "used": 10, "size": 200,
                "cost": {"amount": 3, "currency": "EUR"},
            }),
        ),
        (
            "other",
            true,
            json!({
                "sessionUpdate": "notice", "severity": "warning", "title": "t", "description": "d",
            }),
        ),
        (
            "other",
            true,
            json!({
                "sessionUpdate": "compaction_update", "compactionId": "k", "status": "in_progress",
            }),
        ),
        (
            "other",
            true,
            json!({
                "sessionUpdate": "compaction_summary_chunk", "compactionId": "k", "content": text,
            }),
        ),
        ("other", true, json!({"sessionUpdate": "subagent_update", "sessionId": "s2"})),
        (
            "other",
            true,
            json!({
                "sessionUpdate": "session_message", "messageId": "m", "senderSessionId": null,
            }),
        ),
        (
            "other",
            true,
            json!({
                "sessionUpdate": "session_message_chunk", "messageId": "m", "content": text,
            }),
        ),
    ]
}

/// The variants that the schema crate reads, in its own words: a new one breaks the table test.
fn variants_of_the_schema() -> Vec<String> {
    let unknown = json!({"sessionUpdate": "no such variant"});
    let error = serde_json::from_value::<SessionUpdate>(unknown).unwrap_err().to_string();
    let (_, list) = error.split_once("expected one of ").unwrap();
    list.split(", ").map(|name| name.trim_matches('`').to_owned()).collect()
}

#[test]
fn m_005_the_table_has_every_variant_of_the_schema() {
    let mut ours: Vec<String> = table()
        .iter()
        .map(|(_, _, update)| update["sessionUpdate"].as_str().unwrap().to_owned())
        .collect();
    ours.dedup();
    assert_eq!(ours, variants_of_the_schema());
}

#[test]
fn m_005_every_session_update_maps_there_and_back() {
    for (kind, whole, update) in table() {
        let typed: SessionUpdate = serde_json::from_value(update.clone())
            .unwrap_or_else(|error| panic!("the schema refuses {update}: {error}"));
        let event = from_update(&update);
        assert_eq!(event.kind(), kind, "{update}");
        let members = serde_json::to_value(&event).unwrap();
        let keeps_original = kind != "other" && members.get("raw").is_some();
        assert_eq!(keeps_original, !whole, "{event:?}");
        assert_eq!(to_update(&event).unwrap(), update);

        // The same as the schema crate itself writes it.
        let written = serde_json::to_value(typed).unwrap();
        assert_eq!(to_update(&from_update(&written)).unwrap(), written);
    }
}
