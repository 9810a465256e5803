//! Expressions, and what they come to.

use serde_json::Value;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Expression {
    Literal(Value),
    Path(Vec<Step>),
    Not(Box<Expression>),
    Equal { left: Box<Expression>, right: Box<Expression>, negated: bool },
    And(Box<Expression>, Box<Expression>),
    Or(Box<Expression>, Box<Expression>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Member(String),
    Index(usize),
}

impl Expression {
    pub(super) fn evaluate(&self, contexts: &Value) -> Value {
        match self {
            Self::Literal(value) => value.clone(),
            Self::Path(steps) => {
                let mut value = contexts;
                for step in steps {
                    let next = match step {
                        Step::Member(name) => value.get(name),
                        Step::Index(index) => value.get(index),
                    };
                    match next {
                        Some(next) => value = next,
                        None => return Value::Null,
                    }
                }
                value.clone()
            }
            Self::Not(of) => Value::Bool(!is_true(&of.evaluate(contexts))),
            Self::Equal { left, right, negated } => {
                Value::Bool((left.evaluate(contexts) == right.evaluate(contexts)) != *negated)
            }
            Self::And(left, right) => match left.evaluate(contexts) {
                left if is_true(&left) => right.evaluate(contexts),
                left => left,
            },
            Self::Or(left, right) => match left.evaluate(contexts) {
                left if is_true(&left) => left,
                _ => right.evaluate(contexts),
            },
        }
    }

    pub(super) fn paths(&self, into: &mut Vec<Vec<String>>) {
        match self {
            Self::Literal(_) => {}
            Self::Path(steps) => into.push(
                steps
                    .iter()
                    .map_while(|step| match step {
                        Step::Member(name) => Some(name.clone()),
                        Step::Index(_) => None,
                    })
                    .collect(),
            ),
            Self::Not(of) => of.paths(into),
            Self::Equal { left, right, .. } | Self::And(left, right) | Self::Or(left, right) => {
                left.paths(into);
                right.paths(into);
            }
        }
    }
}

fn is_true(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(is) => *is,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(_) | Value::Object(_) => true,
    }
}
