//! What happens in a task, in order.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::{
    ContextUsage, ConversationId, DispatchResult, PermissionRequest, PermissionResolution,
    PluginError, TaskId, ToolCallInfo, ToolContent, ToolResultInfo, ToolStatus, Usage,
};

/// One step of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct PlanEntry {
    /// The step.
    pub content: String,
    /// `high`, `medium` or `low`.
    pub priority: String,
    /// `pending`, `in_progress` or `completed`.
    pub status: String,
}

/// What a notice is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum NoticeKind {
    /// The agent's session was lost; a fresh one was told what had been said (M-18).
    ContextReset,
    /// Another plugin is tried (M-34).
    Fallback,
    /// The agent tries again by itself.
    Retry,
    /// The agent printed something that is no event (M-16).
    Noise,
    /// Something was not allowed.
    Denied,
    /// Variables were kept from the agent (M-13).
    WithheldEnv,
    /// Something that the agent had left running was ended (M-22).
    Leftover,
    /// The task waits for its turn.
    Waiting,
    /// The record of the task is incomplete.
    History,
    /// Events are missing here for whoever reads this: they are neither on record nor in memory.
    Lost,
    /// Anything else worth a line.
    Warning,
}

/// The kinds of events. The kind is the member `type` in JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum EventBody {
    /// The prompt is on record and will be answered.
    Accepted {
        /// Its conversation.
        conversation_id: ConversationId,
        /// How many tasks of the conversation are before it; 0 when it runs at once.
        queue_place: u64,
    },
    /// A plugin is asked (M-35).
    Attempt {
        /// The plugin.
        plugin: String,
        /// Counted from 0.
        index: u32,
    },
    /// Text of the answer.
    Token {
        /// The text.
        text: String,
        /// The tool call of the sub-agent that speaks; such text is not part of the answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", schema(nullable = false))]
        parent_id: Option<String>,
        /// The original ACP update, where these members don't say all of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", schema(nullable = false))]
        raw: Option<Value>,
    },
    /// Text of the model's thinking.
    Thought {
        /// The text.
        text: String,
        /// The tool call of the sub-agent that thinks.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", schema(nullable = false))]
        parent_id: Option<String>,
        /// The original ACP update, where these members don't say all of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", schema(nullable = false))]
        raw: Option<Value>,
    },
    /// A tool is called.
    ToolCall(ToolCallInfo),
    /// A tool call goes on.
    ToolUpdate {
        /// The call.
        id: String,
        /// How far it is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", schema(nullable = false))]
        status: Option<ToolStatus>,
        /// What it has produced so far.
        #[serde(default)]
        #[cfg_attr(feature = "schema", schema(required))]
        content: Vec<ToolContent>,
        /// The original ACP update, where these members don't say all of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", schema(nullable = false))]
        raw: Option<Value>,
    },
    /// A tool has ended.
    ToolResult(ToolResultInfo),
    /// The agent's plan; each one replaces the one before.
    Plan {
        /// Its steps.
        entries: Vec<PlanEntry>,
        /// The original ACP update, where these members don't say all of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", schema(nullable = false))]
        raw: Option<Value>,
    },
    /// Tokens and money of this dispatch so far; each one replaces the one before.
    Usage {
        /// Tokens.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", schema(nullable = false))]
        tokens: Option<Usage>,
        /// How full the context window is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", schema(nullable = false))]
        context: Option<ContextUsage>,
        /// US dollars.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", schema(nullable = false))]
        cost_usd: Option<f64>,
        /// The original ACP update, where these members don't say all of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", schema(nullable = false))]
        raw: Option<Value>,
    },
    /// The agent asks before it acts.
    Permission(PermissionRequest),
    /// Its question was answered.
    PermissionResolved(PermissionResolution),
    /// Something a person should know.
    Notice {
        /// What it is about.
        kind: NoticeKind,
        /// One line.
        message: String,
    },
    /// Something that has no kind here, as the agent gave it.
    Other {
        /// The original.
        raw: Value,
    },
    /// The task ended well. Nothing follows.
    Complete {
        /// The result.
        result: Box<DispatchResult>,
    },
    /// The task failed. Nothing follows.
    Error {
        /// The error.
        error: Box<PluginError>,
    },
}

impl EventBody {
    /// Text of the answer.
    #[must_use]
    pub fn token(text: impl Into<String>) -> Self {
        Self::Token { text: text.into(), parent_id: None, raw: None }
    }

    /// Text of the model's thinking.
    #[must_use]
    pub fn thought(text: impl Into<String>) -> Self {
        Self::Thought { text: text.into(), parent_id: None, raw: None }
    }

    /// A notice.
    #[must_use]
    pub fn notice(kind: NoticeKind, message: impl Into<String>) -> Self {
        Self::Notice { kind, message: message.into() }
    }

    /// The value of the member `type`.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Accepted { .. } => "accepted",
            Self::Attempt { .. } => "attempt",
            Self::Token { .. } => "token",
            Self::Thought { .. } => "thought",
            Self::ToolCall(_) => "tool_call",
            Self::ToolUpdate { .. } => "tool_update",
            Self::ToolResult(_) => "tool_result",
            Self::Plan { .. } => "plan",
            Self::Usage { .. } => "usage",
            Self::Permission(_) => "permission",
            Self::PermissionResolved(_) => "permission_resolved",
            Self::Notice { .. } => "notice",
            Self::Other { .. } => "other",
            Self::Complete { .. } => "complete",
            Self::Error { .. } => "error",
        }
    }

    /// True for the two that end a task (M-08).
    #[must_use]
    pub const fn is_terminal(&self) -> bool {
        matches!(self, Self::Complete { .. } | Self::Error { .. })
    }

    /// True when a person can see it: after one of these a dispatch never falls back (M-34).
    #[must_use]
    pub const fn is_visible(&self) -> bool {
        matches!(
            self,
            Self::Token { .. } | Self::Thought { .. } | Self::ToolCall(_) | Self::Permission(_)
        )
    }

    /// Joins a neighbouring text of the same kind and speaker onto this one and returns none, or
    /// gives the other back unchanged.
    pub fn join(&mut self, next: Self) -> Option<Self> {
        match (self, next) {
            (
                Self::Token { text, parent_id, raw: None },
                Self::Token { text: more, parent_id: speaker, raw: None },
            )
            | (
                Self::Thought { text, parent_id, raw: None },
                Self::Thought { text: more, parent_id: speaker, raw: None },
            ) if *parent_id == speaker => {
                text.push_str(&more);
                None
            }
            (_, next) => Some(next),
        }
    }
}

/// One event: a JSON object with the body's members, `task_id`, `seq` and, for text of the answer
/// and of thinking, `offset`.
///
/// Neighbouring text events may be joined on the wire and in the store; a resume point is `seq`
/// with `offset`. The text is identical, its chunking is not.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// The task.
    pub task_id: TaskId,
    /// Counted from 1, growing by one within the task, as first sent.
    pub seq: u64,
    /// For `token` and `thought`: how many bytes of that kind the attempt had said before.
    pub offset: Option<u64>,
    /// What happened.
    pub body: EventBody,
}

/// The header beside the body's own members. Serde's `flatten` is used only to write; reading goes
/// through a map, for good messages.
#[derive(Serialize)]
struct Written<'a> {
    #[serde(flatten)]
    body: &'a EventBody,
    task_id: &'a TaskId,
    seq: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<u64>,
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { task_id, seq, offset, body } = self;
        Written { body, task_id, seq: *seq, offset: *offset }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut map = Map::deserialize(deserializer)?;
        let mut take =
            |name: &'static str| map.remove(name).ok_or_else(|| D::Error::missing_field(name));
        let task_id = serde_json::from_value(take("task_id")?).map_err(D::Error::custom)?;
        let seq = serde_json::from_value(take("seq")?).map_err(D::Error::custom)?;
        let offset = match map.remove("offset") {
            Some(value) => serde_json::from_value(value).map_err(D::Error::custom)?,
            None => None,
        };
        let body = EventBody::deserialize(Value::Object(map)).map_err(D::Error::custom)?;
        Ok(Self { task_id, seq, offset, body })
    }
}
