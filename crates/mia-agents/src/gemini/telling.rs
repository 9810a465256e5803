//! What Gemini CLI says; streams that break.

use mia_api::NoticeKind;
use mia_plugin::Out;

/// How much of a message is compared with what may be its second telling, in bytes.
const OPENING: usize = 16;
/// How much of it there must be: `1` may well follow `1`.
const SHORTEST_OPENING: usize = 4;
/// The shortest wait before gemini begins a message again, in ms: it waits 1, 2, then 4 s after a
/// stream that broke. One less, for timers may be early by that.
const SHORTEST_WAIT: u64 = 999;
const DAY: u64 = 24 * 60 * 60 * 1000;

/// The message that gemini tells now.
///
/// When the stream of a message ends without a reason, or breaks, gemini asks for it again, up to
/// three times, and the model begins from the start. **No event tells that**: the text just goes on.
/// What can be seen is a pause of at least a second, and then the words with which the message
/// began. Text that looks so is held until it has said the message's opening again, or differs.
#[derive(Debug, Clone, Default)]
pub(super) struct Telling {
    /// The message's first bytes.
    opening: String,
    /// The opening is as long as it gets.
    opened: bool,
    /// What was said after the pause so far: the opening again, as far as it goes.
    held: Option<String>,
    /// When its last text came, in ms of the day.
    last: Option<u64>,
    /// A message is over, so the next text is of another one.
    over: bool,
}

impl Telling {
    /// Text of the answer.
    pub(super) fn text(&mut self, text: &str, timestamp: Option<&str>, out: &mut Out) {
        if text.is_empty() {
            return;
        }
        let now = timestamp.and_then(ms_of_day);
        let waited = match (self.last, now) {
            (Some(last), Some(now)) => (now + DAY - last) % DAY >= SHORTEST_WAIT,
            _ => false,
        };
        self.last = now;
        if std::mem::take(&mut self.over) {
            self.opening.clear();
            self.opened = false;
            // The texts of two messages are two paragraphs: gemini has nothing between them.
            if !out.content().is_empty() && !out.content().ends_with('\n') {
                out.begin_message();
                out.token("\n\n");
            }
            out.begin_message();
        } else if waited && self.may_be_retold(text) {
            // What was held was cut again, and is no news.
            return self.hold(text.to_owned(), out);
        } else if let Some(held) = self.held.take() {
            return self.hold(held + text, out);
        }
        self.say(text, out);
    }

    /// Either of them begins with the other, and the message is long enough to tell.
    fn may_be_retold(&self, text: &str) -> bool {
        let common = text.bytes().zip(self.opening.bytes()).take_while(|(a, b)| a == b).count();
        self.opening.len() >= SHORTEST_OPENING
            && common > 0
            && (common == text.len() || common == self.opening.len())
    }

    fn hold(&mut self, held: String, out: &mut Out) {
        if held.starts_with(&self.opening) {
            self.held = None;
            out.notice(NoticeKind::Retry, "gemini's message was cut, and it begins again");
            out.restart_message();
            out.token(&held);
        } else if self.opening.starts_with(&held) {
            self.held = Some(held);
        } else {
            self.held = None;
            self.say(&held, out);
        }
    }

    fn say(&mut self, text: &str, out: &mut Out) {
        if !self.opened {
            let room = OPENING.saturating_sub(self.opening.len()).min(text.len());
            let end = (0..=room).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
            self.opening.push_str(text.get(..end).unwrap_or_default());
            self.opened = end < text.len();
        }
        out.token(text);
    }

    /// Its message is over, with all that it said. What was held was no second telling.
    pub(super) fn end(&mut self, out: &mut Out) {
        if let Some(held) = self.held.take() {
            self.say(&held, out);
        }
        self.over = true;
    }
}

/// The time of day in a timestamp like `2026-11-30T20:08:03.236Z`.
fn ms_of_day(timestamp: &str) -> Option<u64> {
    let number = |range: std::ops::Range<usize>| timestamp.get(range)?.parse::<u64>().ok();
    let (hours, minutes) = (number(11..13)?, number(14..16)?);
    let (seconds, ms) = (number(17..19)?, number(20..23)?);
    Some((((hours * 60 + minutes) * 60 + seconds) * 1000 + ms) % DAY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mia_api::EventBody;

    /// What is said and shown of these texts, each with its second.
    fn told(texts: &[(&str, u32)]) -> (String, String) {
        let (mut telling, mut out) = (Telling::default(), Out::new("gemini"));
        for (text, second) in texts {
            let at = format!("2026-11-30T23:{:02}:{:02}.500Z", second / 60, second % 60);
            telling.text(text, Some(&at), &mut out);
        }
        telling.end(&mut out);
        let events = out.take_events();
        let shown = events.into_iter().filter_map(|event| match event {
            EventBody::Token { text, .. } => Some(text),
            _ => None,
        });
        let shown = shown.collect();
        (out.content().to_owned(), shown)
    }

    #[test]
    fn m_006_a_message_that_is_told_again_is_shown_once() {
        let whole = "about to say something that is longer than what is compared";
        let (first, last) = whole.split_at(40);
        let (about, first) = first.split_at(6);
        let to_say = format!("{}{last}", first.trim_start_matches("to"));
        for again in [vec![(whole, 2)], vec![("abo", 2), ("ut to", 2), (&to_say, 2)]] {
            let mut texts = vec![(about, 0), (first, 0)];
            texts.extend(again);
            assert_eq!(told(&texts), (whole.to_owned(), whole.to_owned()));
        }
        // Cut three times, at last within its first word.
        let texts = [("about ", 0), ("to fail", 0), ("about ", 1), ("to ", 1), ("ab", 4)];
        let texts = [&texts[..], &[("about ", 8), ("to fail", 8), (" not", 8)]].concat();
        assert_eq!(told(&texts).1, "about to fail not");
    }

    #[test]
    fn words_that_come_again_are_no_second_telling() {
        // At once, or after a pause but then differently.
        assert_eq!(told(&[("ha ", 0), ("ha ", 0), ("ha", 0)]).1, "ha ha ha");
        let texts = [("- one thing that is long enough\n", 0), ("- ", 3), ("two\n", 3)];
        assert_eq!(told(&texts).1, "- one thing that is long enough\n- two\n");
        assert_eq!(told(&[("- one thing that", 0), ("- ", 3)]).1, "- one thing that- ");
        // Too short to tell.
        assert_eq!(told(&[("1", 0), ("1", 3)]).0, "11");
        assert_eq!(told(&[("abc", 0), ("abc", 3), (" d", 3)]).0, "abcabc d");
        assert_eq!(told(&[("abcd", 0), ("abcd", 3), (" e", 3)]).0, "abcd e");
    }

    #[test]
    fn odd_timestamps_are_none() {
        for odd in ["", "yesterday", "2026-11-30T2ü:08:03.236Z", "2026-11-30T99:99:99.999Z"] {
            let ms = ms_of_day(odd);
            assert!(ms.is_none_or(|ms| ms < DAY), "{odd}");
        }
        assert_eq!(ms_of_day("2026-11-30T01:01:01.001Z"), Some(3_661_001));
    }
}
