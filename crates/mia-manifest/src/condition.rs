//! Which objects a rule is for: `when`.

use serde_json::Value;

use crate::path::{Path, Scope};

/// What has to be so at one place.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Test {
    /// It is one of these. `null` is also what is not there.
    OneOf(Vec<Value>),
    /// It is none of these.
    Not(Vec<Value>),
    /// It is there and not `null`, or it is not.
    Exists(bool),
    /// It is a text that begins with one of these.
    StartsWith(Vec<String>),
    /// It is a text that has one of these in it.
    Contains(Vec<String>),
}

/// One thing that has to be so.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Condition {
    pub(crate) path: Path,
    pub(crate) test: Test,
}

/// Alternatives, each a list of conditions that all have to hold.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct When(pub(crate) Vec<Vec<Condition>>);

impl When {
    pub(crate) fn matches(&self, scope: Scope<'_>) -> bool {
        self.0.iter().any(|all| all.iter().all(|condition| condition.holds(scope)))
    }

    /// True when whatever this one matches, the other one matches too, as far as can be told.
    pub(crate) fn implies(&self, other: &Self) -> bool {
        let covers = |mine: &[Condition], theirs: &[Condition]| {
            theirs.iter().all(|t| mine.iter().any(|m| m.implies(t)))
        };
        self.0.iter().all(|mine| other.0.iter().any(|theirs| covers(mine, theirs)))
    }
}

impl Condition {
    pub(crate) fn holds(&self, scope: Scope<'_>) -> bool {
        let found = self.path.find(scope);
        self.test.holds_absent(found.is_empty()) || found.iter().any(|v| self.test.holds(v))
    }

    fn implies(&self, other: &Self) -> bool {
        self.path == other.path && self.test.implies(&other.test)
    }

    /// True when nothing can be inside the place where this holds.
    pub(crate) fn leaves_nothing_inside(&self) -> bool {
        match &self.test {
            // Literals are never objects or arrays.
            Test::OneOf(_) | Test::StartsWith(_) | Test::Contains(_) => true,
            Test::Exists(there) => !there,
            Test::Not(_) => false,
        }
    }

    /// True when this needs something to be at its place.
    pub(crate) fn needs_something(&self) -> bool {
        match &self.test {
            Test::OneOf(values) => !values.iter().any(Value::is_null),
            Test::StartsWith(_) | Test::Contains(_) => true,
            Test::Exists(there) => *there,
            Test::Not(_) => false,
        }
    }
}

impl Test {
    fn holds_absent(&self, absent: bool) -> bool {
        absent
            && match self {
                Self::OneOf(values) => values.iter().any(Value::is_null),
                Self::Not(values) => !values.iter().any(Value::is_null),
                Self::Exists(there) => !there,
                Self::StartsWith(_) | Self::Contains(_) => false,
            }
    }

    fn holds(&self, value: &Value) -> bool {
        match self {
            Self::OneOf(values) => values.iter().any(|v| same(v, value)),
            Self::Not(values) => !values.iter().any(|v| same(v, value)),
            Self::Exists(there) => value.is_null() != *there,
            Self::StartsWith(starts) => {
                value.as_str().is_some_and(|text| starts.iter().any(|s| text.starts_with(s)))
            }
            Self::Contains(parts) => {
                value.as_str().is_some_and(|text| parts.iter().any(|p| text.contains(p)))
            }
        }
    }

    fn implies(&self, other: &Self) -> bool {
        match (self, other) {
            (mine, theirs) if mine == theirs => true,
            (Self::OneOf(values), theirs) => values.iter().all(|value| theirs.holds(value)),
            (Self::Not(mine), Self::Not(theirs)) => {
                theirs.iter().all(|t| mine.iter().any(|m| same(m, t)))
            }
            (Self::StartsWith(_) | Self::Contains(_), Self::Exists(true)) => true,
            (Self::StartsWith(mine), Self::StartsWith(theirs)) => {
                mine.iter().all(|m| theirs.iter().any(|t| m.starts_with(t)))
            }
            _ => false,
        }
    }
}

/// Numbers are the same however they are written.
fn same(one: &Value, other: &Value) -> bool {
    one == other || (one.is_number() && other.is_number() && one.as_f64() == other.as_f64())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn when(path: &str, test: Test) -> When {
        When(vec![vec![Condition { path: Path::parse(path).unwrap(), test }]])
    }

    #[test]
    fn each_test_and_what_is_absent() {
        let line = json!({"type": "text", "n": 1.0, "nothing": null, "list": [{"k": "b"}]});
        let holds = |path: &str, test| when(path, test).matches(Scope::of(&line));
        assert!(holds("type", Test::OneOf(vec![json!("x"), json!("text")])));
        assert!(!holds("type", Test::OneOf(vec![json!("tex")])));
        assert!(holds("n", Test::OneOf(vec![json!(1)])));
        assert!(!holds("n", Test::OneOf(vec![json!("1")])));
        assert!(holds("absent", Test::OneOf(vec![json!(null)])));
        assert!(holds("absent", Test::Not(vec![json!("x")])));
        assert!(!holds("type", Test::Not(vec![json!("text")])));
        assert!(holds("nothing", Test::Exists(false)) && holds("absent", Test::Exists(false)));
        assert!(holds("type", Test::Exists(true)) && !holds("nothing", Test::Exists(true)));
        assert!(holds("type", Test::StartsWith(vec!["te".into()])));
        assert!(holds("type", Test::Contains(vec!["ex".into()])));
        assert!(!holds("n", Test::Contains(vec!["1".into()])));
        assert!(holds("list.*.k", Test::OneOf(vec![json!("b")])));
    }

    #[test]
    fn what_one_matches_the_other_may_match_too() {
        let texts = |list: &[&str]| Test::OneOf(list.iter().map(|t| json!(t)).collect());
        let narrow = when("type", texts(&["a"]));
        let wide = when("type", texts(&["a", "b"]));
        assert!(narrow.implies(&wide) && !wide.implies(&narrow));
        assert!(wide.implies(&when("type", Test::Exists(true))));
        assert!(!wide.implies(&when("other", Test::Exists(true))));
        assert!(wide.implies(&When(vec![Vec::new()])), "no conditions match all");
        assert!(!When(vec![Vec::new()]).implies(&wide));
        let both = When([narrow.0.clone(), when("type", texts(&["b"])).0].concat());
        assert!(both.implies(&wide) && narrow.implies(&both));
    }
}
