//! What is in force, and where it came from.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::Serialize;

use crate::dotted::KeyPath;
use crate::error::Origin;
use crate::keys::{Cursor, KEYS, Key, KeyError, is_name, resolve};
use crate::kind::Kind;
use crate::layer::read_value;
use crate::load::Loaded;
use crate::source::{Author, Source};
use crate::value::Value;

/// One key with its value and origin.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Setting {
    /// The dotted key; a name that has dots is in quotes.
    pub key: String,
    /// The value in force.
    pub value: Value,
    /// Where it came from.
    pub origin: Origin,
    /// What the key does, in one line, and whether anything reads it yet.
    pub about: Cow<'static, str>,
}

/// What is at a dotted key.
#[derive(Debug, Clone, PartialEq)]
pub enum Found {
    /// One value.
    Value(Setting),
    /// A section, with what is in it in the order of the reference.
    Section(Vec<Setting>),
}

impl Loaded {
    /// Every key in force, in the order of the reference.
    ///
    /// The plugins are those with an entry, the active one, the fallbacks, and `plugins`: the
    /// caller's list of those it knows. Values of `env` are hidden, whatever their names.
    #[must_use]
    pub fn explain(&self, plugins: &[&str]) -> Vec<Setting> {
        self.below(&KeyPath::default(), plugins)
    }

    /// What is at a dotted key, in any accepted spelling: a value, or all values of a section.
    ///
    /// A plugin without an entry has the defaults. The value of a single key is never hidden.
    ///
    /// # Errors
    ///
    /// A key that leads nowhere, with the nearest one.
    pub fn get(&self, key: &str) -> Result<Found, KeyError> {
        let (path, cursor, _) = resolve(key)?;
        let leaf = |key: &Cursor| key.leaf().filter(|key| key.kind != Kind::OwnName);
        if let Some(key) = leaf(&cursor) {
            return Ok(Found::Value(self.setting(key, &path)));
        }
        if cursor.leaf().is_some() {
            let help = Some("ask for another key of the plugin".into());
            return Err(KeyError { message: format!("{path} has no value of its own"), help });
        }
        let named = match path.0.as_slice() {
            [section, name, ..] if section == "plugins" => vec![name.as_str()],
            _ => Vec::new(),
        };
        Ok(Found::Section(self.below(&path, &named)))
    }

    fn below(&self, prefix: &KeyPath, plugins: &[&str]) -> Vec<Setting> {
        let config = &self.config;
        let mut names: BTreeSet<&str> = self.settings.names_in("plugins").collect();
        names.extend(config.active_plugin.as_deref());
        names.extend(config.fallback.plugins.iter().map(String::as_str));
        names.extend(plugins);
        let models: BTreeSet<&str> = self.settings.names_in("prices").collect();

        let mut settings = Vec::new();
        let mut done = BTreeSet::new();
        for key in KEYS.iter().filter(|key| key.kind != Kind::OwnName) {
            // All keys of one name stay together.
            let Some([section, name, ..]) = key.pattern.get(..).filter(|p| p.len() > 2) else {
                self.expand(key, None, prefix, &mut settings);
                continue;
            };
            if !is_name(name) || !done.insert(*section) {
                continue;
            }
            let chosen = if *section == "plugins" { &names } else { &models };
            for name in chosen {
                for key in KEYS.iter().filter(|key| key.pattern.first() == Some(section)) {
                    self.expand(key, Some(name), prefix, &mut settings);
                }
            }
        }
        settings
    }

    /// Adds the settings of one row of the table for one name.
    fn expand(&self, key: &Key, name: Option<&str>, prefix: &KeyPath, out: &mut Vec<Setting>) {
        if key.kind == Kind::OwnName {
            return;
        }
        let mut path = KeyPath::default();
        for (index, segment) in key.pattern.iter().enumerate() {
            path = match (is_name(segment), index, name) {
                (false, ..) => path.join(segment),
                (true, 1, Some(name)) => path.join(name),
                _ => return self.expand_variables(key, &path, prefix, out),
            };
        }
        if path.0.starts_with(&prefix.0) {
            out.push(self.setting(key, &path));
        }
    }

    fn expand_variables(&self, key: &Key, env: &KeyPath, prefix: &KeyPath, out: &mut Vec<Setting>) {
        for path in self.settings.leaves.keys() {
            if path.0.starts_with(&env.0) && path.0.starts_with(&prefix.0) {
                let mut setting = self.setting(key, path);
                setting.value = Value::Hidden;
                out.push(setting);
            }
        }
    }

    fn setting(&self, key: &Key, path: &KeyPath) -> Setting {
        let (value, origin) = match self.settings.leaves.get(path) {
            Some(leaf) => (leaf.value.clone(), leaf.origin.clone()),
            None => (default_of(key), Origin::Default),
        };
        Setting { key: path.to_string(), value, origin, about: key.shown_about() }
    }
}

fn default_of(key: &Key) -> Value {
    if key.default.is_empty() {
        return Value::Unset;
    }
    let source = Source::new(Author::Flag(String::new()), key.default);
    // The table's defaults are valid: a test reads them all.
    read_value(&source, key, false).unwrap_or(Value::Unset)
}
