//! Texts with places for what differs: `--model={model}`.

use std::fmt;

/// A part of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part<P> {
    Text(String),
    Place(P),
}

/// A text with places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Template<P>(pub(crate) Vec<Part<P>>);

/// What a call fills in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Given {
    Prompt,
    Session,
    Model,
    Cwd,
}

impl Given {
    pub(crate) const ALL: [Self; 4] = [Self::Prompt, Self::Session, Self::Model, Self::Cwd];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Prompt => "prompt",
            Self::Session => "session",
            Self::Model => "model",
            Self::Cwd => "cwd",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|given| given.name() == name)
    }
}

impl fmt::Display for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl<P: Clone> Template<P> {
    /// Reads a template. `{{` and `}}` are braces. `place` makes a place of what is in braces, or
    /// says what is wrong with it.
    pub(crate) fn parse(
        text: &str,
        mut place: impl FnMut(&str) -> Result<P, String>,
    ) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            let (before, from) = rest.split_at(at);
            plain.push_str(before);
            if let Some(after) = from.strip_prefix("{{") {
                plain.push('{');
                rest = after;
            } else if let Some(after) = from.strip_prefix("}}") {
                plain.push('}');
                rest = after;
            } else if let Some((name, after)) =
                from.strip_prefix('{').and_then(|inner| inner.split_once('}'))
            {
                if !plain.is_empty() {
                    parts.push(Part::Text(std::mem::take(&mut plain)));
                }
                parts.push(Part::Place(place(name)?));
                rest = after;
            } else {
                let (brace, double) = if from.starts_with('{') { ("{", "{{") } else { ("}", "}}") };
                return Err(format!(
                    "has a lone {brace}; the character itself is written {double}"
                ));
            }
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            parts.push(Part::Text(plain));
        }
        Ok(Self(parts))
    }

    pub(crate) fn places(&self) -> impl Iterator<Item = P> {
        self.0.iter().filter_map(|part| match part {
            Part::Place(place) => Some(place.clone()),
            Part::Text(_) => None,
        })
    }

    /// The text that it begins with, before any place.
    pub(crate) fn start(&self) -> &str {
        match self.0.first() {
            Some(Part::Text(text)) => text,
            _ => "",
        }
    }

    /// True for this text and no places.
    pub(crate) fn is(&self, text: &str) -> bool {
        matches!(self.0.as_slice(), [Part::Text(only)] if only == text)
    }

    /// Fills it in; none when a place has no value.
    pub(crate) fn fill<V: AsRef<str>>(&self, value: impl Fn(&P) -> Option<V>) -> Option<String> {
        let mut text = String::new();
        for part in &self.0 {
            match part {
                Part::Text(plain) => text.push_str(plain),
                Part::Place(place) => text.push_str(value(place)?.as_ref()),
            }
        }
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Template<Given>, String> {
        Template::parse(text, |name| Given::named(name).ok_or_else(|| format!("no {name}")))
    }

    #[test]
    fn places_are_filled_and_braces_stay() {
        let template = parse("{{a}}={model}, {prompt}").unwrap();
        let value = |given: &Given| (*given == Given::Model).then_some("opus");
        assert_eq!(template.fill(value), None, "the prompt has no value");
        assert_eq!(template.fill(|_| Some("x")).unwrap(), "{a}=x, x");
        assert_eq!(template.start(), "{a}=");
        // What is filled in is never read as a template again.
        assert_eq!(template.fill(|_| Some("{cwd}")).unwrap(), "{a}={cwd}, {cwd}");
    }

    #[test]
    fn lone_braces_and_unknown_places_are_told() {
        assert!(parse("a{b").unwrap_err().contains("{{"));
        assert!(parse("a}b").unwrap_err().contains("}}"));
        assert_eq!(parse("{nope}").unwrap_err(), "no nope");
    }
}
