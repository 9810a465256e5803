//! How a dispatch ends well.

use serde::{Deserialize, Serialize};

use crate::{ConversationId, PluginError, TaskId, ToolCallInfo, Usage};

/// Why the agent stopped, in ACP's words.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It had said all.
    #[default]
    EndTurn,
    /// The model's output limit was reached.
    MaxTokens,
    /// The agent's limit of model requests was reached.
    MaxTurnRequests,
    /// The model refused.
    Refusal,
    /// It was cancelled.
    Cancelled,
}

/// One plugin's try at a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Attempt {
    /// The plugin.
    pub plugin: String,
    /// Why it failed; none for the one that answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false, no_recursion))]
    pub error: Option<Box<PluginError>>,
}

/// The success of a dispatch: the page's `PluginDispatchResult` and what we add to it (M-06).
///
/// `content` is all text of the main agent, in order; what sub-agents said is not in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct DispatchResult {
    /// The whole answer.
    pub content: String,
    /// Tokens of this dispatch, where the agent tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub usage: Option<Usage>,
    /// The agent's own session id, for the next turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub session_id: Option<String>,
    /// Every tool call made.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(required))]
    pub tool_calls: Vec<ToolCallInfo>,
    /// From the first attempt to the end, in ms.
    pub duration_ms: u64,
    /// The task.
    pub task_id: TaskId,
    /// Its conversation.
    pub conversation_id: ConversationId,
    /// The plugin that answered.
    pub plugin: String,
    /// The model that answered, where the agent tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub model: Option<String>,
    /// What it cost in US dollars: as the agent said, or by configured prices, else unknown; never
    /// guessed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub cost_usd: Option<f64>,
    /// Why the agent stopped.
    pub stop_reason: StopReason,
    /// Every try, in order.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(required))]
    pub attempts: Vec<Attempt>,
    /// Files that tools of the agent say they changed, as it named them, sorted.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(required))]
    pub files_changed: Vec<String>,
    /// True when the agent's session was lost and a fresh one was told what had been said (M-18).
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(required))]
    pub context_reset: bool,
    /// What went not quite right.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(required))]
    pub warnings: Vec<String>,
}

impl DispatchResult {
    /// An answer with nothing else known about it. The dispatcher fills in what it knows better:
    /// the ids, the plugin's name, the time and the attempts.
    #[must_use]
    pub fn new(
        task_id: TaskId,
        conversation_id: ConversationId,
        plugin: impl Into<String>,
        content: impl Into<String>,
    ) -> Self {
        Self {
            content: content.into(),
            usage: None,
            session_id: None,
            tool_calls: Vec::new(),
            duration_ms: 0,
            task_id,
            conversation_id,
            plugin: plugin.into(),
            model: None,
            cost_usd: None,
            stop_reason: StopReason::EndTurn,
            attempts: Vec::new(),
            files_changed: Vec::new(),
            context_reset: false,
            warnings: Vec::new(),
        }
    }
}
