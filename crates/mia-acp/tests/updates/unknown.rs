//! What nobody has seen before.

use mia_acp::{from_update, to_update};
use mia_api::EventBody;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

#[test]
fn m_005_an_unknown_variant_stays_as_it_is() {
    let update =
        json!({"sessionUpdate": "of_tomorrow", "n": 12345678901234567890_u64, "x": [null]});
    let event = from_update(&update);
    assert_eq!(event, EventBody::Other { raw: update.clone() });
    assert_eq!(to_update(&event).unwrap(), update);
}

#[test]
fn m_005_unknown_members_and_words_are_kept() {
    let update = json!({
        "sessionUpdate": "tool_call", "toolCallId": "c", "title": "t", "kind": "of_tomorrow",
        "status": 7, "locations": "none", "surprise": {"deep": [1, 2.5]},
    });
    let event = from_update(&update);
    assert_eq!(event.kind(), "tool_call");
    assert_eq!(to_update(&event).unwrap(), update);
}

#[test]
fn m_005_what_is_no_update_is_found_in_the_meta() {
    for raw in [Value::Null, json!(5), json!({"type": "system"}), json!({"sessionUpdate": 5})] {
        let event = from_update(&raw);
        assert_eq!(event, EventBody::Other { raw: raw.clone() });
        let update = to_update(&event).unwrap();
        assert_eq!(
            update,
            json!({
                "sessionUpdate": "session_info_update", "_meta": {"mia": {"type": "other", "raw": raw}},
            })
        );
        assert_eq!(from_update(&update), event);
    }
}

/// Events of ours within each other, as deep as a peer likes: read in linear time, kept whole.
#[test]
fn m_005_events_nested_without_end_are_kept() {
    let mut update = json!({"sessionUpdate": "of_tomorrow"});
    for _ in 0..60 {
        update = json!({
            "sessionUpdate": "session_info_update",
            "_meta": {"mia": {"type": "other", "raw": update}},
        });
    }
    assert_eq!(to_update(&from_update(&update)).unwrap(), update);
}
