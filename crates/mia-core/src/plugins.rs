//! The plugins with their configuration: which one is asked, and what is known of its agent.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use mia_api::{ErrorCode, PluginError};
use mia_config::{ACTIVE_PLUGIN_VARIABLE, Config};
use mia_plugin::{CodingPlugin, Environment, Probe, Services};

use crate::availability::Availability;
use crate::registry::{Registry, RegistryError};
use crate::settings::plugin_config;

/// How long a plugin may take to get ready, or to tell of its agent.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// Why there is no plugin to ask.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum NoPlugin {
    /// The chosen one can't be used.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// It refuses its configuration.
    #[error("the plugin {} can't be used: {}", .0.plugin_name, .0.message)]
    Refuses(Box<PluginError>),
    /// None was chosen and no agent is installed.
    #[error("no coding agent is installed")]
    NoneInstalled {
        /// Each agent that was looked for, with how to install it.
        known: Vec<(String, String)>,
    },
}

/// A plugin that may be asked.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    pub(crate) plugin: Arc<dyn CodingPlugin>,
    /// Why it refuses its configuration.
    pub(crate) refuses: Option<Box<PluginError>>,
}

/// Who may be asked, in order.
#[derive(Debug, Default)]
pub(crate) struct Candidates {
    pub(crate) asked: Vec<Candidate>,
    /// Names in the configuration that can't be asked, and why: a person should know.
    pub(crate) passed_over: Vec<String>,
}

/// The plugins, initialized. Without a [`Core`](crate::Core) they can be looked at, not asked.
#[derive(Debug, Clone)]
pub struct Plugins {
    registry: Arc<Registry>,
    /// Those that refused to be initialized.
    refusing: Arc<BTreeMap<String, PluginError>>,
    config: Arc<Config>,
    availability: Arc<Availability>,
}

impl Plugins {
    /// Initializes those that are enabled. One that refuses, or is not ready in 5 s, is an error
    /// only for those who ask it.
    pub async fn initialize(registry: Registry, config: Config, services: Services) -> Self {
        let mut refusing = BTreeMap::new();
        for (name, plugin) in registry.iter() {
            let settings = plugin_config(&config, name);
            if !settings.enabled {
                continue;
            }
            // One that can't be used must not take the others with it.
            let ready =
                tokio::time::timeout(PATIENCE, plugin.initialize(settings, services.clone()));
            let refused = match ready.await {
                Ok(Ok(())) => continue,
                Ok(Err(error)) => error,
                Err(_) => PluginError::new(ErrorCode::Unknown, name, "it did not get ready in 5 s"),
            };
            refusing.insert(name.to_owned(), refused);
        }
        Self {
            registry: Arc::new(registry),
            refusing: Arc::new(refusing),
            config: Arc::new(config),
            availability: Arc::default(),
        }
    }

    /// The same plugins, initialized as they are, under another configuration: one that says the
    /// same of each of them.
    #[must_use]
    pub fn under(&self, config: Config) -> Self {
        Self { config: Arc::new(config), ..self.clone() }
    }

    /// All of them.
    #[must_use]
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// The configuration.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Why a plugin refused to be initialized, if it did.
    #[must_use]
    pub fn refusal(&self, name: &str) -> Option<&PluginError> {
        self.refusing.get(name)
    }

    /// The name of the active plugin: the caller's environment says it, else the configuration.
    fn active<'a>(&'a self, environment: &'a Environment) -> Option<&'a str> {
        let said = environment.get(ACTIVE_PLUGIN_VARIABLE).and_then(|name| name.to_str());
        said.filter(|name| !name.is_empty()).or(self.config.active_plugin.as_deref())
    }

    /// The plugin that answers: the named one, else the active one, else the first installed.
    ///
    /// # Errors
    /// When that one does not exist or is disabled, or nothing is installed.
    pub fn choose(
        &self,
        named: Option<&str>,
        environment: &Environment,
        cwd: &Path,
    ) -> Result<&Arc<dyn CodingPlugin>, NoPlugin> {
        let registry = &self.registry;
        if let Some(name) = named.or_else(|| self.active(environment)) {
            let plugin = registry.get(name)?;
            if !self.is_enabled(name) {
                return Err(self.disabled(name).into());
            }
            return match self.refusal(name) {
                Some(error) => Err(NoPlugin::Refuses(Box::new(error.clone()))),
                None => Ok(plugin),
            };
        }
        let mut known = Vec::new();
        for (name, plugin) in registry.in_order() {
            if !self.is_enabled(name) || self.refusal(name).is_some() {
                continue;
            }
            match plugin.locate(environment, cwd) {
                Ok(Some(_)) => return Ok(plugin),
                // Without a program of its own it is asked only when it is named.
                Ok(None) => {}
                Err(error) => known.push((name.to_owned(), error.hint.unwrap_or(error.message))),
            }
        }
        Err(NoPlugin::NoneInstalled { known })
    }

    /// The plugins to ask, in order: the one that [`Plugins::choose`] gives and, where it was not
    /// named or `fallback` asks for it, those of `fallback.plugins` in the configuration, less
    /// unknown and disabled ones (M-31).
    ///
    /// # Errors
    /// When there is none at all.
    pub(crate) fn candidates(
        &self,
        named: Option<&str>,
        fallback: Option<bool>,
        environment: &Environment,
        cwd: &Path,
    ) -> Result<Candidates, NoPlugin> {
        let mut found = Candidates::default();
        let first = match self.choose(named, environment, cwd) {
            Ok(plugin) => {
                found.asked.push(Candidate { plugin: Arc::clone(plugin), refuses: None });
                None
            }
            // It can be told with the others that fail.
            Err(NoPlugin::Refuses(error)) => {
                if let Ok(plugin) = self.registry.get(&error.plugin_name) {
                    let (plugin, refuses) = (Arc::clone(plugin), Some(error.clone()));
                    found.asked.push(Candidate { plugin, refuses });
                }
                Some(NoPlugin::Refuses(error))
            }
            // Who names one that there is not has made a mistake; a fallback would hide it.
            Err(error) if named.is_some() => return Err(error),
            Err(error) => {
                if let NoPlugin::Registry(error) = &error {
                    found.passed_over.push(format!("active_plugin: {error}"));
                }
                Some(error)
            }
        };
        if fallback.unwrap_or(named.is_none()) {
            for name in &self.config.fallback.plugins {
                if found.asked.iter().any(|candidate| candidate.plugin.name() == name) {
                    continue;
                }
                let passed_over = match self.registry.get(name) {
                    Err(error) => error.to_string(),
                    Ok(_) if !self.is_enabled(name) => format!("the plugin {name:?} is disabled"),
                    Ok(plugin) => match self.refusal(name) {
                        Some(error) => format!("{name} can't be used: {}", error.message),
                        None => {
                            let plugin = Arc::clone(plugin);
                            found.asked.push(Candidate { plugin, refuses: None });
                            continue;
                        }
                    },
                };
                found.passed_over.push(format!("fallback.plugins: {passed_over}"));
            }
        }
        match first {
            Some(error) if found.asked.iter().all(|candidate| candidate.refuses.is_some()) => {
                Err(error)
            }
            _ => Ok(found),
        }
    }

    /// What somebody with this environment finds of a plugin's agent on this machine. Answers within
    /// 5 s; what was found is good for a minute, and that it is not there for 5 s (M-33).
    ///
    /// # Errors
    /// When there is no such plugin.
    pub async fn probe(
        &self,
        name: &str,
        environment: &Environment,
    ) -> Result<Probe, RegistryError> {
        let plugin = self.registry.get(name)?;
        if !self.is_enabled(name) {
            return Ok(Probe::default());
        }
        if let Some(error) = self.refusal(name) {
            let problem = Some(error.message.clone());
            return Ok(Probe { problem, hint: error.hint.clone(), ..Probe::default() });
        }
        Ok(self.availability.of(plugin, environment).await)
    }

    /// The error of who wants to use a plugin that is disabled.
    #[must_use]
    pub fn disabled(&self, name: &str) -> RegistryError {
        let enabled = self.registry.names().filter(|n| self.is_enabled(n));
        let enabled = enabled.map(str::to_owned).collect();
        RegistryError::Disabled { name: name.to_owned(), enabled }
    }

    /// True unless the configuration disables the plugin.
    #[must_use]
    pub fn is_enabled(&self, name: &str) -> bool {
        self.config.plugin(name).enabled
    }
}
