//! What a terminal may be given: lines that fit, colours where they are wanted, and no character
//! that could take it over.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::io::{self, IsTerminal, Write};

use unicode_width::UnicodeWidthChar;

/// How a line looks where there are colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// As it is.
    Plain,
    /// Less important.
    Dim,
    /// Something failed.
    Bad,
    /// Asks for attention.
    Strong,
}

/// What stderr can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Terminal {
    /// It is a terminal.
    pub(crate) there: bool,
    /// Its cursor can be moved, so that a line can be replaced.
    pub(crate) moves: bool,
    /// Colours are wanted.
    pub(crate) colours: bool,
}

impl Terminal {
    /// What stderr of this process can do. `NO_COLOR` and `TERM=dumb` are heeded.
    pub(crate) fn of_stderr() -> Self {
        Self::of(io::stderr().is_terminal())
    }

    /// The same of stdout.
    pub(crate) fn of_stdout() -> Self {
        Self::of(io::stdout().is_terminal())
    }

    fn of(there: bool) -> Self {
        let term = std::env::var_os("TERM").filter(|term| !term.is_empty());
        let moves = there && term.is_some_and(|term| term != OsStr::new("dumb"));
        let colours = moves && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        Self { there, moves, colours }
    }

    /// A text in its look. The text has no control characters.
    pub(crate) fn paint<'a>(self, text: &'a str, look: Look) -> Cow<'a, str> {
        let on = match look {
            Look::Dim => "\x1b[2m",
            Look::Bad => "\x1b[31m",
            Look::Strong => "\x1b[1m",
            Look::Plain => "",
        };
        if !self.colours || on.is_empty() || text.is_empty() {
            return Cow::Borrowed(text);
        }
        Cow::Owned(format!("{on}{text}\x1b[0m"))
    }

    /// The error's first word, then the error.
    pub(crate) fn error(self, text: &str) -> String {
        format!("{} {text}", self.paint("error:", Look::Bad))
    }
}

/// Writes to stderr at once. There is nowhere to tell that it can't be written.
pub(crate) fn write(text: &str) -> bool {
    let mut err = io::stderr().lock();
    err.write_all(text.as_bytes()).and_then(|()| err.flush()).is_ok()
}

/// How wide the terminal is, in columns.
pub(crate) fn columns() -> usize {
    rustix::termios::tcgetwinsize(io::stderr())
        .or_else(|_| rustix::termios::tcgetwinsize(io::stdout()))
        .map(|size| usize::from(size.ws_col))
        .ok()
        .filter(|columns| *columns > 0)
        .unwrap_or(80)
}

/// How wide a text is on a terminal, in columns.
pub(crate) fn width(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

/// Text on one line, without what could move the cursor or change the terminal: an agent's words
/// are not to be trusted with it.
pub(crate) fn clean(text: &str) -> String {
    text.chars().map(|c| if is_control(c) { ' ' } else { c }).collect()
}

/// The same for several lines.
pub(crate) fn clean_lines(text: &str) -> String {
    text.lines().map(clean).collect::<Vec<_>>().join("\n")
}

/// Text with several lines as a terminal may show it: control characters other than line end and
/// tab are made visible, for an agent's words could otherwise move the cursor, set the title or
/// hide text.
pub(crate) fn defused(text: &str) -> Cow<'_, str> {
    let bad = |c: char| is_control(c) && !matches!(c, '\n' | '\t');
    if !text.contains(bad) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            // It ends a line together with what follows, or hides the line by going back.
            '\r' => {}
            '\u{1b}' => shown.push('␛'),
            c if bad(c) => shown.push('\u{fffd}'),
            c => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

/// Control characters, and those that turn the direction of writing.
fn is_control(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The beginning of a text that fits into so many columns, with an ellipsis where it was cut.
pub(crate) fn fit(text: &str, columns: usize) -> String {
    let text = clean(text);
    if width(&text) <= columns {
        return text;
    }
    let mut used = 1;
    let mut cut: String = text
        .chars()
        .take_while(|c| {
            used += c.width().unwrap_or(0);
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
        assert_eq!(clean_lines("a\x07\nb\x1b"), "a \nb ");
    }

    #[test]
    fn an_answer_cannot_take_the_terminal_over() {
        assert_eq!(defused("plain\n\tü"), "plain\n\tü");
        assert_eq!(defused("a\x1b]0;title\x07b\r\n"), "a␛]0;title\u{fffd}b\n");
    }

    #[test]
    fn only_a_terminal_with_colours_is_painted() {
        let dull = Terminal { there: true, moves: true, colours: false };
        let bright = Terminal { colours: true, ..dull };
        assert_eq!(dull.paint("x", Look::Bad), "x");
        assert_eq!(bright.paint("x", Look::Bad), "\x1b[31mx\x1b[0m");
        assert_eq!(bright.paint("x", Look::Plain), "x");
        assert_eq!(dull.error("it broke"), "error: it broke");
    }
}
