//! One layer of settings, read against the table of keys.

use std::collections::{BTreeMap, BTreeSet};

use crate::dotted::KeyPath;
use crate::error::{ConfigError, ConfigErrors, Origin};
use crate::keys::{Cursor, Key, KeyError, resolve};
use crate::kind::{Kind, Misfit, found};
use crate::source::Source;
use crate::tree::{Body, Entry, Node, parse};
use crate::value::Value;

/// A value and where it was written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Leaf {
    pub(crate) value: Value,
    pub(crate) origin: Origin,
}

/// What one source sets, under our own spelling of each key.
#[derive(Debug, Clone, Default)]
pub(crate) struct Layer {
    pub(crate) leaves: BTreeMap<KeyPath, Leaf>,
    /// Names of the user's choice that occur, with or without keys below: plugins and models.
    pub(crate) names: BTreeMap<KeyPath, Origin>,
}

impl Layer {
    /// Lays another layer over this one: its values win, key by key.
    pub(crate) fn overlay(&mut self, over: Self) {
        self.leaves.extend(over.leaves);
        for (name, origin) in over.names {
            self.names.entry(name).or_insert(origin);
        }
    }

    /// Names below a section, such as the plugins.
    pub(crate) fn names_in<'a>(&'a self, section: &'a str) -> impl Iterator<Item = &'a str> {
        self.names.keys().filter_map(move |path| match path.0.as_slice() {
            [first, name] if first == section => Some(name.as_str()),
            _ => None,
        })
    }

    /// A price needs both of its main members. Those in `failed` are there, and wrong.
    pub(crate) fn incomplete_prices(&self, failed: &BTreeSet<KeyPath>) -> Vec<ConfigError> {
        let mut errors = Vec::new();
        for (path, origin) in &self.names {
            let [section, model] = path.0.as_slice() else {
                continue;
            };
            for needed in ["input", "output"] {
                let member = path.join(needed);
                let given = self.leaves.contains_key(&member) || failed.contains(&member);
                if section == "prices" && !given {
                    errors.push(ConfigError {
                        origin: origin.clone(),
                        message: format!("the price of {model:?} has no {needed:?}"),
                        help: Some("give both input and output, per million tokens".into()),
                        snippet: None,
                    });
                }
            }
        }
        errors
    }

    fn note_names(&mut self, path: &KeyPath, origin: &Origin) {
        if let [section, name, ..] = path.0.as_slice()
            && matches!(section.as_str(), "plugins" | "prices")
        {
            let name = KeyPath::of(&[section, name]);
            self.names.entry(name).or_insert_with(|| origin.clone());
        }
    }
}

/// A file's settings, and every mistake in it.
#[derive(Debug)]
pub(crate) struct FileLayer {
    pub(crate) layer: Layer,
    pub(crate) errors: Vec<ConfigError>,
}

/// Reads a whole text.
pub(crate) fn read(source: &Source) -> FileLayer {
    let parsed = parse(source);
    let mut reader =
        Reader { source, layer: Layer::default(), errors: parsed.errors, failed: BTreeSet::new() };
    if let Some(root) = &parsed.root {
        reader.section(root, &Cursor::root(), &KeyPath::default());
    }
    let Reader { layer, mut errors, failed, .. } = reader;
    errors.extend(layer.incomplete_prices(&failed));
    errors.sort_by_key(|error| match &error.origin {
        Origin::File { line, column, .. } => (*line, *column),
        _ => (0, 0),
    });
    FileLayer { layer, errors }
}

/// Reads what is assigned to one key: a value, or a map with values of a section.
///
/// Returns the key in our own spelling with them.
pub(crate) fn read_assignment(
    source: &Source,
    key: &str,
) -> Result<(KeyPath, Layer), ConfigErrors> {
    let whole = 0..source.text().len();
    let (path, cursor, millis) = resolve(key)
        .map_err(|KeyError { message, help }| source.error(whole.clone(), message, help))?;
    let origin = source.origin(0);
    let mut reader =
        Reader { source, layer: Layer::default(), errors: Vec::new(), failed: BTreeSet::new() };
    reader.layer.note_names(&path, &origin);
    if let Some(key) = cursor.leaf() {
        let value = read_value(source, key, millis)?;
        reader.layer.leaves.insert(path.clone(), Leaf { value, origin });
    } else {
        let parsed = parse(source);
        reader.errors = parsed.errors;
        match &parsed.root {
            Some(node) if !node.is_null() => reader.section(node, &cursor, &path),
            _ => {
                let names = cursor.dynamic().map_or_else(|| cursor.names().join(", "), Into::into);
                let message = format!("{path} is a section: give a key of it, or a map");
                reader.errors.push(source.error(
                    whole,
                    message,
                    Some(format!("its keys are {names}")),
                ));
            }
        }
    }
    let Reader { layer, errors, .. } = reader;
    ConfigErrors::check(errors)?;
    Ok((path, layer))
}

/// Reads a value given by itself. Text needs no YAML quotes: it is YAML only where it begins with
/// one, and is taken as it is otherwise.
pub(crate) fn read_value(source: &Source, key: &Key, millis: bool) -> Result<Value, ConfigError> {
    let text = source.text();
    let quoted = text.starts_with(['"', '\'']);
    let literal = Node {
        span: 0..text.len(),
        body: Body::Scalar { text: text.to_owned(), plain: !quoted },
        aliased: false,
    };
    let node = if key.kind.is_text() && !quoted {
        literal
    } else {
        let parsed = parse(source);
        match (parsed.root, parsed.errors.into_iter().next()) {
            (Some(node @ Node { body: Body::Scalar { .. }, .. }), None) => node,
            _ if key.kind.is_text() => literal,
            (_, Some(error)) => return Err(error),
            (root, None) => root.unwrap_or(literal),
        }
    };
    key.kind
        .read(&node, millis)
        .map_err(|Misfit { span, message, help }| source.error(span, message, help))
}

struct Reader<'a> {
    source: &'a Source,
    layer: Layer,
    errors: Vec<ConfigError>,
    /// Keys whose value doesn't fit.
    failed: BTreeSet<KeyPath>,
}

impl Reader<'_> {
    fn section(&mut self, node: &Node, cursor: &Cursor, path: &KeyPath) {
        let entries = match &node.body {
            Body::Map { entries, .. } => entries,
            _ if node.is_null() => return,
            _ => {
                let what = if path.0.is_empty() { "the file".into() } else { path.to_string() };
                let names = match cursor.dynamic() {
                    Some(name) => format!("{name}: …"),
                    None => cursor.names().join(", "),
                };
                let message = format!("expected {what} to be a map, found {}", found(node));
                let help = Some(format!("its keys are {names}"));
                self.errors.push(self.source.error(node.span.clone(), message, help));
                return;
            }
        };
        let mut seen: BTreeMap<String, &Entry> = BTreeMap::new();
        for entry in entries {
            self.entry(entry, cursor, path, &mut seen);
        }
    }

    fn entry<'t>(
        &mut self,
        entry: &'t Entry,
        cursor: &Cursor,
        path: &KeyPath,
        seen: &mut BTreeMap<String, &'t Entry>,
    ) {
        let span = entry.key_span.clone();
        let step = match cursor.enter(&entry.key) {
            Ok(step) => step,
            Err(KeyError { message, help }) => {
                return self.errors.push(self.source.error(span, message, help));
            }
        };
        // The same spelling twice was reported with the form of the file.
        if let Some(first) = seen.insert(step.name.clone(), entry)
            && first.key != entry.key
        {
            let (line, _) = self.source.place(first.key_span.start);
            let message = format!("{:?} and {:?} are the same key", first.key, entry.key);
            let help = Some(format!("the first is on line {line}"));
            return self.errors.push(self.source.error(span, message, help));
        }
        let below = path.join(&step.name);
        let origin = self.source.origin(span.start);
        let Some(key) = step.cursor.leaf() else {
            self.layer.note_names(&below, &origin);
            return self.section(&entry.value, &step.cursor, &below);
        };
        match key.kind.read(&entry.value, step.millis) {
            Ok(Value::Text(name)) if key.kind == Kind::OwnName => {
                if path.0.last() != Some(&name) {
                    let message = format!("the name {name:?} is not that of the entry it is in");
                    let help = Some("remove it; the entry's key is the name".into());
                    let span = entry.value.span.clone();
                    self.errors.push(self.source.error(span, message, help));
                }
            }
            Ok(value) => {
                self.layer.leaves.insert(below, Leaf { value, origin });
            }
            Err(Misfit { span, message, help }) => {
                // Nothing was written there, so the key is what can be shown.
                let span = if span.is_empty() { entry.key_span.clone() } else { span };
                let message = format!("{}: {message}", entry.key);
                self.errors.push(self.source.error(span, message, help));
                self.failed.insert(below);
            }
        }
    }
}
