//! What was asked, and what it has used.

use axum::Json;
use axum::extract::State;
use mia_api::{ConversationId, TaskSummary, UsageReport};
use mia_store::Filter;
use serde::Deserialize;
use utoipa::IntoParams;

use super::refusals::{Invalid, NoRecord};
use crate::extract::Query;
use crate::problem::Failed;
use crate::server::Server;

/// Which tasks are listed.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Which {
    /// The most that are listed, the newest first.
    #[serde(default = "fifty")]
    #[param(default = 50)]
    limit: u32,
    /// Only those that failed or were interrupted.
    #[serde(default)]
    failed: bool,
    /// Only those of that plugin.
    #[param(nullable = false)]
    plugin: Option<String>,
    /// Only those of that conversation.
    #[param(nullable = false)]
    conversation: Option<ConversationId>,
    /// Only those accepted at that time or later, in unix milliseconds.
    #[param(nullable = false)]
    since: Option<i64>,
    /// Only those that have that text in the prompt or the error.
    #[param(nullable = false)]
    grep: Option<String>,
    /// The most characters of each prompt; none means all of it.
    #[param(nullable = false)]
    prompt_chars: Option<u32>,
}

/// From when on usage is counted.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Since {
    /// In unix milliseconds; none is all there is.
    #[param(nullable = false)]
    since: Option<i64>,
}

fn fifty() -> u32 {
    50
}

/// What was asked, the newest first.
#[utoipa::path(
    get,
    path = "/v1/history",
    operation_id = "history",
    tag = "history",
    params(Which),
    responses(
        (status = 200, description = "The tasks.", body = [TaskSummary]),
        Invalid,
        NoRecord,
    ),
)]
pub(super) async fn list(
    State(server): State<Server>,
    Query(which): Query<Which>,
) -> Result<Json<Vec<TaskSummary>>, Failed> {
    let filter = Filter {
        plugin: which.plugin,
        failed: which.failed,
        unfinished: false,
        since: which.since,
        grep: which.grep,
        conversation: which.conversation,
        limit: which.limit,
        prompt_chars: which.prompt_chars,
    };
    Ok(Json(server.core().store().recent(&filter).await?))
}

/// What plugins and models have used.
#[utoipa::path(
    get,
    path = "/v1/usage",
    operation_id = "usage",
    tag = "history",
    params(Since),
    responses(
        (status = 200, description = "One row for each plugin and model.", body = UsageReport),
        Invalid,
        NoRecord,
    ),
)]
pub(super) async fn usage(
    State(server): State<Server>,
    Query(Since { since }): Query<Since>,
) -> Result<Json<UsageReport>, Failed> {
    Ok(Json(server.core().store().usage(since).await?))
}
