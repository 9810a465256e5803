//! Where Mia's files are, and `config.yaml`.
//!
//! - [`Paths`] finds the folders of a user from an injected environment.
//! - [`Config::load`] reads the built-in defaults, `config.yaml`, the environment and the command
//!   line, in that order, and reports every problem of a file with line and column (M-02, M-40).
//! - [`Loaded::explain`] and [`Loaded::get`] say what is in force and where it came from.
//! - [`set`] and [`unset`] change one key of the file, keep its comments and layout, and never
//!   replace a good file with a bad one (M-40).
//! - [`LiveConfig`] keeps the last good configuration while a file is torn or invalid (M-40).
//!
//! - [`Template`] is a text with `${{ … }}` in it, as setup files have them.
//! - [`yaml`] reads any other file that people write, with the place of each value.
//!
//! Every key is a row of one table, which validates files, names the origin of a value, suggests
//! the nearest key for a misspelt one, and writes the [`reference()`].

mod dotted;
mod edit;
mod error;
mod explain;
mod expression;
mod keys;
mod kind;
mod layer;
mod live;
mod load;
mod model;
mod paths;
mod project;
mod reference;
mod replace;
mod source;
mod splice;
mod suggest;
mod tree;
mod units;
mod value;
pub mod yaml;

pub use edit::{EditError, Edited, set, unset};
pub use error::{ConfigError, ConfigErrors, Origin, Snippet};
pub use explain::{Found, Setting};
pub use expression::{ExpressionError, Template};
pub use keys::KeyError;
pub use live::LiveConfig;
pub use load::{ACTIVE_PLUGIN_VARIABLE, Loaded, Override};
pub use model::{
    AfterOutput, Config, ContextLimits, Extract, Fallback, History, Inherit, Limits, Memory,
    PluginSettings, Price, Streams,
};
pub use paths::{Paths, PathsError, Surroundings};
pub use reference::reference;
pub use suggest::nearest;
pub use units::parse_duration;
pub use value::Value;
