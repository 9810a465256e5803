//! Rows in columns.

use unicode_width::UnicodeWidthStr;

use crate::terminal::{Terminal, columns, fit, width};

/// The least room that is worth cutting lines for, in columns.
const NARROW: usize = 20;

/// Lines with their cells aligned; the last column is not padded.
pub(crate) fn aligned(rows: &[Vec<String>]) -> String {
    fitted(rows, usize::MAX)
}

/// The same in so much room: the last column is cut between words, and goes on below where it
/// began.
pub(crate) fn fitted(rows: &[Vec<String>], room: usize) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.width()).max().unwrap_or(0)
    };
    let widths: Vec<_> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        let mut indent = 0;
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            if column + 1 == columns {
                let room = if indent + NARROW > room { usize::MAX } else { room };
                line.push_str(&wrapped(cell, indent, room));
                break;
            }
            line.push_str(cell);
            let pad = width.saturating_sub(cell.width()) + 2;
            line.extend(std::iter::repeat_n(' ', pad));
            indent += width + 2;
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// The same, one line a row: what has no room is cut off.
pub(crate) fn lines(rows: &[Vec<String>], room: usize) -> String {
    let text = aligned(rows);
    match room {
        usize::MAX => text,
        room => text.lines().map(|line| format!("{}\n", fit(line, room))).collect(),
    }
}

/// How wide stdout is; what is no terminal takes lines of any length.
pub(crate) fn room() -> usize {
    if Terminal::of_stdout().there { columns() } else { usize::MAX }
}

/// Text whose lines fit, cut between words; all but the first are indented.
pub(crate) fn wrapped(text: &str, indent: usize, room: usize) -> String {
    let mut out = String::new();
    for (number, line) in text.lines().enumerate() {
        let mut used = indent;
        if number > 0 {
            out.push_str(&" ".repeat(indent));
        }
        // The snippets of a configuration's mistakes are laid out already.
        let laid_out = line.starts_with(' ');
        for (place, word) in line.split(' ').enumerate() {
            let length = width(word);
            if place > 0 {
                if !laid_out && used + 1 + length > room {
                    out.push('\n');
                    out.push_str(&" ".repeat(indent));
                    used = indent;
                } else {
                    out.push(' ');
                    used += 1;
                }
            }
            out.push_str(word);
            used += length;
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn cells_are_aligned_by_their_width_on_the_screen() {
        let row = |cells: &[&str]| cells.iter().map(|c| (*c).to_owned()).collect();
        let text = aligned(&[row(&["漢字", "x", "end"]), row(&["abc", "long", ""])]);
        assert_eq!(text, "漢字  x     end\nabc   long\n");
    }

    #[test]
    fn the_last_column_is_cut_between_words() {
        let row = |cells: &[&str]| cells.iter().map(|c| (*c).to_owned()).collect();
        let rows = [row(&["note", "one two three four five"]), row(&["what", "x"])];
        assert_eq!(fitted(&rows, 26), "note  one two three four\n      five\nwhat  x\n");
        // Too narrow: the terminal does it.
        assert_eq!(fitted(&rows, 12), aligned(&rows));
        let lines = [row(&["a", "one\ntwo"])];
        assert_eq!(aligned(&lines), "a  one\n   two\n");
    }

    #[test]
    fn m_071_lines_are_cut_between_words() {
        assert_eq!(wrapped("one two three", 2, 9), "one two\n  three\n");
        assert_eq!(wrapped("one\ntwo", 2, 9), "one\n  two\n");
        assert_eq!(wrapped("much-too-long a", 2, 9), "much-too-long\n  a\n");
        assert_eq!(wrapped("a b", 2, usize::MAX), "a b\n");
    }
}
