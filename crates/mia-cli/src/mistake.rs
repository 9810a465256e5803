//! Mistakes in a configuration, shown in their lines.

use mia_config::{ConfigError, ConfigErrors, Snippet};

use crate::terminal::{Look, Terminal, clean, columns, width};

/// More mistakes than this are counted, not shown.
const SHOWN: usize = 5;

/// Each mistake with its place, its line and a mark below it.
pub(crate) fn in_their_lines(mistakes: &ConfigErrors, terminal: Terminal) -> String {
    let list = mistakes.list();
    let room = columns();
    let mut text: Vec<_> = list.iter().take(SHOWN).map(|m| one(m, terminal, room)).collect();
    if let Some(more @ 1..) = list.len().checked_sub(SHOWN) {
        text.push(format!("  and {more} more"));
    }
    text.join("\n")
}

/// How wide a line may be where nothing is known of a screen.
const WIDE: usize = 200;

/// All of them, also where there is no terminal.
pub(crate) fn all_in_their_lines(mistakes: &[ConfigError], terminal: Terminal) -> String {
    let room = if terminal.there { columns() } else { WIDE };
    mistakes.iter().map(|m| one(m, terminal, room)).collect::<Vec<_>>().join("\n")
}

fn one(mistake: &ConfigError, terminal: Terminal, room: usize) -> String {
    let place = terminal.paint(&clean(&mistake.origin.to_string()), Look::Dim).into_owned();
    let message = clean(&mistake.message);
    let help = mistake.help.as_ref().map(|help| format!("\n    = {}", clean(help)));
    let help = help.unwrap_or_default();
    let marked = mistake.snippet.as_ref().and_then(|snippet| Marked::find(snippet, room));
    let lines = marked.map(|Marked { line, number, before, marked }| {
        let mark = terminal.paint(&"^".repeat(marked), Look::Bad).into_owned();
        let (bar, before) = (" ".repeat(number.len()), " ".repeat(before));
        format!("\n  {number} │ {line}\n  {bar} │ {before}{mark}")
    });
    format!("  {place}: {message}{}{help}", lines.unwrap_or_default())
}

/// A line with the columns of its mistake.
#[derive(Debug, PartialEq, Eq)]
struct Marked {
    line: String,
    number: String,
    before: usize,
    marked: usize,
}

impl Marked {
    /// None when the place is not in the text, or too far to the right to be shown.
    fn find(snippet: &Snippet, room: usize) -> Option<Self> {
        let Snippet { text, offset, length } = snippet;
        let (ahead, behind) = (text.get(..*offset)?, text.get(*offset..)?);
        let start = ahead.rfind('\n').map_or(0, |end| end + 1);
        let before = ahead.get(start..)?;
        let rest = behind.lines().next().unwrap_or_default();
        let in_line = (*length).min(rest.len());
        let marked = rest.get(..in_line).unwrap_or(rest);
        let number = (ahead.matches('\n').count() + 1).to_string();
        let (before, marked) = (clean(before), clean(marked));
        // The line as a whole, or nothing: a part of it would be taken for the whole.
        let line = clean(&format!("{}{rest}", ahead.get(start..)?));
        if width(&line) + number.len() + 6 > room {
            return None;
        }
        Some(Self { line, number, before: width(&before), marked: width(&marked).max(1) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(text: &str, offset: usize, length: usize) -> Option<Marked> {
        Marked::find(&Snippet { text: text.into(), offset, length }, 40)
    }

    #[test]
    fn the_mark_stands_below_the_mistake() {
        let marked = |line: &str, number: &str, before, marked| {
            Some(Marked { line: line.into(), number: number.into(), before, marked })
        };
        assert_eq!(find("a: 1\nbad: 2\n", 5, 3), marked("bad: 2", "2", 0, 3));
        assert_eq!(find("ü: x\n", 4, 1), marked("ü: x", "1", 3, 1));
        assert_eq!(find("漢: x", 5, 1), marked("漢: x", "1", 4, 1));
        assert_eq!(find("a: 1\n", 5, 0), marked("", "2", 0, 1));
        assert_eq!(find("a: b\nc", 3, 3), marked("a: b", "1", 3, 1));
        assert_eq!(
            find("a\t: \x1b[2J", 2, 1),
            marked("a : [2J".replace(": [", ":  [").as_str(), "1", 2, 1)
        );
    }

    #[test]
    fn what_does_not_fit_is_not_shown_in_part() {
        assert_eq!(find(&"x".repeat(100), 0, 1), None);
        assert_eq!(find("abc", 9, 1), None);
    }
}
