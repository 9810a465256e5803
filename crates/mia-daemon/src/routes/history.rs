//! What was asked, and what it has used.

use axum::Json;
use axum::extract::State;
use mia_api::{ConversationId, TaskSummary, UsageReport};
use mia_store::Filter;
use serde::Deserialize;

use crate::extract::Query;
use crate::problem::Failed;
use crate::server::Server;

/// Which tasks are listed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Which {
    /// The most that are listed, the newest first.
    #[serde(default = "fifty")]
    limit: u32,
    /// Only those that failed or were interrupted.
    #[serde(default)]
    failed: bool,
    /// Only those of that plugin.
    plugin: Option<String>,
    /// Only those of that conversation.
    conversation: Option<ConversationId>,
    /// Only those accepted at that time or later, in unix milliseconds.
    since: Option<i64>,
    /// Only those that have that text in the prompt or the error.
    grep: Option<String>,
    /// The most characters of each prompt; none means all of it.
    prompt_chars: Option<u32>,
}

/// From when on usage is counted.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Since {
    /// In unix milliseconds; none is all there is.
    since: Option<i64>,
}

fn fifty() -> u32 {
    50
}

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

pub(super) async fn usage(
    State(server): State<Server>,
    Query(Since { since }): Query<Since>,
) -> Result<Json<UsageReport>, Failed> {
    Ok(Json(server.core().store().usage(since).await?))
}
