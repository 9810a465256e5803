//! What is on record of tasks (M-70).

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{
    Cause, ConversationId, DispatchResult, ErrorCode, OsText, PluginError, TaskId, ToolCallInfo,
    ToolResultInfo, Usage,
};

/// How far a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// On record, waiting for its turn.
    Queued,
    /// It has the conversation's lock.
    Running,
    /// It ended with a result.
    Completed,
    /// It ended with an error.
    Failed,
    /// Its process died, or was stopped at once, before its end (M-39).
    Interrupted,
}

impl TaskStatus {
    /// The status as it is written.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
        }
    }

    /// True when nothing more happens to the task.
    #[must_use]
    pub const fn is_ended(self) -> bool {
        !matches!(self, Self::Queued | Self::Running)
    }
}

impl fmt::Display for TaskStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A task in a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct TaskSummary {
    /// The task.
    pub task_id: TaskId,
    /// Its conversation.
    pub conversation_id: ConversationId,
    /// The prompt, or its beginning.
    pub prompt: String,
    /// The plugin that answered, or was asked for.
    #[cfg_attr(feature = "schema", schema(required))]
    pub plugin: Option<String>,
    /// How far it is.
    pub status: TaskStatus,
    /// Why it failed.
    #[cfg_attr(feature = "schema", schema(required))]
    pub error: Option<ErrorSummary>,
    /// When it was accepted, in unix milliseconds.
    pub created_at: i64,
    /// When it started, in unix milliseconds.
    #[cfg_attr(feature = "schema", schema(required))]
    pub started_at: Option<i64>,
    /// How long it took, in ms; unknown for an interrupted one.
    #[cfg_attr(feature = "schema", schema(required))]
    pub duration_ms: Option<u64>,
    /// What it cost in US dollars, where that is known.
    #[cfg_attr(feature = "schema", schema(required))]
    pub cost_usd: Option<f64>,
    /// Its tokens, where they are known.
    #[cfg_attr(feature = "schema", schema(required))]
    pub usage: Option<Usage>,
}

/// Why a task in a list failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ErrorSummary {
    /// The kind.
    pub code: ErrorCode,
    /// The finer kind.
    #[cfg_attr(feature = "schema", schema(required))]
    pub cause: Option<Cause>,
    /// What happened, or its beginning.
    #[cfg_attr(feature = "schema", schema(required))]
    pub message: Option<String>,
}

/// A task in full.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct TaskRecord {
    /// What a list says of it, with the whole prompt.
    pub summary: TaskSummary,
    /// The model that answered, or was asked for.
    #[cfg_attr(feature = "schema", schema(required))]
    pub model: Option<String>,
    /// Its working directory.
    pub cwd: OsText,
    /// When it ended, or was found interrupted, in unix milliseconds.
    #[cfg_attr(feature = "schema", schema(required))]
    pub ended_at: Option<i64>,
    /// Its attempts, in order.
    pub attempts: Vec<AttemptRecord>,
    /// Its tool calls, in order of their start.
    pub tools: Vec<ToolRecord>,
    /// The result.
    #[cfg_attr(feature = "schema", schema(required))]
    pub result: Option<DispatchResult>,
    /// The error.
    #[cfg_attr(feature = "schema", schema(required))]
    pub error: Option<PluginError>,
}

/// One plugin's try at a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct AttemptRecord {
    /// Counted from 0.
    pub index: u32,
    /// The plugin.
    pub plugin: String,
    /// When it began, in unix milliseconds.
    pub started_at: i64,
    /// When it ended, in unix milliseconds.
    #[cfg_attr(feature = "schema", schema(required))]
    pub ended_at: Option<i64>,
    /// Why it failed.
    #[cfg_attr(feature = "schema", schema(required))]
    pub error: Option<PluginError>,
}

/// A tool call on record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ToolRecord {
    /// The call, as the agent told of it last.
    pub call: ToolCallInfo,
    /// Its result; none when the task ended before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub result: Option<ToolResultInfo>,
    /// When it was called, in unix milliseconds; as exact as batches are long.
    pub started_at: i64,
    /// How long it took, in ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub duration_ms: Option<u64>,
}

/// A conversation in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ConversationSummary {
    /// The conversation.
    pub conversation_id: ConversationId,
    /// What a person calls it; none means its first prompt says best what it is about.
    #[cfg_attr(feature = "schema", schema(required))]
    pub title: Option<String>,
    /// The beginning of its first prompt.
    pub first_prompt: String,
    /// How many tasks it has.
    pub tasks: u64,
    /// How many of them wait or run.
    pub unfinished: u64,
    /// The plugin of its last task.
    #[cfg_attr(feature = "schema", schema(required))]
    pub plugin: Option<String>,
    /// The working directory of its last task.
    pub cwd: OsText,
    /// When it began, in unix milliseconds.
    pub created_at: i64,
    /// When its last task was accepted or ended, in unix milliseconds.
    pub updated_at: i64,
}

/// A conversation with its tasks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ConversationRecord {
    /// What a list says of it.
    pub summary: ConversationSummary,
    /// Its tasks, the newest first, and at most as many as were asked for.
    pub tasks: Vec<TaskSummary>,
}

/// What plugins and models have used in some time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct UsageReport {
    /// From when on, in unix milliseconds; none is all there is on record.
    #[cfg_attr(feature = "schema", schema(required))]
    pub since: Option<i64>,
    /// One row for each plugin and model, those with the most tokens first.
    pub rows: Vec<UsageRow>,
}

/// What one model has used through one plugin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct UsageRow {
    /// The plugin; none for tasks that no plugin has answered.
    #[cfg_attr(feature = "schema", schema(required))]
    pub plugin: Option<String>,
    /// The model, where it is known.
    #[cfg_attr(feature = "schema", schema(required))]
    pub model: Option<String>,
    /// How many tasks ended, well or not.
    pub tasks: u64,
    /// How many of them failed or were interrupted.
    pub failed: u64,
    /// The sum of the tokens that are known.
    pub usage: Usage,
    /// How many tasks told no tokens.
    pub tokens_unknown: u64,
    /// The sum of the costs that are known, in US dollars; none when none is.
    #[cfg_attr(feature = "schema", schema(required))]
    pub cost_usd: Option<f64>,
    /// How many tasks have no known cost.
    pub cost_unknown: u64,
    /// How long they took together, in ms.
    pub duration_ms: u64,
}
