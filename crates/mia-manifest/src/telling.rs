//! Text that is told in pieces, again and again, or as a whole after its pieces.

use crate::model::Manner;

/// How much of a text is kept to see whether it is told again. Of what is longer its length counts.
const KEPT: usize = 256 * 1024;

/// What was said of a text that may be told again.
#[derive(Debug, Clone, Default)]
pub(crate) struct Telling {
    /// The beginning of it.
    said: String,
    /// All of it, in bytes.
    length: usize,
}

/// What a text has to say beyond what was said.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum New<'t> {
    /// This, after what was said.
    More(&'t str),
    /// This, and it has nothing to do with what was said.
    Another(&'t str),
}

impl Telling {
    /// Takes a text and gives what is new in it.
    pub(crate) fn take<'t>(&mut self, text: &'t str, manner: Manner) -> New<'t> {
        if manner == Manner::Piece {
            self.add(text);
            return New::More(text);
        }
        let kept_all = self.said.len() == self.length;
        let new = if self.length == 0 {
            New::More(text)
        } else if let Some(more) =
            text.get(self.length..).filter(|_| text.starts_with(self.said.as_str()))
        {
            New::More(more)
        } else if manner == Manner::Whole && kept_all && self.said.starts_with(text) {
            // A whole text without the blanks at its end.
            New::More("")
        } else {
            New::Another(text)
        };
        *self = Self::default();
        if manner == Manner::SoFar {
            self.add(text);
        }
        new
    }

    /// True when the text is a part of what was said, and less of it.
    pub(crate) fn has_said_more_than(&self, text: &str) -> bool {
        text.len() < self.length && (self.said.starts_with(text) || text.starts_with(&self.said))
    }

    fn add(&mut self, text: &str) {
        if self.said.len() == self.length && self.length + text.len() <= KEPT {
            self.said.push_str(text);
        }
        self.length += text.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_text_after_its_pieces_says_the_rest() {
        let mut telling = Telling::default();
        assert_eq!(telling.take("one ", Manner::Piece), New::More("one "));
        assert_eq!(telling.take("two", Manner::Piece), New::More("two"));
        assert_eq!(telling.take("one two three", Manner::Whole), New::More(" three"));
        assert_eq!(telling.take("alone", Manner::Whole), New::More("alone"));
        telling.take("trimmed\n", Manner::Piece);
        assert_eq!(telling.take("trimmed", Manner::Whole), New::More(""));
        telling.take("this", Manner::Piece);
        assert_eq!(telling.take("that", Manner::Whole), New::Another("that"));
    }

    #[test]
    fn a_text_so_far_says_what_is_new() {
        let mut telling = Telling::default();
        assert_eq!(telling.take("a", Manner::SoFar), New::More("a"));
        assert_eq!(telling.take("aä", Manner::SoFar), New::More("ä"));
        assert_eq!(telling.take("aä", Manner::SoFar), New::More(""));
        assert_eq!(telling.take("b", Manner::SoFar), New::Another("b"));
        assert_eq!(telling.take("bc", Manner::SoFar), New::More("c"));
    }

    #[test]
    fn a_long_text_is_known_by_its_beginning_and_length() {
        let mut telling = Telling::default();
        let long = "x".repeat(KEPT);
        telling.take(&long, Manner::Piece);
        telling.take("yz", Manner::Piece);
        assert_eq!(telling.said.len(), KEPT);
        let whole = format!("{long}yz!");
        assert_eq!(telling.take(&whole, Manner::Whole), New::More("!"));
    }
}
