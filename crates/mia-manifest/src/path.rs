//! Where in an object something is: `part.state.output`.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use serde_json::Value;

/// More steps than this are no path that a person writes.
const STEPS: usize = 32;

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// A member of an object, or a place in an array, counted from 0.
    Name(String),
    /// Every member or element: `*`.
    Every,
}

/// A place in an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Path {
    /// True for a path from the whole line, inside `each`: `$.parent_id`.
    pub(crate) from_line: bool,
    /// None of them: the value itself, `.`.
    pub(crate) steps: Vec<Step>,
}

/// A line, and the part of it that is looked at: the line itself, or one element of `each`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scope<'v> {
    pub(crate) line: &'v Value,
    pub(crate) here: &'v Value,
}

impl<'v> Scope<'v> {
    pub(crate) fn of(line: &'v Value) -> Self {
        Self { line, here: line }
    }
}

impl Path {
    /// Reads a path as it is written. The error says what is wrong with it.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (from_line, rest) = match text.strip_prefix("$.") {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        if rest == "." && !from_line {
            return Ok(Self { from_line, steps: Vec::new() });
        }
        let mut steps = Vec::new();
        let mut rest = Some(rest);
        while let Some(text) = rest {
            let (step, after) = step(text)?;
            steps.push(step);
            rest = after;
        }
        if steps.len() > STEPS {
            return Err(format!("has more than {STEPS} steps"));
        }
        Ok(Self { from_line, steps })
    }

    /// All values at the place: one without `*`, at most, and any number with it.
    pub(crate) fn find<'v>(&self, scope: Scope<'v>) -> Vec<&'v Value> {
        let mut found = vec![if self.from_line { scope.line } else { scope.here }];
        for step in &self.steps {
            found = match step {
                Step::Name(name) => found.into_iter().filter_map(|v| member(v, name)).collect(),
                Step::Every => found.into_iter().flat_map(members).collect(),
            };
        }
        found
    }

    /// True when this place is inside that one, or is that one.
    pub(crate) fn is_within(&self, outer: &Self) -> bool {
        self.from_line == outer.from_line && self.steps.starts_with(&outer.steps)
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.steps.is_empty() {
            return f.write_str(".");
        }
        f.write_str(if self.from_line { "$." } else { "" })?;
        for (index, step) in self.steps.iter().enumerate() {
            f.write_str(if index == 0 { "" } else { "." })?;
            match step {
                Step::Every => f.write_str("*")?,
                Step::Name(name) if is_bare(name) => f.write_str(name)?,
                Step::Name(name) => write!(f, "{name:?}")?,
            }
        }
        Ok(())
    }
}

/// True for a name that needs no quotes.
fn is_bare(name: &str) -> bool {
    !name.is_empty() && name != "*" && !name.contains(|c: char| is_special(c))
}

fn is_special(c: char) -> bool {
    matches!(c, '.' | '"' | '{' | '}' | '[' | ']' | '$') || c.is_whitespace() || c.is_control()
}

/// The first step, and what follows its dot.
fn step(text: &str) -> Result<(Step, Option<&str>), String> {
    let (name, after) = match text.strip_prefix('"') {
        Some(quoted) => {
            let (name, after) =
                quoted.split_once('"').ok_or("has a quote that does not end".to_owned())?;
            (Step::Name(name.to_owned()), after)
        }
        None => {
            let end = text.find('.').unwrap_or(text.len());
            let (name, after) = text.split_at(end);
            if let Some(odd) = name.chars().find(|c| is_special(*c)) {
                return Err(format!("has {odd:?} in it; a name with it is put in double quotes"));
            }
            match name {
                "" => return Err("has an empty name in it".to_owned()),
                "*" => (Step::Every, after),
                name => (Step::Name(name.to_owned()), after),
            }
        }
    };
    match after.strip_prefix('.') {
        None if after.is_empty() => Ok((name, None)),
        None => Err("goes on after a quoted name without a dot".to_owned()),
        Some("") => Err("ends with a dot".to_owned()),
        Some(rest) => Ok((name, Some(rest))),
    }
}

fn member<'v>(value: &'v Value, name: &str) -> Option<&'v Value> {
    match value {
        Value::Object(members) => members.get(name),
        Value::Array(elements) => elements.get(name.parse::<usize>().ok()?),
        _ => None,
    }
}

fn members(value: &Value) -> Vec<&Value> {
    match value {
        Value::Object(members) => members.values().collect(),
        Value::Array(elements) => elements.iter().collect(),
        _ => Vec::new(),
    }
}

/// One place or several, of which the first that holds something counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Paths {
    pub(crate) list: Vec<Path>,
    /// Where in the manifest it is written.
    pub(crate) span: Range<usize>,
}

impl Paths {
    /// What the first path that leads anywhere leads to; `null` is nothing.
    pub(crate) fn find<'v>(&self, scope: Scope<'v>) -> Vec<&'v Value> {
        self.list
            .iter()
            .map(|path| {
                let mut found = path.find(scope);
                found.retain(|value| !value.is_null());
                found
            })
            .find(|found| !found.is_empty())
            .unwrap_or_default()
    }

    /// The text there: a text as it is, numbers and flags as they are written, several joined by
    /// line ends. Objects and arrays have none.
    pub(crate) fn text<'v>(&self, scope: Scope<'v>) -> Option<Cow<'v, str>> {
        let mut texts: Vec<_> = self.find(scope).into_iter().filter_map(plain_text).collect();
        match texts.len() {
            0 => None,
            1 => texts.pop(),
            _ => Some(Cow::Owned(texts.join("\n"))),
        }
    }

    /// The same, but an object or array is its JSON.
    pub(crate) fn text_or_json(&self, scope: Scope<'_>) -> Option<String> {
        let found = self.find(scope);
        let texts: Vec<_> = found
            .iter()
            .map(|value| plain_text(value).map_or_else(|| value.to_string(), Cow::into_owned))
            .collect();
        (!texts.is_empty()).then(|| texts.join("\n"))
    }

    /// The whole number there; several are added.
    pub(crate) fn count(&self, scope: Scope<'_>) -> Option<u64> {
        let numbers = self.find(scope).into_iter().filter_map(whole);
        numbers.fold(None, |sum: Option<u64>, n| Some(sum.unwrap_or(0).saturating_add(n)))
    }

    /// The amount of money there; several are added.
    pub(crate) fn amount(&self, scope: Scope<'_>) -> Option<f64> {
        let numbers = self.find(scope).into_iter().filter_map(Value::as_f64);
        numbers.fold(None, |sum: Option<f64>, n| Some(sum.unwrap_or(0.0) + n))
    }
}

fn plain_text(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::String(text) => Some(Cow::Borrowed(text)),
        Value::Number(_) | Value::Bool(_) => Some(Cow::Owned(value.to_string())),
        _ => None,
    }
}

/// A count, also one that is written as `12.0`.
fn whole(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| {
        let number = value.as_f64().filter(|n| n.fract() == 0.0 && (0.0..=9e15).contains(n))?;
        format!("{number:.0}").parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    fn paths(list: &[&str]) -> Paths {
        let list = list.iter().map(|text| Path::parse(text).unwrap()).collect();
        Paths { list, span: 0..0 }
    }

    #[test]
    fn a_path_leads_through_objects_and_arrays() {
        let line = json!({"part": {"text": "x", "a.b": 1, "n": null}, "list": [{"t": "a"}, 5, {"t": "b"}]});
        let scope = Scope::of(&line);
        for (path, text) in [
            ("part.text", Some("x")),
            ("part.\"a.b\"", Some("1")),
            ("list.0.t", Some("a")),
            ("list.*.t", Some("a\nb")),
            ("$.list.1", Some("5")),
            ("part", None),
            ("part.n", None),
            ("part.text.deeper", None),
            ("list.9", None),
        ] {
            assert_eq!(paths(&[path]).text(scope).as_deref(), text, "{path}");
            assert_eq!(Path::parse(path).unwrap().to_string(), path);
        }
        assert_eq!(paths(&["part.n", "part.text"]).text(scope).as_deref(), Some("x"));
        assert_eq!(paths(&["list.0"]).text_or_json(scope).as_deref(), Some(r#"{"t":"a"}"#));
        let here = Scope { line: &line, here: &line["list"][2] };
        assert_eq!(paths(&["t"]).text(here).as_deref(), Some("b"));
        assert_eq!(paths(&["$.part.text"]).text(here).as_deref(), Some("x"));
    }

    #[test]
    fn numbers_of_several_places_are_added() {
        let line = json!({"m": {"a": {"n": 1, "c": 0.5}, "b": {"n": 2.0, "c": 0.25}}, "odd": [-1, 1.5, "7", 1e300]});
        let scope = Scope::of(&line);
        assert_eq!(paths(&["m.*.n"]).count(scope), Some(3));
        assert_eq!(paths(&["m.*.c"]).amount(scope), Some(0.75));
        assert_eq!(paths(&["odd.*"]).count(scope), None);
    }

    #[test]
    fn what_is_no_path_is_told() {
        for (text, says) in [
            ("", "an empty name"),
            ("a..b", "an empty name"),
            ("a.", "ends with a dot"),
            ("a b", "has ' ' in it"),
            ("a[0]", "has '[' in it"),
            ("\"a", "does not end"),
            ("\"a\"b", "without a dot"),
            ("$.", "an empty name"),
        ] {
            let error = Path::parse(text).unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
