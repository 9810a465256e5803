//! Requests and answers of the daemon's HTTP API. Everything else that it sends is elsewhere in
//! this crate: events, records, plugins.

use serde::{Deserialize, Serialize};

use crate::{
    Attachment, ConversationId, DispatchOptions, DispatchResult, Image, Mode, OsText,
    PermissionPolicy, PluginError, TaskId, TaskSummary,
};

crate::read::objects!(
    EnvVar,
    DispatchBody,
    PermissionAnswer,
    Rename,
    Switch,
    Surroundings,
    Cleanup,
    Stop,
);

/// A variable of a caller's environment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct EnvVar {
    /// Its name.
    pub name: OsText,
    /// Its value.
    pub value: OsText,
}

/// A prompt to dispatch: the body of `POST /v1/tasks`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct DispatchBody {
    /// The prompt, as the person wrote it: not blank, and without a NUL character.
    #[cfg_attr(feature = "schema", schema(min_length = 1))]
    pub prompt: String,
    /// Where the agent works; absolute.
    pub working_directory: OsText,
    /// The task's id, the caller's idempotency key; none means a fresh one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    /// The conversation to begin or to go on with; none means a fresh one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<ConversationId>,
    /// True to go on with the last conversation of the working directory.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub continue_last: bool,
    /// The plugin; none means the active one, or the first installed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plugin: Option<String>,
    /// Whether the configured fallbacks are asked when it fails; none means that they are, unless a
    /// plugin is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<bool>,
    /// The model, in the agent's own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The limit for the whole dispatch, in ms.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::read::whole_or_none"
    )]
    pub timeout_ms: Option<u64>,
    /// Coding or general.
    #[serde(default)]
    pub mode: Mode,
    /// Pictures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    /// Files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<Attachment>,
    /// True to send the prompt alone.
    #[serde(default)]
    pub skip_context: bool,
    /// What the agent may do; none means the agent's default mode, its questions asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions: Option<PermissionPolicy>,
    /// The caller's environment: what the agent inherits of it is decided as M-13 says. It is never
    /// written anywhere. None means the daemon's own, which is nearly empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<Vec<EnvVar>>,
    /// Variables added to the agent's environment; they win over everything else.
    #[serde(default, skip_serializing_if = "std::collections::BTreeMap::is_empty")]
    pub env: std::collections::BTreeMap<String, String>,
    /// True when the caller answers questions of the agent; else they are refused at once, as long
    /// as nobody else attends.
    #[serde(default)]
    pub attended: bool,
    /// True to abort the task when the connection of this request closes before its end. Only with
    /// `Accept: text/event-stream`.
    #[serde(default)]
    pub attached: bool,
}

impl DispatchBody {
    /// The body for these options; its other members are at their defaults.
    #[must_use]
    pub fn of(prompt: String, options: DispatchOptions) -> Self {
        Self {
            prompt,
            working_directory: options.working_directory.into(),
            task_id: Some(options.task_id),
            conversation_id: Some(options.conversation_id),
            continue_last: false,
            plugin: None,
            fallback: None,
            model: options.model,
            timeout_ms: options.timeout_ms,
            mode: options.mode,
            images: options.images,
            files: options.files,
            skip_context: options.skip_context,
            permissions: options.permissions,
            environment: None,
            env: options.env,
            attended: false,
            attached: false,
        }
    }
}

/// The answer to a prompt that is on record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct DispatchAccepted {
    /// The task.
    pub task_id: TaskId,
    /// Its conversation.
    pub conversation_id: ConversationId,
    /// True when the same task had been accepted before.
    pub already: bool,
}

/// What went wrong with a request: the body of every answer with a status of 400 and above.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Problem {
    /// A stable word for programs: `not_found`, `invalid_request`, `store_disk_full`, …
    pub code: String,
    /// What happened, to what: a lower-case fragment.
    pub message: String,
    /// What to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub help: Option<String>,
    /// The arguments of a `mia` command that helps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub command: Option<String>,
    /// The status that a command which meets it exits with: 1, 2 or 3, as docs/cli.md says.
    pub exit_code: u8,
}

/// The answer to an agent's question: the body of `POST /v1/tasks/ID/permissions/PID`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct PermissionAnswer {
    /// The chosen option; null refuses. It can't be left out, so that nothing is refused by mistake.
    #[serde(deserialize_with = "Option::deserialize")]
    #[cfg_attr(feature = "schema", schema(required))]
    pub option_id: Option<String>,
}

/// The new name of a conversation: the body of `PATCH /v1/conversations/ID`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct Rename {
    /// The name; null takes it away. It can't be left out, so that no name is lost by mistake.
    #[serde(deserialize_with = "Option::deserialize")]
    #[cfg_attr(
        feature = "schema",
        schema(required, max_length = 200, pattern = r"^[^\u0000-\u001f\u007f-\u009f]*$")
    )]
    pub title: Option<String>,
}

impl Rename {
    /// The longest name, in characters. It is one line: there is no control character in it.
    pub const LONGEST: usize = 200;
}

/// The plugin to switch to: the body of `PUT /v1/active-plugin`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct Switch {
    /// Its name.
    pub name: String,
    /// The caller's environment, to see whether its agent is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<Vec<EnvVar>>,
}

/// What came of a switch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Switched {
    /// The configuration file that says so now.
    pub file: OsText,
    /// Why the plugin can't answer yet.
    #[cfg_attr(feature = "schema", schema(required))]
    pub problem: Option<String>,
    /// What to do about that.
    #[cfg_attr(feature = "schema", schema(required))]
    pub hint: Option<String>,
}

/// A caller's environment: the body of requests that look at agents.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct Surroundings {
    /// The variables; none means the daemon's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<Vec<EnvVar>>,
}

/// What came of a test of a plugin: a result or an error.
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tested {
    /// What it answered.
    #[cfg_attr(feature = "schema", schema(required))]
    pub result: Option<DispatchResult>,
    /// Why it did not.
    #[cfg_attr(feature = "schema", schema(required))]
    pub error: Option<PluginError>,
}

/// Which sessions of agents are to be forgotten: the body of `POST /v1/cleanup`.
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct Cleanup {
    /// Those that were not used for that long, in ms (M-72).
    #[serde(default = "month", deserialize_with = "crate::read::whole")]
    pub max_age_ms: u64,
}

fn month() -> u64 {
    30 * 24 * 60 * 60 * 1000
}

impl Default for Cleanup {
    fn default() -> Self {
        Self { max_age_ms: month() }
    }
}

/// What was forgotten.
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cleaned {
    /// How many sessions of agents.
    pub sessions: u64,
}

/// How the daemon is to stop: the body of `POST /v1/stop`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct Stop {
    /// True to interrupt what runs (M-39); else it is waited for.
    #[serde(default)]
    pub now: bool,
}

/// The daemon.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct DaemonStatus {
    /// Its process.
    pub pid: u32,
    /// Its version.
    pub version: String,
    /// Its socket.
    pub socket: OsText,
    /// How long it runs, in ms.
    pub uptime_ms: u64,
    /// True when it takes no prompts any more and waits for what runs.
    pub stopping: bool,
    /// Why nothing can be put on record, if that is so: prompts are refused then.
    #[cfg_attr(feature = "schema", schema(required))]
    pub read_only: Option<String>,
    /// What is wrong with the configuration file; the last good configuration is in force then.
    #[cfg_attr(feature = "schema", schema(required))]
    pub configuration: Option<String>,
    /// Plugins that are left alone for a while after failures in a row, by name.
    pub resting: Vec<Resting>,
    /// What waits and runs, the newest first.
    pub tasks: Vec<TaskSummary>,
}

/// A plugin that is left alone for a while.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Resting {
    /// Its name.
    pub plugin: String,
    /// For how much longer, in ms. 0 while one prompt tries whether it is well again.
    pub left_ms: u64,
}

/// Tasks that were asked to end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Aborted {
    /// The tasks, those that had not begun first.
    pub tasks: Vec<TaskId>,
}

/// A place in the stream of all events where some are missing: its reader was too slow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "gap")]
pub struct Gap {
    /// How many are missing. Each task's own events are still to be had.
    pub missed: u64,
}
