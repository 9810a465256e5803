//! One line on the terminal that tells what goes on.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use unicode_width::UnicodeWidthChar;

/// How long nothing is shown, so that what is quick does not flicker.
const PATIENCE: Duration = Duration::from_millis(300);
const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// The status line on stderr. On anything but a terminal it is never shown.
#[derive(Debug)]
pub(super) struct Status {
    /// Whether stderr is a terminal that can move its cursor.
    live: bool,
    colour: bool,
    shown: bool,
    frame: usize,
}

/// How a line looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    /// As it is.
    Plain,
    /// Less important.
    Dim,
    /// Something failed.
    Bad,
}

impl Status {
    pub(super) fn new(quiet: bool) -> Self {
        let dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
        let live = io::stderr().is_terminal() && !quiet && !dumb;
        let colour = live && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        Self { live, colour, shown: false, frame: 0 }
    }

    /// Whether tool lines and the like are wanted.
    pub(super) fn is_live(&self) -> bool {
        self.live
    }

    /// Shows what goes on since then, in place of what was shown before.
    pub(super) fn show(&mut self, what: &str, since: Instant) {
        let elapsed = since.elapsed();
        if !self.live || (elapsed < PATIENCE && !self.shown) {
            return;
        }
        self.frame = self.frame.wrapping_add(1);
        let frame = FRAMES.get(self.frame % FRAMES.len()).copied().unwrap_or("-");
        let time = format!(" {}", seconds(elapsed));
        let room = columns().saturating_sub(time.chars().count() + 3);
        let line = format!("\r\x1b[K{frame} {}{time}", fit(what, room));
        self.shown = write(&line);
    }

    /// Takes the line away.
    pub(super) fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            write("\r\x1b[K");
        }
    }

    /// Writes a line that stays. `after_text` says that the terminal's line has text of the answer
    /// on it.
    pub(super) fn line(&mut self, text: &str, look: Look, after_text: bool) {
        self.clear();
        let newline = if after_text { "\n" } else { "" };
        let text = if self.live { fit(text, columns().saturating_sub(1)) } else { clean(text) };
        let (on, off) = match look {
            Look::Dim if self.colour => ("\x1b[2m", "\x1b[0m"),
            Look::Bad if self.colour => ("\x1b[31m", "\x1b[0m"),
            _ => ("", ""),
        };
        write(&format!("{newline}{on}{text}{off}\n"));
    }
}

/// Moves to a fresh line, for a process that ends in the middle of one.
pub(super) fn leave_line() {
    write("\r\x1b[K\n");
}

/// There is nowhere to tell that stderr can't be written.
fn write(text: &str) -> bool {
    let mut err = io::stderr().lock();
    err.write_all(text.as_bytes()).and_then(|()| err.flush()).is_ok()
}

/// A time for people.
pub(super) fn seconds(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..10 => format!("{:.1} s", time.as_secs_f64()),
        10..120 => format!("{seconds} s"),
        _ => format!("{}:{:02} min", seconds / 60, seconds % 60),
    }
}

/// How wide the terminal is.
fn columns() -> usize {
    rustix::termios::tcgetwinsize(io::stderr())
        .map(|size| usize::from(size.ws_col))
        .ok()
        .filter(|columns| *columns > 0)
        .unwrap_or(80)
}

/// Text without what could move the cursor or change the terminal: an agent's words are not to be
/// trusted with it.
pub(super) fn clean(text: &str) -> String {
    text.chars().map(|c| if is_control(c) { ' ' } else { c }).collect()
}

/// Control characters, and those that turn the direction of writing.
pub(super) fn is_control(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The beginning of a text that fits into so many columns, with an ellipsis where it was cut.
fn fit(text: &str, columns: usize) -> String {
    let text = clean(text);
    let width = |c: char| c.width().unwrap_or(0);
    if text.chars().map(width).sum::<usize>() <= columns {
        return text;
    }
    let mut used = 1;
    let mut cut: String = text
        .chars()
        .take_while(|c| {
            used += width(*c);
            used <= columns
        })
        .collect();
    cut.push('…');
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_fits_and_moves_nothing() {
        assert_eq!(fit("abc", 3), "abc");
        assert_eq!(fit("abcd", 3), "ab…");
        assert_eq!(fit("漢字漢字", 5), "漢字…");
        assert_eq!(clean("a\x1b[2Jb\rc\u{202e}d"), "a [2Jb c d");
    }

    #[test]
    fn times_are_short() {
        assert_eq!(seconds(Duration::from_millis(1240)), "1.2 s");
        assert_eq!(seconds(Duration::from_secs(75)), "75 s");
        assert_eq!(seconds(Duration::from_secs(125)), "2:05 min");
    }
}
