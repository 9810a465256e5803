//! Which plugins there are (M-30).

use std::collections::BTreeMap;
use std::sync::Arc;

use mia_config::Config;
use mia_plugin::CodingPlugin;

/// The shortest word that a name is known by, in bytes.
const SHORTEST: usize = 3;

/// A plugin of the user's that can't be used, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenPlugin {
    /// The name that it was to have.
    pub name: String,
    /// The version that it was to have.
    pub version: String,
    /// What is wrong with it.
    pub problem: String,
    /// What to do about that.
    pub hint: String,
}

/// Why a plugin could not be registered or found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    /// The name is taken.
    #[error("a plugin named {0:?} is registered already")]
    Taken(String),
    /// The name can't be typed after `--plugin`.
    #[error(
        "{0:?} is no name for a plugin: it begins with a lower-case letter and has only lower-case letters, digits and dashes"
    )]
    BadName(String),
    /// There is no such plugin.
    #[error("there is no plugin {name:?}{}; there are: {}", did_you_mean(.nearest), .known.join(", "))]
    Unknown {
        /// The name that was asked for.
        name: String,
        /// The name that was probably meant.
        nearest: Option<String>,
        /// The names that exist.
        known: Vec<String>,
    },
    /// The plugin is there and broken.
    #[error("the plugin {:?} can't be used: {}", .0.name, .0.problem)]
    Broken(BrokenPlugin),
    /// The plugin is there and switched off.
    #[error(
        "the plugin {name:?} is disabled; enable it with `mia config set plugins.{name}.enabled true`; enabled: {}",
        .enabled.join(", ")
    )]
    Disabled {
        /// The name that was asked for.
        name: String,
        /// The names that can be used.
        enabled: Vec<String>,
    },
}

fn did_you_mean(nearest: &Option<String>) -> String {
    nearest.as_ref().map(|name| format!(" (did you mean {name:?}?)")).unwrap_or_default()
}

/// The plugins of this Mia, by name.
#[derive(Debug, Default)]
pub struct Registry {
    plugins: BTreeMap<String, Arc<dyn CodingPlugin>>,
    /// Their names, as they were registered.
    order: Vec<String>,
    broken: Vec<BrokenPlugin>,
}

impl Registry {
    /// An empty one.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes a plugin selectable by a name.
    ///
    /// # Errors
    /// When the name is taken or can't be typed.
    pub fn register(
        &mut self,
        name: &str,
        plugin: impl CodingPlugin + 'static,
    ) -> Result<(), RegistryError> {
        self.register_shared(name, Arc::new(plugin))
    }

    /// The same for a plugin that is shared already.
    ///
    /// # Errors
    /// As [`register`](Registry::register).
    pub fn register_shared(
        &mut self,
        name: &str,
        plugin: Arc<dyn CodingPlugin>,
    ) -> Result<(), RegistryError> {
        let letters = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(letters) {
            return Err(RegistryError::BadName(name.to_owned()));
        }
        if self.plugins.contains_key(name) {
            return Err(RegistryError::Taken(name.to_owned()));
        }
        self.plugins.insert(name.to_owned(), plugin);
        self.order.push(name.to_owned());
        Ok(())
    }

    /// Notes a plugin that can't be used. It is shown where plugins are, and spoils no other.
    pub fn report(&mut self, broken: BrokenPlugin) {
        self.broken.push(broken);
    }

    /// The plugins that can't be used, in the order in which they were reported.
    #[must_use]
    pub fn broken(&self) -> &[BrokenPlugin] {
        &self.broken
    }

    /// The plugin of that name.
    ///
    /// # Errors
    /// When there is none, with the nearest; or when it is broken.
    pub fn get(&self, name: &str) -> Result<&Arc<dyn CodingPlugin>, RegistryError> {
        self.plugins.get(name).ok_or_else(|| {
            if let Some(broken) = self.broken.iter().find(|broken| broken.name == name) {
                return RegistryError::Broken(broken.clone());
            }
            RegistryError::Unknown {
                name: name.to_owned(),
                nearest: self.nearest(name).map(str::to_owned),
                known: self.names().map(str::to_owned).collect(),
            }
        })
    }

    /// The name that was probably meant: one that is spelled alike, else the only one that holds
    /// the word or is held by it (`claude` for `claude-code`).
    fn nearest(&self, name: &str) -> Option<&str> {
        if let Some(nearest) = mia_config::nearest(name, self.names()) {
            return Some(nearest);
        }
        let word = name.to_ascii_lowercase();
        let mut alike = self.names().filter(|n| {
            word.len().min(n.len()) >= SHORTEST && (n.contains(&word) || word.contains(*n))
        });
        let found = alike.next()?;
        alike.next().is_none().then_some(found)
    }

    /// Names in the configuration that no plugin has: each key with what is wrong with it.
    #[must_use]
    pub fn unknown_names(&self, config: &Config) -> Vec<(String, RegistryError)> {
        let active = config.active_plugin.iter().map(|name| ("active_plugin".to_owned(), name));
        let fallback = config.fallback.plugins.iter();
        let fallback = fallback.map(|name| ("fallback.plugins".to_owned(), name));
        let settings = config.plugins.keys().map(|name| (format!("plugins.{name}"), name));
        let unknown =
            active.chain(fallback).chain(settings).filter_map(|(key, name)| match self.get(name) {
                Err(error @ RegistryError::Unknown { .. }) => Some((key, error)),
                _ => None,
            });
        unknown.collect()
    }

    /// All names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.plugins.keys().map(String::as_str)
    }

    /// All plugins, in the order in which they were registered: that is also the order in which
    /// an installed agent is looked for when nobody chose one.
    pub fn in_order(&self) -> impl Iterator<Item = (&str, &Arc<dyn CodingPlugin>)> {
        self.order.iter().filter_map(|name| Some((name.as_str(), self.plugins.get(name)?)))
    }

    /// All plugins, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Arc<dyn CodingPlugin>)> {
        self.plugins.iter().map(|(name, plugin)| (name.as_str(), plugin))
    }
}
