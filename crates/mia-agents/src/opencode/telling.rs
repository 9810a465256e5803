//! What opencode says: its text; streams that break.

use std::time::Duration;

use mia_api::NoticeKind;
use mia_plugin::Out;
use tokio::time::Instant;

/// After a cut opencode waits at least 2 seconds before it asks again. On a loaded machine the last
/// text before it comes late, so that less of that is seen.
const PAUSE: Duration = Duration::from_millis(1200);
/// The least text, in bytes, whose repetition is taken for a second telling. A slow model may well
/// pause and say a syllable twice.
const LEAST: usize = 4;
/// The most text of a message, in bytes, that is kept to know its second telling.
const MOST: usize = 1024 * 1024;

/// The message that came last.
///
/// A stream that breaks is asked for again in silence, and what comes then has the id of the same
/// message. So a message that after such a pause says all over again what it had said, word for
/// word, is taken for told again, and what it says again is not shown. Held back until that is
/// clear, and shown if it was not so: nothing of an answer is ever lost.
#[derive(Debug, Clone, Default)]
pub(super) struct Telling {
    message: Option<String>,
    /// What it said so far.
    said: String,
    /// It said more than is kept.
    overflow: bool,
    /// When its last text came.
    heard: Option<Instant>,
    /// How much of `said` was said again and is held back.
    again: Option<usize>,
    /// Its text is to stand apart from that of the message before.
    apart: bool,
}

impl Telling {
    /// Text of a message.
    pub(super) fn text(&mut self, message: Option<&str>, text: &str, out: &mut Out) {
        if message != self.message.as_deref() {
            self.next_message(message, out);
        }
        let now = Instant::now();
        let paused = self.heard.replace(now).is_some_and(|at| now - at >= PAUSE);
        let long_enough = self.said.len() >= LEAST && !self.overflow;
        match self.again {
            Some(at) => self.retell(at, text, out),
            None if paused && long_enough => self.retell(0, text, out),
            None => self.say(text, out),
        }
    }

    fn next_message(&mut self, message: Option<&str>, out: &mut Out) {
        self.settle(out);
        let first = self.heard.is_none();
        *self = Self { message: message.map(str::to_owned), apart: !first, ..Self::default() };
        if !first {
            out.begin_message();
        }
    }

    fn retell(&mut self, at: usize, text: &str, out: &mut Out) {
        let rest = self.said.get(at..).unwrap_or_default();
        if let Some(new) = text.strip_prefix(rest) {
            self.again = None;
            out.notice(NoticeKind::Retry, "the stream was cut; opencode has asked again");
            self.say(new, out);
        } else if rest.starts_with(text) {
            self.again = Some(at + text.len());
        } else {
            self.settle_at(at, out);
            self.say(text, out);
        }
    }

    /// What was held back was no second telling, or ended in the middle of one.
    pub(super) fn settle(&mut self, out: &mut Out) {
        if let Some(at) = self.again {
            self.settle_at(at, out);
        }
    }

    fn settle_at(&mut self, at: usize, out: &mut Out) {
        self.again = None;
        let held = self.said.get(..at).unwrap_or_default().to_owned();
        self.say(&held, out);
    }

    fn say(&mut self, text: &str, out: &mut Out) {
        // The texts of two messages are two paragraphs: opencode has none of its own between them.
        if std::mem::take(&mut self.apart)
            && !out.content().is_empty()
            && !out.content().ends_with('\n')
        {
            out.token("\n\n");
            out.begin_message();
        }
        if self.said.len() + text.len() <= MOST {
            self.said.push_str(text);
        } else {
            self.overflow = true;
        }
        out.token(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RETRY: Duration = Duration::from_millis(2100);

    async fn told(parts: &[&str]) -> (String, usize) {
        let (mut telling, mut out) = (Telling::default(), Out::new("p"));
        for part in parts {
            match *part {
                "pause" => tokio::time::advance(RETRY).await,
                text => telling.text(Some("m1"), text, &mut out),
            }
        }
        telling.settle(&mut out);
        let notices = out.take_events().iter().filter(|event| event.kind() == "notice").count();
        (out.content().to_owned(), notices)
    }

    #[tokio::test(start_paused = true)]
    async fn m_006_what_a_cut_stream_said_is_said_once() {
        for again in [vec!["one two three"], vec!["o", "ne t", "wo ", "three"]] {
            let mut parts = vec!["one ", "two ", "pause"];
            parts.extend(again);
            assert_eq!(told(&parts).await, ("one two three".to_owned(), 1));
        }
        let twice = ["one ", "two ", "pause", "one ", "two ", "pause", "one ", "two ", "end"];
        assert_eq!(told(&twice).await, ("one two end".to_owned(), 2));
    }

    #[tokio::test(start_paused = true)]
    async fn m_006_nothing_else_is_taken_for_told_again() {
        for (parts, content) in [
            // No pause.
            (vec!["one two ", "one two ", "three"], "one two one two three"),
            // Something else after a pause.
            (vec!["one two ", "pause", "one ", "four"], "one two one four"),
            (vec!["one two ", "pause", "three"], "one two three"),
            // Too little to know.
            (vec!["ha", "pause", "ha"], "haha"),
            // It ends in the middle.
            (vec!["one two three ", "pause", "one "], "one two three one "),
        ] {
            assert_eq!(told(&parts).await, (content.to_owned(), 0), "{parts:?}");
        }
    }

    #[tokio::test]
    async fn m_006_two_messages_are_two_paragraphs() {
        let (mut telling, mut out) = (Telling::default(), Out::new("p"));
        for (message, text) in [("a", "I "), ("a", "look."), ("b", "Done"), ("b", ".")] {
            telling.text(Some(message), text, &mut out);
        }
        assert_eq!(out.content(), "I look.\n\nDone.");
    }
}
