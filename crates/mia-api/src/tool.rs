//! Tool calls and their results.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a tool does, in ACP's words. A client picks an icon or a rule by it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ToolKind {
    /// Reads files or data.
    Read,
    /// Changes files.
    Edit,
    /// Removes files.
    Delete,
    /// Moves or renames files.
    Move,
    /// Searches.
    Search,
    /// Runs commands.
    Execute,
    /// Reasons or plans.
    Think,
    /// Gets something from outside.
    Fetch,
    /// Changes the agent's mode.
    SwitchMode,
    /// Anything else.
    #[default]
    Other,
}

/// A place that a tool works on.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Location {
    /// The file, as the agent named it.
    pub path: String,
    /// The line, counted as the agent counts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub line: Option<u32>,
}

/// A tool call (M-05).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ToolCallInfo {
    /// The agent's id of the call; the result carries the same (M-09).
    pub id: String,
    /// The call of the sub-agent that made this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub parent_id: Option<String>,
    /// The tool's name as the agent knows it.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// What the tool does.
    pub kind: ToolKind,
    /// The tool's arguments.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(required))]
    pub input: Value,
    /// Files that it works on.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(required))]
    pub locations: Vec<Location>,
    /// The original ACP update, where these members don't say all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub raw: Option<Value>,
}

/// How far a tool call is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ToolStatus {
    /// Not yet running: its input still streams, or it waits for a permission.
    #[default]
    Pending,
    /// Running.
    InProgress,
    /// Ended well.
    Completed,
    /// Ended badly, or was not allowed.
    Failed,
}

/// Something that a tool produced.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToolContent {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// A changed file.
    Diff {
        /// The file.
        path: String,
        /// Its text before; absent for a new file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", schema(nullable = false))]
        old_text: Option<String>,
        /// Its text after.
        new_text: String,
    },
    /// A terminal of the client.
    Terminal {
        /// Its id.
        terminal_id: String,
    },
    /// Anything else, as the agent gave it.
    Other {
        /// The original content block.
        raw: Value,
    },
}

/// A tool's result, paired with its call by `id` (M-09).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ToolResultInfo {
    /// The id of the call.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// What it printed or returned, as text.
    pub output: String,
    /// True when the tool failed or was not allowed.
    pub is_error: bool,
    /// True when `output` is only the beginning.
    pub truncated: bool,
    /// From call to result, in ms.
    pub duration_ms: u64,
}
