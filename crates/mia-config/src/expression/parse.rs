//! The grammar, by recursive descent.

use serde_json::Value;

use super::ExpressionError;
use super::tree::{Expression, Step};

/// How deep parentheses and `!` may go.
const DEEPEST: usize = 32;

/// Reads an expression to its `}}`, and says where the text goes on. `at` is where it begins in the whole.
pub(super) fn expression(text: &str, at: usize) -> Result<(Expression, usize), ExpressionError> {
    let mut reader = Reader { text, place: 0, begins: at, depth: 0 };
    let expression = reader.either()?;
    if !reader.takes("}}") {
        return Err(reader.expected("an operator or }}"));
    }
    Ok((expression, reader.place))
}

struct Reader<'a> {
    text: &'a str,
    place: usize,
    begins: usize,
    depth: usize,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.place..).unwrap_or_default()
    }

    fn skip_space(&mut self) {
        let rest = self.rest();
        self.place += rest.len() - rest.trim_start().len();
    }

    fn takes(&mut self, word: &str) -> bool {
        self.skip_space();
        let there = self.rest().starts_with(word);
        if there {
            self.place += word.len();
        }
        there
    }

    fn error(&self, message: impl Into<String>) -> ExpressionError {
        ExpressionError { message: message.into(), at: self.begins + self.place }
    }

    fn expected(&self, what: &str) -> ExpressionError {
        match self.rest().chars().next() {
            Some(found) => self.error(format!("expected {what}, and found {found:?}")),
            None => self.error(format!("expected {what}, and the text ends; close it with }}}}")),
        }
    }

    fn deeper<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, ExpressionError>,
    ) -> Result<T, ExpressionError> {
        if self.depth >= DEEPEST {
            return Err(self.error(format!("it is more than {DEEPEST} deep")));
        }
        self.depth += 1;
        let read = read(self);
        self.depth -= 1;
        read
    }

    fn either(&mut self) -> Result<Expression, ExpressionError> {
        let mut left = self.both()?;
        while self.takes("||") {
            left = Expression::Or(Box::new(left), Box::new(self.both()?));
        }
        Ok(left)
    }

    fn both(&mut self) -> Result<Expression, ExpressionError> {
        let mut left = self.equal()?;
        while self.takes("&&") {
            left = Expression::And(Box::new(left), Box::new(self.equal()?));
        }
        Ok(left)
    }

    fn equal(&mut self) -> Result<Expression, ExpressionError> {
        let left = self.not()?;
        let negated = match (self.takes("=="), self.takes("!=")) {
            (true, _) => false,
            (false, true) => true,
            (false, false) => return Ok(left),
        };
        let (left, right) = (Box::new(left), Box::new(self.not()?));
        Ok(Expression::Equal { left, right, negated })
    }

    fn not(&mut self) -> Result<Expression, ExpressionError> {
        if self.takes("!") {
            let of = self.deeper(Self::not)?;
            return Ok(Expression::Not(Box::new(of)));
        }
        self.value()
    }

    fn value(&mut self) -> Result<Expression, ExpressionError> {
        if self.takes("(") {
            let inner = self.deeper(Self::either)?;
            return if self.takes(")") { Ok(inner) } else { Err(self.expected("a )")) };
        }
        match self.rest().chars().next() {
            Some('\'') => self.quoted().map(|text| Expression::Literal(Value::String(text))),
            Some('-' | '0'..='9') => self.number().map(Expression::Literal),
            Some(letter) if begins_name(letter) => {
                let name = self.name()?;
                Ok(match name.as_str() {
                    "null" => Expression::Literal(Value::Null),
                    "true" => Expression::Literal(Value::Bool(true)),
                    "false" => Expression::Literal(Value::Bool(false)),
                    _ => Expression::Path(self.path(name)?),
                })
            }
            Some('"') => Err(self.error("texts are in single quotation marks")),
            _ => Err(self.expected("a value")),
        }
    }

    fn path(&mut self, first: String) -> Result<Vec<Step>, ExpressionError> {
        let mut steps = vec![Step::Member(first)];
        loop {
            if self.takes(".") {
                self.skip_space();
                steps.push(Step::Member(self.name()?));
            } else if self.takes("[") {
                self.skip_space();
                steps.push(match self.rest().chars().next() {
                    Some('\'') => Step::Member(self.quoted()?),
                    _ => {
                        let at = self.place;
                        let number = self.number()?;
                        let index = number.as_u64().and_then(|index| usize::try_from(index).ok());
                        Step::Index(index.ok_or_else(|| {
                            self.place = at;
                            self.error("expected a whole number, from 0 on")
                        })?)
                    }
                });
                if !self.takes("]") {
                    return Err(self.expected("a ]"));
                }
            } else {
                return Ok(steps);
            }
        }
    }

    fn name(&mut self) -> Result<String, ExpressionError> {
        let rest = self.rest();
        if !rest.starts_with(begins_name) {
            return Err(self.expected("a name"));
        }
        let end = rest.find(|letter: char| !goes_on(letter)).unwrap_or(rest.len());
        let name = rest.get(..end).unwrap_or_default().to_owned();
        self.place += end;
        Ok(name)
    }

    fn quoted(&mut self) -> Result<String, ExpressionError> {
        let begins = self.place;
        // The mark that it begins with.
        self.place += 1;
        let mut text = String::new();
        loop {
            let Some((before, _)) = self.rest().split_once('\'') else {
                self.place = begins;
                return Err(self.error("the text has no end: a ' is missing"));
            };
            text.push_str(before);
            self.place += before.len() + 1;
            if !self.rest().starts_with('\'') {
                return Ok(text);
            }
            text.push('\'');
            self.place += 1;
        }
    }

    fn number(&mut self) -> Result<Value, ExpressionError> {
        let rest = self.rest();
        let part = |letter: char| letter.is_ascii_alphanumeric() || "+-.".contains(letter);
        let end = rest.find(|letter| !part(letter)).unwrap_or(rest.len());
        let text = rest.get(..end).unwrap_or_default();
        match serde_json::from_str::<serde_json::Number>(text) {
            Ok(number) => {
                self.place += end;
                Ok(Value::Number(number))
            }
            Err(_) => Err(self.error(format!("{text:?} is no number"))),
        }
    }
}

fn begins_name(letter: char) -> bool {
    letter.is_ascii_alphabetic() || letter == '_'
}

fn goes_on(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_' || letter == '-'
}
