//! What went wrong with a request, as clients are told.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use mia_api::Problem;
use mia_config::EditError;
use mia_core::{AnswerError, NoPlugin, Refused, RegistryError};
use mia_store::{StoreError, StoreErrorKind};

/// A request that failed: the status, and the body that says why.
#[derive(Debug)]
pub(crate) struct Failed {
    status: StatusCode,
    problem: Problem,
}

impl Failed {
    pub(crate) fn new(status: StatusCode, code: &str, message: impl Into<String>) -> Self {
        let exit_code = match status {
            StatusCode::SERVICE_UNAVAILABLE | StatusCode::INSUFFICIENT_STORAGE => 3,
            _ => 2,
        };
        let (code, message) = (code.to_owned(), message.into());
        let problem = Problem { code, message, help: None, command: None, exit_code };
        Self { status, problem }
    }

    /// The request itself is wrong.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_request", message)
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", message)
    }

    pub(crate) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.problem.help = Some(help.into());
        self
    }

    pub(crate) fn with_command(mut self, command: impl Into<String>) -> Self {
        self.problem.command = Some(command.into());
        self
    }

    pub(crate) fn exits(mut self, code: u8) -> Self {
        self.problem.exit_code = code;
        self
    }

    pub(crate) fn with_status(self, status: StatusCode) -> Self {
        Self { status, ..self }
    }

    /// The daemon can't put anything on record now, for that reason.
    pub(crate) fn not_recorded(why: &str) -> Self {
        let message = format!("the prompt could not be put on record: {why}");
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "read_only", message)
    }

    /// Something of ours has failed.
    pub(crate) fn internal(error: &dyn std::fmt::Display) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", format!("{error}"))
            .with_help("this is an error in Mia; please report it")
    }

    /// The record can't be read or written.
    pub(crate) fn of_store(error: &StoreError) -> Self {
        let (status, code) = match (error, error.kind()) {
            (StoreError::UnknownTask { .. }, _) => (StatusCode::NOT_FOUND, "not_found"),
            (StoreError::TaskConflict { .. }, _) => (StatusCode::CONFLICT, "task_conflict"),
            (_, StoreErrorKind::Conflict) => (StatusCode::CONFLICT, error.code()),
            (_, StoreErrorKind::DiskFull) => (StatusCode::INSUFFICIENT_STORAGE, error.code()),
            _ => (StatusCode::SERVICE_UNAVAILABLE, error.code()),
        };
        Self::new(status, code, error.to_string())
    }

    /// What the client is told.
    pub(crate) fn problem(&self) -> &Problem {
        &self.problem
    }
}

impl IntoResponse for Failed {
    fn into_response(self) -> Response {
        (self.status, Json(self.problem)).into_response()
    }
}

impl From<StoreError> for Failed {
    fn from(error: StoreError) -> Self {
        Self::of_store(&error)
    }
}

impl From<RegistryError> for Failed {
    fn from(error: RegistryError) -> Self {
        let failed =
            |message: String| Self::new(StatusCode::UNPROCESSABLE_ENTITY, "no_plugin", message);
        match error {
            RegistryError::Disabled { name, enabled } => {
                let enabled = enabled.join(", ");
                failed(format!("the plugin {name:?} is disabled; enabled: {enabled}"))
                    .with_help("To enable it:")
                    .with_command(format!("config set plugins.{name}.enabled true"))
            }
            RegistryError::Broken(broken) => {
                let hint = broken.hint.clone();
                failed(RegistryError::Broken(broken).to_string()).with_help(hint)
            }
            other => failed(other.to_string()),
        }
    }
}

impl From<NoPlugin> for Failed {
    fn from(error: NoPlugin) -> Self {
        let failed =
            |message: String| Self::new(StatusCode::UNPROCESSABLE_ENTITY, "no_plugin", message);
        match error {
            NoPlugin::Registry(error) => error.into(),
            NoPlugin::NoneInstalled { known } => {
                let mut help = String::from("Mia knows these agents:\n");
                for (name, install) in known {
                    help.push_str(&format!("  {name:<12}  {install}\n"));
                }
                help.push_str("To try Mia without an agent:");
                failed("no coding agent is installed".to_owned())
                    .with_help(help)
                    .with_command("ask --plugin guide \"what is this repository?\"")
                    .exits(3)
            }
            refuses @ NoPlugin::Refuses(_) => failed(refuses.to_string()),
        }
    }
}

impl From<Refused> for Failed {
    fn from(refused: Refused) -> Self {
        let message = refused.to_string();
        match refused {
            Refused::NoPlugin(error) => error.into(),
            Refused::Store(error) => {
                let Self { status, problem } = error.into();
                Self { status, problem: Problem { message, ..problem } }
            }
            Refused::QueueFull { .. } => {
                Self::new(StatusCode::TOO_MANY_REQUESTS, "concurrency_limit", message)
            }
            Refused::Stopping => Self::new(StatusCode::SERVICE_UNAVAILABLE, "stopping", message)
                .with_help("It waits for what it has accepted (`mia tasks`). To interrupt that:")
                .with_command("restart --now"),
            Refused::Empty | Refused::Nul(_) => Self::invalid(message),
            Refused::WorkingDirectory { .. } => {
                Self::new(StatusCode::UNPROCESSABLE_ENTITY, "working_directory", message)
            }
        }
    }
}

impl From<AnswerError> for Failed {
    fn from(error: AnswerError) -> Self {
        let message = error.to_string();
        match error {
            AnswerError::NotWaiting { .. } => {
                Self::new(StatusCode::CONFLICT, "not_waiting", message)
            }
            AnswerError::NoSuchOption { .. } => Self::invalid(message),
        }
    }
}

impl From<EditError> for Failed {
    fn from(error: EditError) -> Self {
        Self::new(StatusCode::CONFLICT, "configuration", format!("can't {error}"))
    }
}
