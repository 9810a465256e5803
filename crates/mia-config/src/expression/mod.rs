//! `${{ … }}` in a setup file: small, total, types kept (P-33 to P-37).
//!
//! ```text
//! template   a text with any number of ${{ expression }}; $${{ stands for ${{ itself
//! expression either [ "||" either ]…            the first that is true-like, else the last
//! either     equal [ "&&" equal ]…              the first that is not, else the last
//! equal      not [ ( "==" | "!=" ) not ]        of the same type and the same value
//! not        "!" not | value
//! value      null | true | false | number | 'text' | path | "(" expression ")"
//! path       name [ "." name | "[" 'text' "]" | "[" number "]" ]…
//! ```
//!
//! In a text `''` is a quotation mark. `null`, `false`, `0` and the empty text are not true-like. What a
//! path does not find is null. There are no loops and no calls, so every expression comes to an end.
//!
//! | file | what |
//! |---|---|
//! | `mod` | templates: parse, evaluate, what they refer to |
//! | `parse` | the grammar |
//! | `tree` | expressions, and their values |

mod parse;
mod tree;

use serde_json::Value;

use tree::Expression;

/// A text with expressions in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Template {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq)]
enum Part {
    Text(String),
    Expression(Expression),
}

/// What is wrong with an expression, and where in the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ExpressionError {
    /// What is wrong.
    pub message: String,
    /// Where it begins, in bytes of the text.
    pub at: usize,
}

/// The largest text that is read, in bytes.
const LARGEST: usize = 64 * 1024;

impl Template {
    /// Reads a text.
    ///
    /// # Errors
    /// What is wrong with an expression in it, and where.
    pub fn parse(text: &str) -> Result<Self, ExpressionError> {
        if text.len() > LARGEST {
            let message = format!("the text has {} bytes, and may have {LARGEST}", text.len());
            return Err(ExpressionError { message, at: 0 });
        }
        let mut parts = Vec::new();
        let mut words = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${{") {
            if let Some(before) = before.strip_suffix('$') {
                words.push_str(before);
                words.push_str("${{");
                rest = after;
                continue;
            }
            words.push_str(before);
            if !words.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut words)));
            }
            let at = text.len() - after.len();
            let (expression, end) = parse::expression(after, at)?;
            parts.push(Part::Expression(expression));
            rest = after.get(end..).unwrap_or_default();
        }
        words.push_str(rest);
        if !words.is_empty() {
            parts.push(Part::Text(words));
        }
        Ok(Self { parts })
    }

    /// True when there is no expression in it.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.parts.iter().all(|part| matches!(part, Part::Text(_)))
    }

    /// What it comes to: what is exactly one expression keeps that one's type; else all parts as text,
    /// null as nothing. `contexts` is an object with what paths begin with.
    #[must_use]
    pub fn evaluate(&self, contexts: &Value) -> Value {
        if let [Part::Expression(expression)] = self.parts.as_slice() {
            return expression.evaluate(contexts);
        }
        let mut text = String::new();
        for part in &self.parts {
            match part {
                Part::Text(words) => text.push_str(words),
                Part::Expression(expression) => match expression.evaluate(contexts) {
                    Value::Null => {}
                    Value::String(words) => text.push_str(&words),
                    other => text.push_str(&other.to_string()),
                },
            }
        }
        Value::String(text)
    }

    /// All paths in it, each as its names as far as they are written out.
    #[must_use]
    pub fn paths(&self) -> Vec<Vec<String>> {
        let mut paths = Vec::new();
        for part in &self.parts {
            if let Part::Expression(expression) = part {
                expression.paths(&mut paths);
            }
        }
        paths
    }
}
