//! Plugins as clients see them.

use serde::{Deserialize, Serialize};

use crate::Lack;

/// A plugin and the agent behind it, as they are now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct PluginStatus {
    /// The name that it is selected by.
    pub name: String,
    /// The plugin's own version.
    pub version: String,
    /// True for the one that is asked when none is named.
    pub active: bool,
    /// Its place among those that are asked when the active one fails, counted from 1.
    #[cfg_attr(feature = "schema", schema(required))]
    pub fallback: Option<u32>,
    /// False when the configuration disables it.
    pub enabled: bool,
    /// True when it is enabled, and its agent is there and says its version.
    pub available: bool,
    /// What its agent says of itself.
    #[cfg_attr(feature = "schema", schema(required))]
    pub agent_version: Option<String>,
    /// The agent's program.
    #[cfg_attr(feature = "schema", schema(required))]
    pub binary: Option<String>,
    /// Where the program was found: a setting, a folder, `PATH`.
    #[cfg_attr(feature = "schema", schema(required))]
    pub found_by: Option<String>,
    /// Why it is not available.
    #[cfg_attr(feature = "schema", schema(required))]
    pub problem: Option<String>,
    /// What to do about that.
    #[cfg_attr(feature = "schema", schema(required))]
    pub hint: Option<String>,
    /// How many tasks it works on.
    pub running: u64,
    /// How many tasks it may work on at once.
    pub max_concurrency: u64,
    /// How long it is still left alone after failures in a row, in ms (M-36).
    #[cfg_attr(feature = "schema", schema(required))]
    pub resting_ms: Option<u64>,
    /// What people expect of an agent and this one can't do.
    pub lacks: Vec<Lack>,
    /// What it does unasked when no permissions are chosen.
    #[cfg_attr(feature = "schema", schema(required))]
    pub own_rules: Option<String>,
    /// True for a manifest that can't be used.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub broken: bool,
}
