//! The typed configuration.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// Everything that `config.yaml` decides, validated.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Config {
    /// The plugin that answers; `None` is the first installed one.
    pub active_plugin: Option<String>,
    /// What happens when it fails.
    pub fallback: Fallback,
    /// Limits over all plugins.
    pub limits: Limits,
    /// The plugins that have an entry; see [`Config::plugin`] for the others.
    pub plugins: BTreeMap<String, PluginSettings>,
    /// What an agent is told.
    pub context: ContextLimits,
    /// Facts that are remembered.
    pub memory: Memory,
    /// What is kept of dispatches.
    pub history: History,
    /// Prices by model.
    pub prices: BTreeMap<String, Price>,
    /// What is read from agents.
    pub streams: Streams,
}

impl Config {
    /// The settings of a plugin; the defaults when it has no entry.
    #[must_use]
    pub fn plugin(&self, name: &str) -> PluginSettings {
        self.plugins.get(name).cloned().unwrap_or_else(|| PluginSettings::named(name))
    }
}

/// The page's `PluginConfig` and its additions (M-02).
#[derive(Clone, PartialEq, Eq)]
pub struct PluginSettings {
    /// The plugin's name.
    pub name: String,
    /// Whether it may be used.
    pub enabled: bool,
    /// The agent's program: absolute, or a bare name to look for on PATH.
    pub binary: Option<PathBuf>,
    /// The model to ask for; `None` is the agent's own choice.
    pub model: Option<String>,
    /// Dispatches that run at once, at least 1.
    pub max_concurrency: u32,
    /// The longest a dispatch may take (M-19); `None` is no limit.
    pub timeout: Option<Duration>,
    /// The longest silence (M-19); `None` is no limit.
    pub stall_timeout: Option<Duration>,
    /// The longest silence while a tool runs or a permission is pending (M-19); `None` is no limit.
    pub tool_timeout: Option<Duration>,
    /// More arguments for the program.
    pub args: Vec<String>,
    /// Variables to set; the values may be secrets, and a debug print leaves them out.
    pub env: BTreeMap<String, String>,
    /// Variables to pass on although their names look like secrets.
    pub pass_env: Vec<String>,
    /// What of the caller's environment the agent gets (M-13).
    pub inherit: Inherit,
    /// The address of the model's API.
    pub api_url: Option<String>,
}

impl PluginSettings {
    /// The defaults under a name.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            enabled: true,
            binary: None,
            model: None,
            max_concurrency: 4,
            timeout: Some(Duration::from_secs(4 * 3600)),
            stall_timeout: Some(Duration::from_secs(120)),
            tool_timeout: Some(Duration::from_secs(30 * 60)),
            args: Vec::new(),
            env: BTreeMap::new(),
            pass_env: Vec::new(),
            inherit: Inherit::AllButSecrets,
            api_url: None,
        }
    }
}

impl fmt::Debug for PluginSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PluginSettings")
            .field("name", &self.name)
            .field("enabled", &self.enabled)
            .field("binary", &self.binary)
            .field("model", &self.model)
            .field("max_concurrency", &self.max_concurrency)
            .field("timeout", &self.timeout)
            .field("stall_timeout", &self.stall_timeout)
            .field("tool_timeout", &self.tool_timeout)
            .field("args", &self.args)
            .field("env", &self.env.keys().collect::<Vec<_>>())
            .field("pass_env", &self.pass_env)
            .field("inherit", &self.inherit)
            .field("api_url", &self.api_url)
            .finish()
    }
}

/// What of the caller's environment an agent gets (M-13).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Inherit {
    /// Everything but what looks like a secret.
    #[default]
    AllButSecrets,
    /// Only an allow-list.
    Minimal,
}

/// What happens when the active plugin fails (M-31, M-34).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fallback {
    /// Plugins to try next, in order, as written: duplicates are left in.
    pub plugins: Vec<String>,
    /// What a failure after visible output does.
    pub after_output: AfterOutput,
}

/// What a failure after visible output does (M-34).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AfterOutput {
    /// The dispatch fails.
    #[default]
    Fail,
    /// The next plugin starts over.
    Restart,
}

/// Limits over all plugins (M-37).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Dispatches that run at once, at least 1.
    pub concurrent: u32,
    /// Dispatches of one conversation that may wait, at least 1.
    pub queue: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { concurrent: 8, queue: 10 }
    }
}

/// What an agent is told (M-50, M-57).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextLimits {
    /// The most that context may add to a prompt, in tokens.
    pub budget_tokens: u32,
    /// The longest that gathering it may take.
    pub deadline: Duration,
}

impl Default for ContextLimits {
    fn default() -> Self {
        Self { budget_tokens: 8000, deadline: Duration::from_secs(2) }
    }
}

/// Facts that are remembered (M-60).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Memory {
    /// Whether facts are learnt after a dispatch.
    pub extract: Extract,
    /// Whether agents are offered the memory as an MCP server.
    pub mcp: bool,
}

/// Whether facts are learnt after a dispatch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Extract {
    /// No.
    #[default]
    Off,
    /// Yes, at the cost of tokens.
    On,
}

/// What is kept of dispatches (M-70).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct History {
    /// How long; `None` is for ever.
    pub keep: Option<Duration>,
    /// How much, in bytes; `None` is no limit.
    pub max_size: Option<u64>,
}

impl Default for History {
    fn default() -> Self {
        Self { keep: Some(Duration::from_secs(90 * 86_400)), max_size: Some(2 << 30) }
    }
}

/// Prices per million tokens (M-06): finite, not negative.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    /// Input tokens.
    pub input: f64,
    /// Output tokens.
    pub output: f64,
    /// Tokens read from the cache; without it a cost with such tokens is unknown.
    pub cache_read: Option<f64>,
    /// Tokens written to the cache; without it a cost with such tokens is unknown.
    pub cache_write: Option<f64>,
}

/// What is read from agents (M-12, M-15, M-22).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Streams {
    /// The longest line, in bytes; at most 1 GiB.
    pub max_line: usize,
    /// How much of stderr is kept, in bytes; at most 1 GiB.
    pub stderr_tail: usize,
    /// Whether processes that an agent left behind are left running.
    pub keep_background: bool,
}

impl Default for Streams {
    fn default() -> Self {
        Self { max_line: 32 << 20, stderr_tail: 64 << 10, keep_background: false }
    }
}
