//! What a plugin is told beside the prompt.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{ConversationId, TaskId};

crate::read::words!(PermissionPolicy, Mode);
crate::read::objects!(Image, Attachment);

/// What the agent may do without asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(remote = "Self", rename_all = "kebab-case")]
pub enum PermissionPolicy {
    /// It may read and search, and change nothing.
    ReadOnly,
    /// It may also change files in its workspace; commands are asked for or refused.
    Edit,
    /// It may do anything.
    Full,
}

/// A text that is no [`PermissionPolicy`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no permission policy: it is read-only, edit or full")]
pub struct UnknownPolicy(String);

impl PermissionPolicy {
    /// The policy as people write it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::Edit => "edit",
            Self::Full => "full",
        }
    }
}

impl FromStr for PermissionPolicy {
    type Err = UnknownPolicy;
    fn from_str(text: &str) -> Result<Self, UnknownPolicy> {
        [Self::ReadOnly, Self::Edit, Self::Full]
            .into_iter()
            .find(|p| p.as_str() == text)
            .ok_or_else(|| UnknownPolicy(text.to_owned()))
    }
}

impl fmt::Display for PermissionPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What kind of answer is wanted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(remote = "Self", rename_all = "snake_case")]
pub enum Mode {
    /// Work on the code in the working directory.
    #[default]
    Coding,
    /// Talk; the working directory is of no matter.
    General,
}

/// A picture for the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct Image {
    /// Its media type: image/png, image/jpeg, image/gif or image/webp.
    pub media_type: String,
    /// Its bytes in base64.
    pub data: String,
    /// Where it came from, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// A file that the caller hands over with the prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct Attachment {
    /// Its path, absolute or as the caller wrote it.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub path: PathBuf,
    /// Its text; none when it is not text or too large, then the agent is only told the path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// How a prompt is to be dispatched (M-04).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DispatchOptions {
    /// The conversation that the prompt belongs to.
    pub conversation_id: ConversationId,
    /// The task.
    pub task_id: TaskId,
    /// The model, in the agent's own words; none means the configured or the agent's default.
    #[serde(default)]
    pub model: Option<String>,
    /// Where the agent works; absolute.
    pub working_directory: PathBuf,
    /// Variables added to the agent's environment; they win over everything else.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// The limit for the whole dispatch in ms; none means the plugin's.
    #[serde(default)]
    pub timeout_ms: Option<u64>,
    /// Coding or general.
    #[serde(default)]
    pub mode: Mode,
    /// Pictures.
    #[serde(default)]
    pub images: Vec<Image>,
    /// Files.
    #[serde(default)]
    pub files: Vec<Attachment>,
    /// True to send the prompt alone.
    #[serde(default)]
    pub skip_context: bool,
    /// What the agent may do; none means the agent's default mode, its questions asked.
    #[serde(default)]
    pub permissions: Option<PermissionPolicy>,
}

impl DispatchOptions {
    /// Options with only what is required.
    #[must_use]
    pub fn new(
        task_id: TaskId,
        conversation_id: ConversationId,
        working_directory: PathBuf,
    ) -> Self {
        Self {
            conversation_id,
            task_id,
            model: None,
            working_directory,
            env: BTreeMap::new(),
            timeout_ms: None,
            mode: Mode::Coding,
            images: Vec::new(),
            files: Vec::new(),
            skip_context: false,
            permissions: None,
        }
    }
}

/// What the agent is told about the work at hand (M-03). Every part may be empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PluginContext {
    /// Facts from memory that matter for this prompt.
    #[serde(default)]
    pub memory_facts: Vec<String>,
    /// The codebase in short: languages, frameworks.
    #[serde(default)]
    pub codebase_context: String,
    /// Branch, recent commits, staged changes.
    #[serde(default)]
    pub git_context: String,
    /// Files, and the recently modified ones.
    #[serde(default)]
    pub workspace_snapshot: String,
    /// The project's instructions.
    #[serde(default)]
    pub project_instructions: String,
    /// Earlier turns in short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation_summary: Option<String>,
}
