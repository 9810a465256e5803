//! What Qwen Code says: text, thoughts, tool calls; streams that break.

use mia_api::NoticeKind;
use mia_plugin::Out;
use serde_json::Value;

use super::adapter::{CALLS, Qwen};
use super::line::{Data, Tokens};
use super::tool;
use crate::stream_json::{Message, StreamEvent};

/// The main agent's answer to one request.
///
/// Its lines come as one `message_start`, then for each run of blocks of one kind (text, thoughts,
/// tool calls) the deltas and one `assistant` line that says all of the run again.
///
/// A stream that breaks is asked for again, and a `system` line with the subtype `retry` says how:
/// with `preserveText` the model is asked to go on where it was cut, in the same run, and not each
/// model does; without it the model begins again, and the next `message_start` is the same message.
/// Its `assistant` line came all the same, so nothing is final before the next message.
#[derive(Debug, Clone, Default)]
pub(super) struct Telling {
    /// How many bytes of its current run came as deltas.
    streamed: usize,
    /// Its text is to stand apart from that of the message before.
    apart: bool,
    /// The model begins again.
    again: bool,
    /// It is a second telling.
    retold: bool,
    /// Where in the answer its text begins.
    begins: Option<usize>,
    /// What the model says since it goes on, as far as it may be the beginning of its text.
    overlap: Option<String>,
    /// What looks like an error of the provider, until the last word says whether it was one.
    held: Option<String>,
    /// What the messages told of their tokens.
    pub(super) tokens: Tokens,
}

/// Whether that is how qwen words a failed request. It comes as text of the model does, in one
/// piece.
fn looks_failed(text: &str) -> bool {
    ["[API Error: ", "Quota exhausted: ", "Qwen OAuth "].iter().any(|head| text.starts_with(head))
}

impl Qwen {
    pub(super) fn stream_event(&mut self, event: &StreamEvent<'_>, out: &mut Out) {
        match event.kind.as_ref() {
            "content_block_delta" => {
                let Some(delta) = &event.delta else { return };
                if let Some(text) = &delta.text {
                    self.telling.streamed += text.0.len();
                    self.say(&text.0, out);
                } else if let Some(thinking) = &delta.thinking {
                    self.telling.streamed += thinking.0.len();
                    out.thought(&thinking.0, None);
                }
            }
            "message_start" => self.next_message(out),
            _ => {}
        }
    }

    fn next_message(&mut self, out: &mut Out) {
        self.release(out);
        self.telling.streamed = 0;
        self.telling.retold = std::mem::take(&mut self.telling.again);
        if self.telling.retold {
            out.restart_message();
        } else {
            out.begin_message();
            self.telling.apart = true;
            self.telling.begins = None;
        }
    }

    /// The text of the message so far.
    fn said<'a>(&self, out: &'a Out) -> &'a str {
        self.telling.begins.and_then(|begins| out.content().get(begins..)).unwrap_or_default()
    }

    fn say(&mut self, text: &str, out: &mut Out) {
        if let Some(held) = self.telling.held.take() {
            self.speak(&held, out);
        }
        if looks_failed(text) {
            self.telling.held = Some(text.to_owned());
        } else if let Some(mut again) = self.telling.overlap.take() {
            again.push_str(text);
            let said = self.said(out);
            if said.starts_with(&again) {
                self.telling.overlap = Some(again);
            } else {
                let new = again.strip_prefix(said).unwrap_or(&again).to_owned();
                self.speak(&new, out);
            }
        } else {
            self.speak(text, out);
        }
    }

    /// What was held back was text of the model.
    pub(super) fn release(&mut self, out: &mut Out) {
        let overlap = self.telling.overlap.take().filter(|text| text != self.said(out));
        for text in self.telling.held.take().into_iter().chain(overlap) {
            self.speak(&text, out);
        }
    }

    /// What was held back was what the last word says too.
    pub(super) fn drop_held(&mut self, said: &str, out: &mut Out) {
        self.telling.held.take_if(|held| held == said);
        // The model was saying the same again.
        self.telling.overlap = None;
        self.release(out);
    }

    fn speak(&mut self, text: &str, out: &mut Out) {
        // The texts of two messages are two paragraphs: qwen has none of its own between them.
        let apart = std::mem::take(&mut self.telling.apart);
        if apart && !out.content().is_empty() && !out.content().ends_with('\n') {
            out.token("\n\n");
            out.begin_message();
        }
        self.telling.begins.get_or_insert(out.content().len());
        out.token(text);
    }

    /// A whole run of blocks. What of it came as deltas is not said again.
    pub(super) fn assistant(&mut self, message: Message<'_>, parent: Option<&str>, out: &mut Out) {
        let mut already = 0;
        if parent.is_none() {
            already = std::mem::take(&mut self.telling.streamed);
            let usage = message.usage.map(|usage| serde_json::from_str::<Tokens>(usage.get()));
            if let Some(Ok(usage)) = usage {
                self.telling.tokens = self.telling.tokens.plus(usage);
            }
        }
        let mut rest = |whole: &str| {
            let told = already.min(whole.len());
            already -= told;
            whole.get(told..).unwrap_or_default().to_owned()
        };
        for block in message.content.0 {
            match (block.kind.as_ref(), block.text, block.thinking) {
                ("text", Some(text), _) => match parent {
                    Some(parent) => out.sub_agent_token(parent, &text.0),
                    None => {
                        let new = rest(&text.0);
                        if !new.is_empty() {
                            self.say(&new, out);
                        }
                    }
                },
                ("thinking", _, Some(thinking)) => out.thought(&rest(&thinking.0), parent),
                ("tool_use", ..) => {
                    if parent.is_none() {
                        self.release(out);
                    }
                    let id = block.id.map(|id| id.0.into_owned()).unwrap_or_default();
                    let name = block.name.map(|n| n.0.into_owned()).unwrap_or_default();
                    let input = block.input.and_then(|i| serde_json::from_str(i.get()).ok());
                    if name == "agent" {
                        self.begin_sub_agent(&id, out);
                    }
                    tool::tool_use(id, name, input.unwrap_or(Value::Null), parent, out);
                }
                _ => {}
            }
        }
    }

    fn begin_sub_agent(&mut self, call: &str, out: &Out) {
        if self.sub_agents.len() >= CALLS {
            self.sub_agents.retain(|call| out.is_open(call));
        }
        if self.sub_agents.len() < CALLS {
            self.sub_agents.push(call.to_owned());
        }
    }

    /// The provider is asked again. A second line of the same retry tells nothing new.
    pub(super) fn retry(&mut self, data: &Data<'_>, out: &mut Out) {
        let goes_on = data.preserve_text.0 == Some(true);
        // Less than that may be said twice in good faith.
        let long = self.said(out).len() >= 6 && !self.telling.retold;
        self.telling.overlap = (goes_on && long).then(String::new);
        let known = self.telling.again && data.attempt.0.is_none();
        self.telling.again |= !goes_on;
        if known {
            return;
        }
        let tries = match (data.attempt.0, data.max_retries.0, data.delay_ms.0) {
            (Some(attempt), Some(most), Some(delay)) => {
                format!(" in {} s (retry {attempt} of {most})", delay.div_ceil(1000))
            }
            _ => String::new(),
        };
        let message = if goes_on {
            "the connection to the provider was cut; qwen lets the model go on".to_owned()
        } else {
            format!("the provider failed; qwen tries again{tries}")
        };
        out.notice(NoticeKind::Retry, message);
    }
}
