//! The plugin that is checked, and how to make it do things.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use mia_host::Supervisor;

use crate::contract::{CodingPlugin, Environment, PluginConfig};

/// A prompt, and what its answer has to hold.
#[derive(Debug, Clone)]
pub struct Prompt {
    pub(super) text: String,
    pub(super) says: String,
}

impl Prompt {
    /// A prompt whose answer holds `says`.
    pub fn new(text: impl Into<String>, says: impl Into<String>) -> Self {
        Self { text: text.into(), says: says.into() }
    }
}

/// The plugin that is checked, and how to make it do things.
pub struct Subject {
    /// Makes a plugin that was not initialized yet.
    pub make: Box<dyn Fn() -> Arc<dyn CodingPlugin>>,
    /// Starts its programs.
    pub supervisor: Supervisor,
    /// Its settings; the limit of concurrency is set by the suite.
    pub config: PluginConfig,
    /// The caller's environment.
    pub environment: Environment,
    /// Where it works.
    pub cwd: PathBuf,
    /// A prompt that is simply answered.
    pub answer: Prompt,
    /// A prompt that makes it call at least one tool, allowed to do anything.
    pub tool: Option<String>,
    /// A prompt that tells it something; none for a plugin without sessions.
    pub remember: Option<String>,
    /// A prompt that asks for that, in the same conversation.
    pub recall: Prompt,
    /// A prompt that shows something (text, a thought, a tool call or a question) and then is not
    /// over until it is aborted or nobody reads any more. Its questions are never answered.
    pub busy: String,
}

impl fmt::Debug for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subject").field("plugin", &self.config.name).finish_non_exhaustive()
    }
}

impl Subject {
    /// A plugin with the default settings and this process's environment; its prompts are still to
    /// be set.
    pub fn new(
        make: Box<dyn Fn() -> Arc<dyn CodingPlugin>>,
        supervisor: Supervisor,
        cwd: PathBuf,
    ) -> Self {
        let config = PluginConfig::new(make().name());
        let empty = || Prompt::new("", "");
        Self {
            make,
            supervisor,
            config,
            environment: Environment::of_this_process(),
            cwd,
            answer: empty(),
            tool: None,
            remember: None,
            recall: empty(),
            busy: String::new(),
        }
    }
}
