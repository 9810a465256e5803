//! What the scripted `claude` prints: lines as the real one's, less what nobody reads.

use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};

/// Reads the prompt and begins.
pub(crate) fn begin() -> String {
    let init =
        json!({"type": "system", "subtype": "init", "session_id": "s-1", "model": "fake-model"});
    format!("read-line prompt\nout {init}\n")
}

/// Says something, in a message of its own.
pub(crate) fn say(text: &str) -> String {
    let block = json!({"type": "text", "text": text});
    message(&[json!({"type": "text_delta", "text": text})], &block)
}

/// Thinks something.
pub(crate) fn think(text: &str) -> String {
    let block = json!({"type": "thinking", "thinking": text, "signature": "c2lnbmVk"});
    message(&[json!({"type": "thinking_delta", "thinking": text})], &block)
}

/// Calls a tool.
pub(crate) fn call(id: &str, name: &str, input: &Value) -> String {
    message(&[], &json!({"type": "tool_use", "id": id, "name": name, "input": input}))
}

/// Begins to say something, so much at a time, and never ends it.
pub(crate) fn go_on_saying(times: usize, text: &str) -> String {
    let start =
        json!({"type": "message_start", "message": {"id": "m-long", "model": "fake-model"}});
    let delta = json!({"type": "text_delta", "text": text});
    let delta = json!({"type": "content_block_delta", "index": 0, "delta": delta});
    let (start, delta) = (streamed(&start), streamed(&delta));
    format!("out {start}\nrepeat {times} {delta}\n")
}

/// A message of one block: as it streams, and then as a whole.
fn message(deltas: &[Value], block: &Value) -> String {
    static COUNT: AtomicU32 = AtomicU32::new(1);
    let id = format!("m-{}", COUNT.fetch_add(1, Ordering::Relaxed));
    let start = json!({"type": "message_start", "message": {"id": id, "model": "fake-model"}});
    let begin = json!({"type": "content_block_start", "index": 0});
    let mut text = format!("out {}\nout {}\n", streamed(&start), streamed(&begin));
    for delta in deltas {
        let delta = json!({"type": "content_block_delta", "index": 0, "delta": delta});
        text.push_str(&format!("out {}\n", streamed(&delta)));
    }
    let message = json!({"id": id, "model": "fake-model", "content": [block]});
    let whole = json!({"type": "assistant", "message": message, "session_id": "s-1", "parent_tool_use_id": null});
    let end = streamed(&json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}));
    text.push_str(&format!("out {whole}\nout {end}\n"));
    text
}

fn streamed(event: &Value) -> Value {
    json!({"type": "stream_event", "event": event, "session_id": "s-1", "parent_tool_use_id": null})
}

/// Has the result of a tool.
pub(crate) fn outcome(id: &str, output: &str, is_error: bool) -> String {
    let block =
        json!({"type": "tool_result", "tool_use_id": id, "content": output, "is_error": is_error});
    let message = json!({"role": "user", "content": [block]});
    let line = json!({"type": "user", "message": message, "session_id": "s-1", "parent_tool_use_id": null});
    format!("out {line}\n")
}

/// Asks before it runs a command, and waits for the answer.
pub(crate) fn may_i(tool: &str, command: &str) -> String {
    let request = json!({
        "subtype": "can_use_tool",
        "tool_name": "Bash",
        "input": {"command": command},
        "tool_use_id": tool,
    });
    let line =
        json!({"type": "control_request", "request_id": format!("ask-{tool}"), "request": request});
    format!("out {line}\nread-line answer\n")
}

/// Ends well.
pub(crate) fn end(text: &str) -> String {
    let usage = json!({"input_tokens": 1200, "output_tokens": 34, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0});
    let line = json!({
        "type": "result",
        "subtype": "success",
        "is_error": false,
        "result": text,
        "session_id": "s-1",
        "stop_reason": "end_turn",
        "total_cost_usd": 0.0123,
        "usage": usage,
    });
    format!("out {line}\n")
}

/// A whole run that says this.
pub(crate) fn answer(text: &str) -> String {
    begin() + &say(text) + &end(text)
}
