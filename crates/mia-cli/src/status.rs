//! One line on the terminal that tells what goes on, and lines that stay.

use std::time::{Duration, Instant};

use crate::terminal::{Look, Terminal, clean, columns, fit, width, write};
use crate::time::took;

/// How long nothing is shown, so that what is quick does not flicker.
const PATIENCE: Duration = Duration::from_millis(300);
const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// The status line on stderr. On anything but a terminal it is never shown.
#[derive(Debug)]
pub(crate) struct Status {
    terminal: Terminal,
    shown: bool,
    frame: usize,
}

impl Status {
    pub(crate) fn new(terminal: Terminal) -> Self {
        Self { terminal, shown: false, frame: 0 }
    }

    /// Whether what goes on since then is due to be shown.
    pub(crate) fn is_due(&self, since: Instant) -> bool {
        self.terminal.moves && (self.shown || since.elapsed() >= PATIENCE)
    }

    /// Shows what goes on since then, in place of what was shown before.
    pub(crate) fn show(&mut self, what: &str, since: Instant) {
        if !self.is_due(since) {
            return;
        }
        self.frame = self.frame.wrapping_add(1);
        let frame = FRAMES.get(self.frame % FRAMES.len()).copied().unwrap_or("-");
        let time = took(since.elapsed());
        let room = columns().saturating_sub(width(&time) + 5);
        let time = self.terminal.paint(&time, Look::Dim);
        self.shown = write(&format!("\r\x1b[K{frame} {}  {time}", fit(what, room)));
    }

    /// Takes the line away.
    pub(crate) fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            write("\r\x1b[K");
        }
    }

    /// Writes a line that stays, cut to the terminal's width, with how long it took.
    pub(crate) fn took(&mut self, text: &str, time: Duration, look: Look) {
        let time = format!("  {}", took(time));
        let text = if self.terminal.moves {
            fit(text, columns().saturating_sub(width(&time) + 1))
        } else {
            clean(text)
        };
        let text = self.terminal.paint(&text, look).into_owned();
        self.write(&format!("{text}{}", self.terminal.paint(&time, Look::Dim)));
    }

    /// Writes a line that stays, as long as it is.
    pub(crate) fn line(&mut self, text: &str, look: Look) {
        let text = clean(text);
        self.write(&self.terminal.paint(&text, look));
    }

    fn write(&mut self, line: &str) {
        self.clear();
        write(&format!("{line}\n"));
    }
}
