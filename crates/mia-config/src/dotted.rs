//! Dotted paths: `plugins.claude-code.model`, `prices."gpt-4.1".input`.

use std::fmt;

/// The segments of a path, unquoted.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct KeyPath(pub(crate) Vec<String>);

impl KeyPath {
    pub(crate) fn of(segments: &[&str]) -> Self {
        Self(segments.iter().map(|segment| (*segment).to_owned()).collect())
    }

    pub(crate) fn join(&self, segment: &str) -> Self {
        let mut segments = self.0.clone();
        segments.push(segment.to_owned());
        Self(segments)
    }

    pub(crate) fn segments(&self) -> Vec<&str> {
        self.0.iter().map(String::as_str).collect()
    }

    /// Splits at dots outside double or single quotes. `None` for an empty segment, an open
    /// quote, or text next to a quote.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut segments = Vec::new();
        let mut rest = text;
        loop {
            let (segment, tail) = match rest.chars().next()? {
                quote @ ('"' | '\'') => rest.get(1..)?.split_once(quote)?,
                _ => rest.split_at(rest.find('.').unwrap_or(rest.len())),
            };
            if segment.is_empty() {
                return None;
            }
            segments.push(segment.to_owned());
            if tail.is_empty() {
                return Some(Self(segments));
            }
            rest = tail.strip_prefix('.')?;
        }
    }
}

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, segment) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str(".")?;
            }
            if segment.contains('"') {
                write!(f, "'{segment}'")?;
            } else if segment.is_empty() || segment.contains(['.', '\'', ' ']) {
                write!(f, "\"{segment}\"")?;
            } else {
                f.write_str(segment)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::KeyPath;

    #[test]
    fn quoted_segments_keep_their_dots() {
        let parse = |text| KeyPath::parse(text).map(|path| path.0);
        assert_eq!(parse("a.b-c"), Some(vec!["a".into(), "b-c".into()]));
        assert_eq!(parse("a.\"b.c\".d"), Some(vec!["a".into(), "b.c".into(), "d".into()]));
        assert_eq!(parse("a.'b.c'"), Some(vec!["a".into(), "b.c".into()]));
        for wrong in ["", ".", "a.", ".a", "a..b", "a.\"b", "a.\"b\"c", "a.\"\""] {
            assert_eq!(parse(wrong), None, "{wrong:?}");
        }
        let shown = KeyPath::of(&["prices", "gpt-4.1", "input"]).to_string();
        assert_eq!(shown, "prices.\"gpt-4.1\".input");
        assert_eq!(parse(&shown).map(|path| path.len()), Some(3));
    }
}
