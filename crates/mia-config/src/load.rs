//! The layers: built-in defaults, `config.yaml`, the environment, the command line.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use crate::dotted::KeyPath;
use crate::error::{ConfigError, ConfigErrors, Origin};
use crate::layer::{self, Layer};
use crate::model::{Config, PluginSettings};
use crate::paths::Paths;
use crate::project;
use crate::source::{Author, Source};

/// The one environment variable that sets a key: it names the active plugin.
pub const ACTIVE_PLUGIN_VARIABLE: &str = "MIA_ACTIVE_PLUGIN";

/// One key that the command line sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Override {
    /// The flag as it was written, such as `--model`; it is named in errors.
    pub flag: String,
    /// A dotted key.
    pub key: String,
    /// Its value as YAML; plain text needs no quotes. A section takes a map.
    pub value: String,
}

/// A configuration that was loaded, with the origin of every value.
#[derive(Clone)]
pub struct Loaded {
    /// The typed configuration.
    pub config: Config,
    pub(crate) settings: Layer,
    file: PathBuf,
    home: Option<PathBuf>,
}

impl Config {
    /// Loads all layers. A missing file is an empty one, and nothing is created.
    ///
    /// `var` looks up an environment variable; only [`ACTIVE_PLUGIN_VARIABLE`] is asked for, and an
    /// empty one counts as unset.
    ///
    /// # Errors
    ///
    /// Every mistake of the file, the environment and the overrides, each with its place. A file
    /// that exists and can't be read is one.
    pub fn load(
        paths: &Paths,
        var: &dyn Fn(&str) -> Option<OsString>,
        overrides: &[Override],
    ) -> Result<Loaded, ConfigErrors> {
        let mut settings = Layer::default();
        let mut errors = Vec::new();
        match Source::read(&paths.config_file) {
            Ok(Some(source)) => {
                let file = layer::read(&source);
                settings = file.layer;
                errors = file.errors;
            }
            Ok(None) => {}
            Err(error) => errors.push(error),
        }
        for over in environment(var).into_iter().chain(flags(overrides)) {
            match over {
                Ok((_, over)) => settings.overlay(over),
                Err(more) => errors.extend(more.into_list()),
            }
        }
        if errors.is_empty() {
            errors = settings.incomplete_prices(&BTreeSet::new());
        }
        ConfigErrors::check(errors)?;
        let config = project::config(&settings, paths.home.as_deref());
        Ok(Loaded { config, settings, file: paths.config_file.clone(), home: paths.home.clone() })
    }
}

// The settings hold the values of `env`, which may be secrets; the typed form hides them.
impl fmt::Debug for Loaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loaded")
            .field("config", &self.config)
            .field("file", &self.file)
            .finish_non_exhaustive()
    }
}

impl Loaded {
    /// What is set for a plugin, laid over defaults of its own: an adapter that can't see open
    /// tools has another `stall_timeout`, say. `base.name` says which plugin.
    #[must_use]
    pub fn plugin_over(&self, base: PluginSettings) -> PluginSettings {
        project::plugin(&self.settings, base, self.home.as_deref())
    }

    /// The file that was read, or would have been.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }
}

type Assigned = Result<(KeyPath, Layer), ConfigErrors>;

fn environment(var: &dyn Fn(&str) -> Option<OsString>) -> Option<Assigned> {
    let variable = ACTIVE_PLUGIN_VARIABLE.to_owned();
    let value = var(ACTIVE_PLUGIN_VARIABLE).filter(|value| !value.is_empty())?;
    Some(match value.into_string() {
        Ok(text) => {
            layer::read_assignment(&Source::new(Author::Variable(variable), &text), "active_plugin")
        }
        Err(_) => Err(ConfigErrors::from(ConfigError {
            origin: Origin::Environment { variable },
            message: "is not UTF-8".into(),
            help: Some("set it to the name of a plugin".into()),
            snippet: None,
        })),
    })
}

fn flags(overrides: &[Override]) -> impl Iterator<Item = Assigned> {
    overrides.iter().map(|over| {
        let source = Source::new(Author::Flag(over.flag.clone()), &over.value);
        layer::read_assignment(&source, &over.key)
    })
}
