//! What codex says: text and thoughts; streams that break.

use mia_api::NoticeKind;
use mia_plugin::Out;
use serde_json::Value;

use super::adapter::Codex;
use super::line::{Delta, list, text};

/// The main agent's message and thought that came last.
///
/// A stream that breaks leaves an item without `item/completed`. Items that were completed stay in
/// the conversation, and the model is asked to go on after them; what was not is asked for again,
/// and comes from its start in an item of another id.
#[derive(Debug, Clone, Default)]
pub(super) struct Telling {
    /// The item of the message that is being told; none between two.
    message: Option<String>,
    /// How many bytes of it came as deltas.
    streamed: usize,
    /// It was cut, and was not told again yet.
    cut: bool,
    /// Its text is to stand apart from that of the message before.
    apart: bool,
    /// The item of the last thought; none before the first.
    thought: Option<String>,
    /// That thought is being told.
    thinking: bool,
    /// How many bytes of it came as deltas.
    thought_of: usize,
}

impl Codex {
    /// A piece of text. `parent` is the call of the sub-agent that speaks.
    pub(super) fn text_delta(&mut self, delta: &Delta<'_>, parent: Option<&str>, out: &mut Out) {
        match parent {
            Some(parent) => out.sub_agent_token(parent, &delta.delta.0),
            None => {
                self.message_of(&delta.item_id.0, out);
                self.say(&delta.delta.0, out);
            }
        }
    }

    /// The message that the next text belongs to.
    fn message_of(&mut self, item: &str, out: &mut Out) {
        if self.telling.message.as_deref() == Some(item) {
            return;
        }
        if self.telling.message.is_some() {
            self.cut(out);
        }
        if self.telling.cut {
            // What is told again does not stand apart from itself.
            out.restart_message();
            self.telling.cut = false;
        } else {
            out.begin_message();
            self.telling.apart = true;
        }
        self.telling.message = Some(item.to_owned());
        self.telling.streamed = 0;
    }

    fn say(&mut self, text: &str, out: &mut Out) {
        if text.is_empty() {
            return;
        }
        // The texts of two messages are two paragraphs: codex has none of its own between them.
        let apart = std::mem::take(&mut self.telling.apart);
        if apart && !out.content().is_empty() {
            if !out.content().ends_with('\n') {
                out.token("\n\n");
            }
            out.begin_message();
        }
        self.telling.streamed += text.len();
        out.token(text);
    }

    /// A message begins.
    pub(super) fn message_started(&mut self, item: &Value, out: &mut Out) {
        self.message_of(text(item, "id"), out);
    }

    /// A message is whole. What of it came as deltas is not said again.
    pub(super) fn message_completed(&mut self, item: &Value, parent: Option<&str>, out: &mut Out) {
        if parent.is_some() {
            return;
        }
        self.message_of(text(item, "id"), out);
        let rest = text(item, "text").get(self.telling.streamed..).unwrap_or_default();
        self.say(rest, out);
        self.telling.message = None;
        // It is final now.
        out.begin_message();
    }

    /// The stream broke: what is not whole will be told again, or not at all.
    pub(super) fn cut(&mut self, out: &mut Out) {
        self.telling.cut |= self.telling.message.take().is_some() && self.telling.streamed > 0;
        if std::mem::take(&mut self.telling.thinking) && self.telling.thought_of > 0 {
            out.notice(NoticeKind::Retry, "codex's thought was cut; it may think the same again");
        }
    }

    /// The turn is over: a text that was cut and not told again is no part of the answer.
    pub(super) fn all_told(&mut self, out: &mut Out) {
        if std::mem::take(&mut self.telling.cut) {
            out.restart_message();
            out.begin_message();
        }
    }

    /// A piece of a thought: of its summary, or of itself where a model gives that.
    pub(super) fn thought_delta(&mut self, delta: &Delta<'_>, parent: Option<&str>, out: &mut Out) {
        if parent.is_none() {
            self.thought_of_item(&delta.item_id.0, out);
            self.telling.thought_of += delta.delta.0.len();
        }
        out.thought(&delta.delta.0, parent);
    }

    /// Two thoughts are two paragraphs.
    fn thought_of_item(&mut self, item: &str, out: &mut Out) {
        if self.telling.thought.as_deref() == Some(item) {
            return;
        }
        if self.telling.thought.is_some() {
            out.thought("\n\n", None);
        }
        self.telling.thought = Some(item.to_owned());
        self.telling.thinking = true;
        self.telling.thought_of = 0;
    }

    /// The next part of a thought's summary.
    pub(super) fn thought_part(&mut self, params: &Value, parent: Option<&str>, out: &mut Out) {
        if params.get("summaryIndex").and_then(Value::as_u64).is_some_and(|index| index > 0) {
            out.thought("\n\n", parent);
        }
    }

    /// A thought is whole. It is said here where it did not come as deltas.
    pub(super) fn thought_completed(&mut self, item: &Value, parent: Option<&str>, out: &mut Out) {
        if parent.is_some() {
            return;
        }
        let streamed = self.telling.thought.as_deref() == Some(text(item, "id"));
        self.telling.thinking = false;
        let parts = [list(item, "summary"), list(item, "content")].concat();
        let parts: Vec<&str> = parts.iter().filter_map(Value::as_str).collect();
        if !streamed && !parts.is_empty() {
            self.thought_of_item(text(item, "id"), out);
            self.telling.thinking = false;
            out.thought(&parts.join("\n\n"), None);
        }
    }
}
