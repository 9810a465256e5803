//! Reading the plain kinds of values, with every mistake told in its place.

use std::ops::Range;
use std::sync::Arc;

use mia_config::nearest;
use mia_config::yaml::{Body, Entry, Node, Source, found, is_variable};
use mia_config::{ConfigError, Origin};
use serde_json::Value;

use crate::path::{Path, Paths};
use crate::table::{Kind, Section, names};

/// A text that is longer is none that a person writes by hand.
const LONGEST: usize = 16 * 1024;

/// Reads nodes and collects what is wrong with them.
pub(crate) struct Reader<'a> {
    source: &'a Arc<Source>,
    errors: Vec<(usize, ConfigError)>,
}

/// The members of a section.
pub(crate) struct Fields<'n> {
    section: &'static Section,
    entries: Vec<&'n Entry>,
    /// Where the section is written.
    pub(crate) span: Range<usize>,
    /// It has keys that are none of the section's, so what seems to be missing may be one of them.
    pub(crate) has_unknown: bool,
}

impl<'n> Fields<'n> {
    /// The member of that name, which is one of the section's.
    pub(crate) fn get(&self, name: &str) -> Option<Field<'n>> {
        let key = self.section.keys.iter().find(|key| key.name == name);
        debug_assert!(key.is_some(), "{} has no key {name}", self.section.name);
        let entry = self.entries.iter().find(|entry| entry.key == name)?;
        Some(Field {
            key: &entry.key,
            key_span: &entry.key_span,
            node: &entry.value,
            kind: key?.kind,
            in_list: false,
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

/// One member: its key, its value, and what it takes.
#[derive(Clone, Copy)]
pub(crate) struct Field<'n> {
    pub(crate) key: &'n str,
    pub(crate) key_span: &'n Range<usize>,
    pub(crate) node: &'n Node,
    pub(crate) kind: Kind,
    /// It is an element of a list.
    pub(crate) in_list: bool,
}

impl<'n> Field<'n> {
    /// Something in the field that takes another kind.
    pub(crate) fn with(self, node: &'n Node, kind: Kind) -> Self {
        Self { node, kind, ..self }
    }

    /// An element of the field's list.
    pub(crate) fn item(self, node: &'n Node, kind: Kind) -> Self {
        Self { node, kind, in_list: true, ..self }
    }
}

impl<'a> Reader<'a> {
    pub(crate) fn new(source: &'a Arc<Source>) -> Self {
        Self { source, errors: Vec::new() }
    }

    pub(crate) fn source(&self) -> &'a Arc<Source> {
        self.source
    }

    pub(crate) fn mistake(
        &mut self,
        span: &Range<usize>,
        message: impl Into<String>,
        help: impl Into<Option<String>>,
    ) {
        let error = self.source.error(span.clone(), message.into(), help.into());
        self.errors.push((span.start, error));
    }

    pub(crate) fn take(&mut self, errors: Vec<ConfigError>) {
        for error in errors {
            let offset = error.snippet.as_ref().map_or(0, |snippet| snippet.offset);
            self.errors.push((offset, error));
        }
    }

    pub(crate) fn is_clean(&self) -> bool {
        self.errors.is_empty()
    }

    /// All mistakes, in the order of the text.
    pub(crate) fn into_errors(mut self) -> Vec<ConfigError> {
        self.errors.sort_by_key(|(offset, error)| match error.origin {
            Origin::File { .. } => *offset,
            _ => 0,
        });
        self.errors.dedup();
        self.errors.into_iter().map(|(_, error)| error).collect()
    }

    /// The line of a place.
    pub(crate) fn line(&self, offset: usize) -> usize {
        self.source.place(offset).0
    }

    fn unexpected(&mut self, field: Field<'_>, help: Option<String>) {
        // Nothing was written there, so the key is what can be shown.
        let span = match field.node.span.is_empty() {
            true => &self.dash(field).unwrap_or(field.key_span.clone()),
            false => &field.node.span,
        };
        let message = format!(
            "{}: expected {}, found {}",
            field.key,
            field.kind.expected(),
            found(field.node)
        );
        let help = help
            .or_else(|| field.node.is_null().then(|| "remove the line, or give it a value".into()));
        self.mistake(span, message, help);
    }

    /// The dash of an element of a list that has nothing after it.
    fn dash(&self, field: Field<'_>) -> Option<Range<usize>> {
        if !field.in_list {
            return None;
        }
        let before = self.source.text().get(..field.node.span.start)?;
        let at = before.rfind('-')?;
        (at >= field.key_span.end).then_some(at..at + 1)
    }

    /// The members of a map, with its unknown and missing keys told.
    pub(crate) fn section<'n>(
        &mut self,
        field: Field<'n>,
        section: &'static Section,
    ) -> Option<Fields<'n>> {
        let Body::Map { entries, .. } = &field.node.body else {
            self.unexpected(field, None);
            return None;
        };
        let mut known = Vec::new();
        for entry in entries {
            if section.keys.iter().any(|key| key.name == entry.key) {
                known.push(entry);
                continue;
            }
            let near = nearest(&entry.key, section.keys.iter().map(|key| key.name));
            let help = near.map_or_else(
                || format!("it takes {}", all_names(section)),
                |n| format!("did you mean {n:?}?"),
            );
            self.mistake(&entry.key_span, format!("unknown key {:?}", shown(&entry.key)), help);
        }
        for key in section.keys.iter().filter(|key| key.required) {
            if !entries.iter().any(|entry| entry.key == key.name) {
                let message = format!("{} has no {:?}", field.key, key.name);
                let span = first_line(field);
                self.mistake(&span, message, format!("it takes {}", key.kind.expected()));
            }
        }
        let has_unknown = known.len() < entries.len();
        Some(Fields { section, entries: known, span: field.node.span.clone(), has_unknown })
    }

    /// The members of a map whose keys are the person's own.
    pub(crate) fn entries<'n>(&mut self, field: Field<'n>) -> Option<&'n [Entry]> {
        match &field.node.body {
            Body::Map { entries, .. } => Some(entries),
            _ => {
                self.unexpected(field, None);
                None
            }
        }
    }

    /// The elements of a list, each as a field of that kind.
    pub(crate) fn list<'n>(&mut self, field: Field<'n>, each: Kind) -> Vec<Field<'n>> {
        match &field.node.body {
            Body::List { items, .. } => items.iter().map(|item| field.item(item, each)).collect(),
            _ => {
                let help =
                    matches!(each, Kind::Section(_)) && matches!(field.node.body, Body::Map { .. });
                let help = help.then(|| "put `- ` before its first key".to_owned());
                self.unexpected(field, help);
                Vec::new()
            }
        }
    }

    pub(crate) fn flag(&mut self, field: Field<'_>) -> Option<bool> {
        let word = match &field.node.body {
            Body::Scalar { text, plain: true } => text.as_str(),
            _ => "",
        };
        match word {
            "true" => Some(true),
            "false" => Some(false),
            _ => {
                let help = match word.to_ascii_lowercase().as_str() {
                    "yes" | "on" | "y" | "true" => Some("write true".to_owned()),
                    "no" | "off" | "n" | "false" => Some("write false".to_owned()),
                    _ => None,
                };
                self.unexpected(field, help);
                None
            }
        }
    }

    /// A text that is not empty. Numbers and flags that were written without quotes are texts, too.
    pub(crate) fn text(&mut self, field: Field<'_>) -> Option<String> {
        match &field.node.body {
            Body::Scalar { text, .. } if !field.node.is_null() && !text.trim().is_empty() => {
                if text.len() > LONGEST || text.contains('\0') {
                    let message =
                        format!("{}: is longer than 16 KiB, or has a zero byte in it", field.key);
                    self.mistake(&field.node.span, message, None);
                    return None;
                }
                Some(text.clone())
            }
            _ => {
                self.unexpected(field, None);
                None
            }
        }
    }

    pub(crate) fn texts(&mut self, field: Field<'_>) -> Vec<String> {
        if let Body::List { items, .. } = &field.node.body {
            if items.is_empty() {
                self.unexpected(field, None);
            }
            return items
                .iter()
                .filter_map(|item| self.text(field.item(item, Kind::Text)))
                .collect();
        }
        self.text(field).into_iter().collect()
    }

    pub(crate) fn words(&mut self, field: Field<'_>) -> Vec<String> {
        let Body::List { items, .. } = &field.node.body else {
            let help = match &field.node.body {
                Body::Scalar { text, .. } if !field.node.is_null() => {
                    Some(format!("write [{text:?}]"))
                }
                _ => None,
            };
            self.unexpected(field, help);
            return Vec::new();
        };
        items.iter().filter_map(|item| self.text(field.item(item, Kind::Text))).collect()
    }

    pub(crate) fn program(&mut self, field: Field<'_>) -> Option<String> {
        let text = self.text(field)?;
        if text.contains('/') && !text.starts_with('/') {
            let message = format!("the program {text:?} is relative, and Mia runs in many folders");
            let help = "write /…, or a bare name that is on PATH".to_owned();
            self.mistake(&field.node.span, message, help);
            return None;
        }
        if text.split_whitespace().count() > 1 {
            let help = "arguments belong into args".to_owned();
            self.mistake(
                &field.node.span,
                format!("the program {text:?} has blanks in its name"),
                help,
            );
            return None;
        }
        Some(text)
    }

    pub(crate) fn choice(
        &mut self,
        field: Field<'_>,
        choices: &[&'static str],
    ) -> Option<&'static str> {
        let word = match &field.node.body {
            Body::Scalar { text, .. } => text.as_str(),
            _ => "",
        };
        let found = choices.iter().find(|choice| **choice == word);
        if found.is_none() {
            let near = nearest(word, choices.iter().copied());
            self.unexpected(field, near.map(|near| format!("did you mean {near:?}?")));
        }
        found.copied()
    }

    /// Names of variables, which may end in `*`.
    pub(crate) fn variables(&mut self, field: Field<'_>) -> Vec<String> {
        let words = self.words(field);
        for word in &words {
            let name = word.strip_suffix('*').unwrap_or(word);
            if !is_variable(name) || name.contains('*') {
                let message = format!("{}: {word:?} is no name of a variable", field.key);
                let help = "write names such as JOT_API_KEY; only their end may be a *".to_owned();
                self.mistake(&field.node.span, message, help);
            }
        }
        words
    }

    /// Variables with their values.
    pub(crate) fn settings(&mut self, field: Field<'_>) -> Vec<(String, String)> {
        let Body::Map { entries, .. } = &field.node.body else {
            let help = matches!(field.node.body, Body::List { .. })
                .then(|| "names of variables to pass on belong into pass_env".to_owned());
            self.unexpected(field, help);
            return Vec::new();
        };
        let mut settings = Vec::new();
        for entry in entries {
            if !is_variable(&entry.key) {
                let message = format!("{:?} is no name of a variable", shown(&entry.key));
                self.mistake(&entry.key_span, message, None);
                continue;
            }
            match &entry.value.body {
                Body::Scalar { text, .. } if !entry.value.is_null() && !text.contains('\0') => {
                    settings.push((entry.key.clone(), text.clone()));
                }
                _ => {
                    let message = format!(
                        "{}: expected text, found {}",
                        shown(&entry.key),
                        found(&entry.value)
                    );
                    self.mistake(&entry.key_span, message, None);
                }
            }
        }
        settings
    }

    pub(crate) fn paths(&mut self, field: Field<'_>, inside: bool) -> Option<Paths> {
        let nodes = match &field.node.body {
            Body::List { items, .. } if !items.is_empty() => items.iter().collect(),
            Body::Scalar { .. } if !field.node.is_null() => vec![field.node],
            _ => {
                self.unexpected(field, None);
                return None;
            }
        };
        let mut list = Vec::new();
        for node in nodes {
            let text = match &node.body {
                Body::Scalar { text, .. } if !node.is_null() => text,
                _ => {
                    self.unexpected(field.item(node, Kind::Path), None);
                    continue;
                }
            };
            list.extend(self.path(field.key, text, &node.span, inside));
        }
        (!list.is_empty()).then(|| Paths { list, span: field.node.span.clone() })
    }

    /// One path. Outside `each` a path from the line is a path from here.
    pub(crate) fn path(
        &mut self,
        key: &str,
        text: &str,
        span: &Range<usize>,
        inside: bool,
    ) -> Option<Path> {
        match Path::parse(text) {
            Ok(mut path) => {
                path.from_line &= inside;
                Some(path)
            }
            Err(wrong) => {
                let message = format!("{key}: the path {:?} {wrong}", shown(text));
                self.mistake(
                    span,
                    message,
                    "write a path such as part.text or content.0.text".to_owned(),
                );
                None
            }
        }
    }

    /// One literal, or a list of them.
    pub(crate) fn literals(&mut self, field: Field<'_>) -> Option<Vec<Value>> {
        let nodes = match &field.node.body {
            Body::List { items, .. } if !items.is_empty() => items.iter().collect(),
            Body::Scalar { .. } => vec![field.node],
            _ => {
                self.unexpected(field, None);
                return None;
            }
        };
        let mut values = Vec::new();
        for node in nodes {
            match scalar(node) {
                Some(value) => values.push(value),
                None => self.unexpected(field.with(node, Kind::Literals), None),
            }
        }
        Some(values)
    }
}

/// Where a section begins, not all of it.
fn first_line(field: Field<'_>) -> Range<usize> {
    let Range { start, end } = field.node.span;
    let Body::Map { entries, .. } = &field.node.body else { return start..end };
    entries.first().map_or(start..end, |entry| entry.key_span.clone())
}

fn all_names(section: &Section) -> String {
    if section.keys.len() <= 8 {
        return names(section);
    }
    section.keys.iter().map(|key| key.name).collect::<Vec<_>>().join(", ")
}

/// A foreign text for a message, cut short.
pub(crate) fn shown(text: &str) -> String {
    let mut short: String = text.chars().take(40).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

/// A scalar as JSON has it: quoted is text; unquoted may be null, a flag or a number.
pub(crate) fn scalar(node: &Node) -> Option<Value> {
    let Body::Scalar { text, plain } = &node.body else { return None };
    if node.is_null() {
        return Some(Value::Null);
    }
    let number = || serde_json::from_str(text).ok().filter(Value::is_number);
    Some(match (text.as_str(), plain) {
        ("true", true) => Value::Bool(true),
        ("false", true) => Value::Bool(false),
        (_, true) => number().unwrap_or_else(|| Value::String(text.clone())),
        _ => Value::String(text.clone()),
    })
}
