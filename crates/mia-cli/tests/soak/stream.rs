//! An agent that says a long answer of which each byte is known.

use fastrand::Rng;
use serde_json::{Value, json};

use crate::claude::{begin, end};

/// A script, and what an agent that follows it says.
#[derive(Debug, Default)]
pub(crate) struct Stream {
    pub(crate) script: String,
    pub(crate) text: String,
    pub(crate) thoughts: String,
}

/// What stands for the prompt's own words in a script.
const PROMPT: &str = "${last.text}";

/// So many pieces of an answer, each with the prompt's words in it, with thoughts between them and
/// pauses of up to `pause` ms. `words` are the prompt: nothing that JSON has to escape.
pub(crate) fn stream(words: &str, pieces: usize, pause: u64, rng: &mut Rng) -> Stream {
    let mut stream = Stream { script: begin(), ..Stream::default() };
    let message = json!({"id": "m-1", "model": "fake-model"});
    stream.event(&json!({"type": "message_start", "message": message}));
    for number in 0..pieces {
        let fill = rng.choice(["", "ü", "漢字", "🎈", "line\n", " - "]).unwrap_or_default();
        let piece = format!("{number} {PROMPT}{} ", fill.repeat(rng.usize(0..12)));
        let said = piece.replace(PROMPT, words);
        let (kind, member) = match rng.u8(0..5) {
            0 => {
                stream.thoughts.push_str(&said);
                ("thinking_delta", "thinking")
            }
            _ => {
                stream.text.push_str(&said);
                ("text_delta", "text")
            }
        };
        let delta = json!({"type": kind, member: piece});
        stream.event(&json!({"type": "content_block_delta", "index": 0, "delta": delta}));
        if pause > 0 {
            stream.script.push_str(&format!("sleep {}\n", rng.u64(0..=pause)));
        }
    }
    stream.script.push_str(&end("done"));
    stream
}

impl Stream {
    fn event(&mut self, event: &Value) {
        let line = json!({"type": "stream_event", "event": event, "session_id": "s-1", "parent_tool_use_id": null});
        self.script.push_str(&format!("out {line}\n"));
    }
}
