//! Why a child was not started or was ended, as the error of its dispatch.

use std::time::Duration;

use mia_api::{Cause, ErrorCode, Phase, PluginError};
use mia_host::{SpawnError, SupervisorLost};

/// Why a child was ended before it had ended by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    /// Somebody asked for it.
    Aborted,
    /// A limit of time ran out.
    Expired(Phase, Duration),
    /// A line was too long.
    Overflow,
    /// Nobody reads the events any more.
    Unread,
    /// The supervisor was killed.
    Lost(SupervisorLost),
}

/// The error for a child that was ended.
pub(super) fn cut_error(plugin: &str, program: &str, max_line: usize, cut: Cut) -> PluginError {
    let error = |code, message: String| PluginError::new(code, plugin, message);
    match cut {
        Cut::Aborted => error(ErrorCode::Aborted, "the task was aborted".to_owned())
            .with_cause(Cause::Requested),
        Cut::Unread => error(
            ErrorCode::Aborted,
            "the task was ended, for nobody reads its events any more".to_owned(),
        )
        .with_cause(Cause::Interrupted),
        Cut::Overflow => error(
            ErrorCode::BufferOverflow,
            format!("{program} printed a line of more than {max_line} bytes"),
        )
        .with_hint("raise streams.max_line in the configuration if such lines are to be expected"),
        Cut::Expired(phase, limit) => {
            // What is left of a limit is rarely a round number.
            let limit = (limit.as_secs_f64() * 10.0).round() / 10.0;
            let own = |key: &str| format!("plugins.{plugin}.{key} is the limit");
            let (message, hint) = match phase {
                Phase::Stall => {
                    (format!("{program} was silent for {limit} s"), own("stall_timeout"))
                }
                Phase::Tool => (
                    format!(
                        "{program} was silent for {limit} s while a tool or a question was open"
                    ),
                    own("tool_timeout"),
                ),
                _ => (
                    format!("{program} had not answered after {limit} s"),
                    format!(
                        "the limit is that of this prompt (--timeout), or plugins.{plugin}.timeout"
                    ),
                ),
            };
            error(ErrorCode::Timeout, message).with_phase(phase).with_hint(hint)
        }
        Cut::Lost(lost) => error(ErrorCode::ProcessExit, format!("could not {lost}"))
            .with_hint("something killed mia's supervisor process; try again"),
    }
}

/// The error for a child that could not be started (M-10).
pub(super) fn spawn_failure(plugin: &str, install: &str, error: &SpawnError) -> PluginError {
    let again = || {
        if install.is_empty() {
            format!("install it again, or set plugins.{plugin}.binary")
        } else {
            format!("install it again with: {install}")
        }
    };
    let (cause, hint) = match error {
        SpawnError::NotFound { .. } => (Some(Cause::NotInstalled), again()),
        SpawnError::InterpreterNotFound { .. } => (
            Some(Cause::NotInstalled),
            "install the interpreter that its first line names, or put it on the PATH".to_owned(),
        ),
        SpawnError::PermissionDenied { .. }
        | SpawnError::IsDirectory { .. }
        | SpawnError::NotExecutableFormat { .. } => (Some(Cause::NotExecutable), again()),
        SpawnError::CwdNotFound { .. }
        | SpawnError::CwdNotADirectory { .. }
        | SpawnError::CwdPermissionDenied { .. } => (
            Some(Cause::WorkingDirectory),
            "choose a working directory that exists and may be entered".to_owned(),
        ),
        SpawnError::NulByte { .. } | SpawnError::InvalidVariableName { .. } => {
            (None, format!("correct args and env of plugins.{plugin} and of the call"))
        }
        SpawnError::ArgumentListTooLong { .. } => {
            (None, "shorten the arguments, or the environment that mia was started with".to_owned())
        }
        SpawnError::TooManyFiles | SpawnError::TooManyProcesses | SpawnError::Pipes(_) => {
            (None, "let fewer tasks run at once, or raise the system's limit".to_owned())
        }
        SpawnError::Supervisor(_) => (None, "try again".to_owned()),
        SpawnError::Other { .. } => (None, "try to run it by hand".to_owned()),
    };
    let mut failure =
        PluginError::new(ErrorCode::SpawnFailure, plugin, format!("could not {error}"))
            .with_phase(Phase::Start)
            .with_hint(hint);
    failure.cause = cause;
    failure
}
