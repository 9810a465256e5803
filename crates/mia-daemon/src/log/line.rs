//! One thing that is said is one line, whatever is in it.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};

/// How long a line may be, in bytes.
const LONGEST: usize = 16 * 1024;

/// Takes what is said, a thing at each write, and hands it on as a line: nobody whose words are in it
/// can begin another line, or tell the terminal of who reads it to do something.
#[derive(Debug)]
pub(super) struct Lines<W>(pub(super) W);

impl<W: Write> Write for Lines<W> {
    fn write(&mut self, said: &[u8]) -> io::Result<usize> {
        self.0.write_all(line(&String::from_utf8_lossy(said)).as_bytes())?;
        Ok(said.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

fn line(said: &str) -> Cow<'_, str> {
    let text = said.strip_suffix('\n').unwrap_or(said);
    if said.len() <= LONGEST && said.len() > text.len() && !text.contains(acts) {
        return Cow::Borrowed(said);
    }
    let mut line = String::new();
    for (place, char) in text.char_indices() {
        if line.len() >= LONGEST {
            let _ = write!(line, "… ({} bytes more)", text.len() - place);
            break;
        }
        if acts(char) {
            line.extend(char.escape_default());
        } else {
            line.push(char);
        }
    }
    line.push('\n');
    Cow::Owned(line)
}

/// True for what is not just shown: line ends, other control characters, and what changes the
/// direction of writing.
fn acts(char: char) -> bool {
    char.is_control()
        || matches!(char, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_forges_a_line_or_moves_the_cursor() {
        assert_eq!(line("INFO all is well — ok\n"), "INFO all is well — ok\n");
        assert_eq!(
            line("WARN no \"x\nINFO forged\r\u{1b}[2J\u{9b}\u{202e}\t\"\n"),
            "WARN no \"x\\nINFO forged\\r\\u{1b}[2J\\u{9b}\\u{202e}\\t\"\n"
        );
        assert_eq!(line("no end"), "no end\n");
        assert_eq!(line("two\n\n"), "two\\n\n");
    }

    #[test]
    fn a_line_is_of_bounded_length() {
        let cut = line(&"é\n".repeat(LONGEST)).into_owned();
        assert!(cut.len() < LONGEST + 64 && cut.ends_with(" bytes more)\n"), "{}", cut.len());
        assert_eq!(cut.matches('\n').count(), 1);
    }
}
