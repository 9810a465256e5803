//! Reading clauses out of the specification, and the names of tests out of the sources.

use std::fmt;

/// A clause's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Clause {
    pub(super) book: char,
    pub(super) number: u16,
}

impl fmt::Display for Clause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{:02}", self.book, self.number)
    }
}

/// The clauses that a specification defines, each with its first words.
pub(super) fn clauses_of(spec: &str) -> impl Iterator<Item = (Clause, String)> {
    spec.lines().filter_map(|line| {
        let (id, rest) = line.split_once(' ')?;
        let (book, number) = id.split_once('-')?;
        let number = number.parse().ok()?;
        let book = book.chars().next().filter(|_| ["M", "P"].contains(&book))?;
        // The mark: [S], [I] or [C].
        let rest = rest.strip_prefix('[')?.split_once("] ")?.1;
        Some((Clause { book, number }, first_words(rest)))
    })
}

/// As much of a clause as tells it from others.
fn first_words(clause: &str) -> String {
    const WORDS: usize = 14;
    let clause = clause.split(" T: ").next().unwrap_or_default();
    let mut words: Vec<&str> = clause.split_whitespace().collect();
    let cut = words.len() > WORDS;
    words.truncate(WORDS);
    let mut text = words.join(" ");
    // A cut must not leave code open.
    if text.matches('`').count() % 2 == 1 {
        text.push('`');
    }
    if cut { text + " …" } else { text }
}

/// The names of test functions in a source file: those with an attribute that ends in `test`, as
/// `#[test]` and `#[tokio::test(…)]` do, also within `proptest!`.
pub(super) fn tests_of(source: &str) -> impl Iterator<Item = &str> {
    let mut is_test = false;
    source.lines().filter_map(move |line| {
        let line = line.trim();
        if let Some(attribute) = line.strip_prefix("#[") {
            let path = attribute.split(['(', ']', ' ']).next().unwrap_or_default();
            is_test |= path == "test" || path.ends_with("::test") || path == "test_case";
            // What follows on the same line, as in `#[test] fn`.
            let after = line.rsplit_once(']').map(|(_, after)| after.trim())?;
            return function_name(after).filter(|_| std::mem::take(&mut is_test));
        }
        if line.is_empty() || line.starts_with("//") {
            return None;
        }
        let name = function_name(line);
        match name {
            Some(name) => std::mem::take(&mut is_test).then_some(name),
            None => {
                // A closing line of an attribute of several lines keeps the mark.
                is_test &= line.ends_with([']', ',', '(']);
                None
            }
        }
    })
}

fn function_name(line: &str) -> Option<&str> {
    let line = line.strip_prefix("pub ").unwrap_or(line);
    let line = line.strip_prefix("async ").unwrap_or(line);
    line.strip_prefix("fn ")?.split(['(', '<']).next().map(str::trim)
}

/// The clauses that a test's name begins with.
pub(super) fn clauses_in_name(name: &str) -> Vec<Clause> {
    let mut clauses = Vec::new();
    let mut parts = name.split('_');
    while let (Some(book), Some(number)) = (parts.next(), parts.next()) {
        let book = match book {
            "m" => 'M',
            "p" => 'P',
            _ => break,
        };
        match number.parse() {
            Ok(number) => clauses.push(Clause { book, number }),
            Err(_) => break,
        }
    }
    clauses
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    const fn m(number: u16) -> Clause {
        Clause { book: 'M', number }
    }

    #[test]
    fn clauses_and_their_first_words() {
        let spec = "# M-99 no clause\nM-01 [S] One `thing`. T: a test.\nsee M-02 [S] there\n\
                    P-150 [C] a b c d e f g h i j k l m `n o` p\n";
        let all: Vec<_> = clauses_of(spec).collect();
        let expected = [
            (m(1), "One `thing`.".to_owned()),
            (Clause { book: 'P', number: 150 }, "a b c d e f g h i j k l m `n` …".to_owned()),
        ];
        assert_eq!(all, expected);
    }

    #[test]
    fn only_test_functions_are_tests() {
        let source = "
            fn m_001_helper() {}
            #[test]
            fn m_002_plain() {
                let x = 1;
            }
            #[tokio::test(start_paused = true)]
            #[expect(clippy::panic, reason = \"x\")]
            async fn m_003_async() {}
            proptest! {
                #![proptest_config(ProptestConfig::with_cases(9))]
                #[test]
                fn m_004_property(x in 0..9u8) {}
            }
            #[test] fn m_005_one_line() {}
            #[cfg(test)]
            fn m_006_helper() {}
        ";
        let names: Vec<_> = tests_of(source).collect();
        let expected = ["m_002_plain", "m_003_async", "m_004_property", "m_005_one_line"];
        assert_eq!(names, expected);
    }

    #[test]
    fn a_name_may_begin_with_several_clauses() {
        assert_eq!(clauses_in_name("m_021_m_024_abort"), [m(21), m(24)]);
        assert_eq!(clauses_in_name("m_021_at_p_7"), [m(21)]);
        assert_eq!(clauses_in_name("a_m_021"), []);
    }
}
