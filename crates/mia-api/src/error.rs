//! How a dispatch fails.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Attempt, Usage};

/// The page's error codes, and `ABORTED` (M-07).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ErrorCode {
    /// A time limit ran out: in total, or no output (phase `stall`).
    Timeout,
    /// The agent could not be started.
    SpawnFailure,
    /// The agent ended without a result.
    ProcessExit,
    /// The agent printed a line over the limit.
    BufferOverflow,
    /// Too many tasks run, or wait.
    ConcurrencyLimit,
    /// The model's provider refused or failed.
    ProviderError,
    /// The agent's session could not be used.
    SessionError,
    /// Anything else.
    Unknown,
    /// Somebody aborted the task, or it was interrupted.
    Aborted,
}

impl ErrorCode {
    /// All codes, in the page's order.
    pub const ALL: [Self; 9] = [
        Self::Timeout,
        Self::SpawnFailure,
        Self::ProcessExit,
        Self::BufferOverflow,
        Self::ConcurrencyLimit,
        Self::ProviderError,
        Self::SessionError,
        Self::Unknown,
        Self::Aborted,
    ];

    /// The code as it is written in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Timeout => "TIMEOUT",
            Self::SpawnFailure => "SPAWN_FAILURE",
            Self::ProcessExit => "PROCESS_EXIT",
            Self::BufferOverflow => "BUFFER_OVERFLOW",
            Self::ConcurrencyLimit => "CONCURRENCY_LIMIT",
            Self::ProviderError => "PROVIDER_ERROR",
            Self::SessionError => "SESSION_ERROR",
            Self::Unknown => "UNKNOWN",
            Self::Aborted => "ABORTED",
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Where in its life the dispatch failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Before the agent ran.
    Start,
    /// While it worked.
    Stream,
    /// No output for too long (M-19).
    Stall,
    /// A tool or a permission was open for too long (M-19).
    Tool,
    /// The whole dispatch took too long (M-19).
    Total,
    /// While it was waiting for its turn.
    Queue,
}

/// What lies behind an error, finer than its code, so that a program can decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Cause {
    /// The agent's program was not found.
    NotInstalled,
    /// The agent's program was found and can't be run.
    NotExecutable,
    /// The working directory is missing or can't be entered.
    WorkingDirectory,
    /// The agent needs a login or a key.
    Authentication,
    /// The provider asks for patience (429).
    RateLimited,
    /// The provider is overloaded (503, 529).
    Overloaded,
    /// The provider failed (other 5xx).
    Server,
    /// The provider refused the request (400 and the like).
    InvalidRequest,
    /// The prompt or the conversation is too long for the model.
    TooLong,
    /// The provider can't be reached, or the stream was cut.
    Connection,
    /// The agent ended without any result.
    NoResult,
    /// The session is unknown to the agent.
    StaleSession,
    /// The session is in use by somebody else.
    SessionBusy,
    /// Somebody asked for the end.
    Requested,
    /// Mia itself was stopped or killed in the middle.
    Interrupted,
    /// The record of the conversation could not be read or written.
    Store,
    /// The plugin's code failed.
    Panic,
    /// It failed several times in a row and is left alone for a while (M-36).
    BreakerOpen,
}

/// What had been said before the failure (M-24).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Partial {
    /// The text so far.
    pub content: String,
    /// Tokens so far, where the agent tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub usage: Option<Usage>,
    /// What it had cost so far, where the agent tells, in US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub cost_usd: Option<f64>,
    /// The agent's session, where it can be resumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub session_id: Option<String>,
}

/// The error of a dispatch: the page's `PluginError` and what we add to it (M-07).
///
/// `Display` is a lower-case fragment that fits after "failed to answer: ".
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct PluginError {
    /// The kind.
    pub code: ErrorCode,
    /// The plugin that failed.
    pub plugin_name: String,
    /// What happened, to what.
    pub message: String,
    /// More of it, perhaps long: the provider's body, the paths that were searched.
    #[cfg_attr(feature = "schema", schema(required))]
    pub detail: Option<String>,
    /// When it happened.
    #[cfg_attr(feature = "schema", schema(required))]
    pub phase: Option<Phase>,
    /// The finer kind.
    #[cfg_attr(feature = "schema", schema(required))]
    pub cause: Option<Cause>,
    /// The agent's exit status; null when it did not exit or was killed.
    #[cfg_attr(feature = "schema", schema(required))]
    pub exit_code: Option<i32>,
    /// The signal that ended the agent.
    #[cfg_attr(feature = "schema", schema(required))]
    pub signal: Option<i32>,
    /// The last of what the agent wrote to stderr.
    #[cfg_attr(feature = "schema", schema(required))]
    pub stderr_tail: Option<String>,
    /// How long the provider asks to wait, in ms.
    #[cfg_attr(feature = "schema", schema(required))]
    pub retry_after_ms: Option<u64>,
    /// What to do.
    #[cfg_attr(feature = "schema", schema(required))]
    pub hint: Option<String>,
    /// What had been said.
    #[cfg_attr(feature = "schema", schema(required))]
    pub partial: Option<Box<Partial>>,
    /// All plugins that were asked, where there were several (M-35).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<Attempt>,
}

impl PluginError {
    /// An error with only its required members.
    #[must_use]
    pub fn new(
        code: ErrorCode,
        plugin_name: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            code,
            plugin_name: plugin_name.into(),
            message: message.into(),
            detail: None,
            phase: None,
            cause: None,
            exit_code: None,
            signal: None,
            stderr_tail: None,
            retry_after_ms: None,
            hint: None,
            partial: None,
            attempts: Vec::new(),
        }
    }

    /// The same with a cause.
    #[must_use]
    pub fn with_cause(mut self, cause: Cause) -> Self {
        self.cause = Some(cause);
        self
    }

    /// The same with a detail.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// The same with a hint.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same with a phase.
    #[must_use]
    pub fn with_phase(mut self, phase: Phase) -> Self {
        self.phase = Some(phase);
        self
    }

    /// True when the same dispatch may succeed if it is tried again later, unchanged.
    #[must_use]
    pub fn retryable(&self) -> bool {
        match self.code {
            ErrorCode::Timeout | ErrorCode::ConcurrencyLimit => true,
            ErrorCode::ProviderError => matches!(
                self.cause,
                Some(Cause::RateLimited | Cause::Overloaded | Cause::Server | Cause::Connection)
            ),
            _ => false,
        }
    }

    /// The exit status of a command that ends with this error: 3 when nothing could start, 130 when
    /// this client aborted it, else 1.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match (self.code, self.cause) {
            (ErrorCode::SpawnFailure, _) => 3,
            // The agent can't do what was asked for, and was not started.
            (_, Some(Cause::InvalidRequest | Cause::TooLong))
                if self.phase == Some(Phase::Start) =>
            {
                2
            }
            (ErrorCode::Aborted, Some(Cause::Requested)) => 130,
            _ => 1,
        }
    }
}

impl fmt::Display for PluginError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for PluginError {}
