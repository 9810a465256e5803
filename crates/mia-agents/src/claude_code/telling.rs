//! What Claude Code says: text, thoughts, tool calls; streams that break.

use std::borrow::Cow;

use mia_api::NoticeKind;
use mia_plugin::Out;
use serde_json::value::RawValue;

use super::adapter::ClaudeCode;
use super::tool;
use crate::stream_json::{Message, StreamEvent, text_of};

/// The main agent's message that came last.
///
/// A stream that breaks ends like a whole one, but for `message_delta`; no line withdraws what came
/// of it. Only a block whose `assistant` line came is final. Where some are, claude keeps them and
/// asks the model to go on; where none is, or only thoughts are, the model begins again. So text
/// without its `assistant` line is told again, in a message of another id: as deltas, or, from the
/// last try, which is not streamed, as one `assistant` line.
#[derive(Debug, Clone, Default)]
pub(super) struct Telling {
    /// The message's id.
    id: Option<String>,
    /// How many bytes of its current block came as deltas.
    streamed: usize,
    /// Thoughts came.
    thoughts: bool,
    /// It ended as a whole one does, or was not streamed.
    whole: bool,
    /// Its text is to stand apart from that of the message before.
    apart: bool,
}

impl ClaudeCode {
    pub(super) fn stream_event(
        &mut self,
        event: &StreamEvent<'_>,
        parent: Option<&str>,
        out: &mut Out,
    ) {
        match event.kind.as_ref() {
            "content_block_delta" => {
                let Some(delta) = &event.delta else { return };
                if let Some(text) = &delta.text {
                    match parent {
                        Some(parent) => out.sub_agent_token(parent, &text.0),
                        None => {
                            self.stand_apart(out);
                            self.telling.streamed += text.0.len();
                            out.token(&text.0);
                        }
                    }
                } else if let Some(thinking) = &delta.thinking {
                    if parent.is_none() {
                        self.telling.streamed += thinking.0.len();
                        self.telling.thoughts = true;
                    }
                    out.thought(&thinking.0, parent);
                }
            }
            "message_start" if parent.is_none() => {
                let id = event.message.as_ref().and_then(|message| message.id.as_ref());
                self.next_message(id.map(|id| id.0.as_ref()), false, out);
            }
            "content_block_start" if parent.is_none() => self.telling.streamed = 0,
            "message_delta" if parent.is_none() => self.telling.whole = true,
            _ => {}
        }
    }

    /// The main agent's next message, which may be the last one begun again.
    fn next_message(&mut self, id: Option<&str>, whole: bool, out: &mut Out) {
        let last = std::mem::take(&mut self.telling);
        if last.whole {
            out.begin_message();
            self.telling.apart = true;
        } else {
            // What goes on after a cut may begin within a word, so it does not stand apart.
            out.restart_message();
        }
        if last.thoughts && !last.whole {
            out.notice(NoticeKind::Retry, "claude's message was cut; it may think the same again");
        }
        self.telling.id = id.map(str::to_owned);
        self.telling.whole = whole;
    }

    /// The texts of two messages are two paragraphs: claude has none of its own between them.
    fn stand_apart(&mut self, out: &mut Out) {
        let apart = std::mem::take(&mut self.telling.apart);
        if apart && !out.content().is_empty() && !out.content().ends_with('\n') {
            out.token("\n\n");
            out.begin_message();
        }
    }

    /// A whole block of a message. What of it came as deltas is not said again.
    pub(super) fn assistant(
        &mut self,
        message: Message<'_>,
        error: Option<&RawValue>,
        parent: Option<&str>,
        out: &mut Out,
    ) {
        // What the CLI itself says of an error is no answer; the result repeats it.
        if message.model.as_ref().is_some_and(|m| m.0 == "<synthetic>") {
            self.failure = error.and_then(text_of).map(Cow::into_owned);
            return;
        }
        let id = message.id.as_ref().map(|id| id.0.as_ref());
        if parent.is_none() && id != self.telling.id.as_deref() {
            self.next_message(id, true, out);
        }
        let already = match parent {
            Some(_) => 0,
            None => std::mem::take(&mut self.telling.streamed),
        };
        for block in message.content.0 {
            match (block.kind.as_ref(), block.text, block.thinking) {
                ("text", Some(text), _) => match parent {
                    Some(parent) => out.sub_agent_token(parent, &text.0),
                    None => {
                        self.stand_apart(out);
                        out.token(text.0.get(already..).unwrap_or_default());
                        // It is final now.
                        out.begin_message();
                    }
                },
                ("thinking", _, Some(thinking)) => {
                    out.thought(thinking.0.get(already..).unwrap_or_default(), parent);
                }
                ("tool_use", ..) => {
                    let id = block.id.map(|id| id.0.into_owned()).unwrap_or_default();
                    let name = block.name.map(|n| n.0.into_owned()).unwrap_or_default();
                    tool::tool_use(id, name, block.input, parent, out);
                }
                _ => {}
            }
        }
    }
}
