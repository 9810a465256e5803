//! Text that reads well on a terminal of 80 columns.

/// The width that text is broken to, in characters.
const WIDTH: usize = 80;

/// The text without control characters: what stands in a file or a name must not reach a terminal
/// as a command.
pub(super) fn clean(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => clean.push('\n'),
            '\t' => clean.push_str("    "),
            '\r' => {}
            c if c.is_control() || is_bidi_control(c) => clean.push('\u{FFFD}'),
            c => clean.push(c),
        }
    }
    clean
}

/// Characters that show a text in another order than it has.
fn is_bidi_control(c: char) -> bool {
    matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// The beginning of a line, at most so many characters.
pub(super) fn cut(line: &str, most: usize) -> String {
    if line.chars().count() <= most {
        return line.to_owned();
    }
    let mut cut: String = line.chars().take(most.saturating_sub(1)).collect();
    cut.push('…');
    cut
}

/// The beginning of a text, at most so many bytes, and whether that is not all.
pub(super) fn beginning(text: &str, most: usize) -> (&str, bool) {
    let end = text.floor_char_boundary(most);
    (text.get(..end).unwrap_or(text), end < text.len())
}

/// A paragraph broken into lines.
pub(super) fn wrap(text: &str) -> String {
    let mut wrapped = String::new();
    let mut column = 0;
    for word in text.split_whitespace() {
        let width = word.chars().count();
        if column > 0 && column + 1 + width > WIDTH {
            wrapped.push('\n');
            column = 0;
        } else if column > 0 {
            wrapped.push(' ');
            column += 1;
        }
        wrapped.push_str(word);
        column += width;
    }
    wrapped
}

/// `1 file`, `2,000 files`.
pub(super) fn count(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", thousands(number), if number == 1 { one } else { many })
}

/// A number with commas.
pub(super) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Lines as a block of Markdown code, whatever is in them.
pub(super) fn code(lines: &str) -> String {
    let mut fence = "```".to_owned();
    while lines.contains(&fence) {
        fence.push('`');
    }
    format!("{fence}\n{}\n{fence}\n", lines.trim_end_matches('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_gets_no_commands_from_a_file() {
        assert_eq!(clean("a\u{1b}[31mb\r\n\tc\u{202e}d"), "a\u{FFFD}[31mb\n    c\u{FFFD}d");
    }

    #[test]
    fn text_is_broken_and_cut_at_characters() {
        assert_eq!(cut("äöü", 3), "äöü");
        assert_eq!(cut("äöüß", 3), "äö…");
        assert_eq!(beginning("äö", 3), ("ä", true));
        assert!(wrap(&"word ".repeat(40)).lines().all(|line| line.len() <= WIDTH));
        assert_eq!(thousands(1_234_567), "1,234,567");
        assert_eq!(code("a\n```\n"), "````\na\n```\n````\n");
    }
}
