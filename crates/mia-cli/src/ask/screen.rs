//! The answer on a terminal.

use std::borrow::Cow;

use super::status::is_control;

/// The answer as a terminal may show it: control characters other than line end and tab are made
/// visible, for an agent's words could otherwise move the cursor, set the title or hide text. What
/// goes to a file or a pipe is not changed.
pub(super) fn on_terminal(text: &str) -> Cow<'_, str> {
    let bad = |c: char| is_control(c) && !matches!(c, '\n' | '\t');
    if !text.contains(bad) {
        return Cow::Borrowed(text);
    }
    let shown = |c: char| match c {
        '\r' => String::new(),
        '\u{1b}' => "␛".to_owned(),
        c if bad(c) => "\u{fffd}".to_owned(),
        c => c.to_string(),
    };
    Cow::Owned(text.chars().map(shown).collect())
}

#[cfg(test)]
mod tests {
    use super::on_terminal;

    #[test]
    fn an_answer_cannot_take_the_terminal_over() {
        assert_eq!(on_terminal("plain\n\tü"), "plain\n\tü");
        assert_eq!(on_terminal("a\x1b]0;title\x07b\r\n"), "a␛]0;title\u{fffd}b\n");
    }
}
