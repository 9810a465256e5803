//! Conversations: to see, to rename and to forget them.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use mia_api::{
    Cleaned, Cleanup, ConversationId, ConversationRecord, ConversationSummary, Problem, Rename,
};
use mia_core::Deleted;
use mia_store::ConversationFilter;
use serde::Deserialize;
use utoipa::IntoParams;

use super::refusals::{BadBody, Invalid, NoRecord};
use crate::extract::{Body, MaybeBody, NoQuery, Path, Query};
use crate::problem::Failed;
use crate::server::Server;

/// Which conversations are listed.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Which {
    /// The most that are listed.
    #[serde(default = "fifty")]
    #[param(default = 50)]
    limit: u32,
    /// Only those whose last task was in that folder.
    #[param(nullable = false)]
    cwd: Option<String>,
}

/// How much of a conversation is shown.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct HowMuch {
    /// The most tasks.
    #[serde(default = "fifty")]
    #[param(default = 50)]
    limit: u32,
}

fn fifty() -> u32 {
    50
}

/// The conversations, the last used first.
#[utoipa::path(
    get,
    path = "/v1/conversations",
    operation_id = "list_conversations",
    tag = "conversations",
    params(Which),
    responses(
        (status = 200, description = "The conversations.", body = [ConversationSummary]),
        Invalid,
        NoRecord,
    ),
)]
pub(super) async fn list(
    State(server): State<Server>,
    Query(Which { limit, cwd }): Query<Which>,
) -> Result<Json<Vec<ConversationSummary>>, Failed> {
    let filter = ConversationFilter { limit, cwd: cwd.map(Into::into), ..Default::default() };
    Ok(Json(server.core().store().conversations(&filter).await?))
}

fn unknown(conversation: &ConversationId) -> Failed {
    Failed::not_found(format!("no conversation {conversation} is on record"))
}

/// A conversation with its tasks.
#[utoipa::path(
    get,
    path = "/v1/conversations/{conversation}",
    operation_id = "show_conversation",
    tag = "conversations",
    params(
        (
            "conversation" = ConversationId,
            Path,
            description = "The conversation.",
            example = "release",
        ),
        HowMuch,
    ),
    responses(
        (status = 200, description = "The conversation.", body = ConversationRecord),
        (status = 404, description = "No such conversation is on record.", body = Problem),
        Invalid,
        NoRecord,
    ),
)]
pub(super) async fn show(
    State(server): State<Server>,
    Path(conversation): Path<ConversationId>,
    Query(HowMuch { limit }): Query<HowMuch>,
) -> Result<Json<ConversationRecord>, Failed> {
    let found = server.core().store().conversation(&conversation, limit).await?;
    found.map(Json).ok_or_else(|| unknown(&conversation))
}

/// Gives a conversation a name, or takes it away.
#[utoipa::path(
    patch,
    path = "/v1/conversations/{conversation}",
    operation_id = "rename_conversation",
    tag = "conversations",
    params((
        "conversation" = ConversationId,
        Path,
        description = "The conversation.",
        example = "release",
    )),
    request_body = Rename,
    responses(
        (status = 204, description = "That is its name now."),
        (status = 404, description = "No such conversation is on record.", body = Problem),
        BadBody,
        NoRecord,
    ),
)]
pub(super) async fn rename(
    State(server): State<Server>,
    Path(conversation): Path<ConversationId>,
    _: NoQuery,
    Body(Rename { title }): Body<Rename>,
) -> Result<StatusCode, Failed> {
    if let Some(title) = &title
        && (title.chars().count() > Rename::LONGEST || title.chars().any(char::is_control))
    {
        let longest = Rename::LONGEST;
        let why = format!("a name has at most {longest} characters, and is one line of text");
        return Err(Failed::invalid(why));
    }
    let title = title.map(|title| title.trim().to_owned()).filter(|title| !title.is_empty());
    let core = server.core();
    match core.store().rename_conversation(&conversation, title.as_deref()).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(unknown(&conversation)),
    }
}

/// Forgets a conversation: its tasks, their events and the agents' sessions.
#[utoipa::path(
    delete,
    path = "/v1/conversations/{conversation}",
    operation_id = "delete_conversation",
    tag = "conversations",
    params(("conversation" = ConversationId, Path, description = "The conversation.")),
    responses(
        (status = 204, description = "It is forgotten."),
        (status = 404, description = "No such conversation is on record.", body = Problem),
        (status = 409, description = "Some of its tasks have not ended: `busy`.", body = Problem),
        Invalid,
        NoRecord,
    ),
)]
pub(super) async fn delete(
    State(server): State<Server>,
    Path(conversation): Path<ConversationId>,
    _: NoQuery,
) -> Result<StatusCode, Failed> {
    match server.core().delete_conversation(&conversation).await? {
        Deleted::Done => Ok(StatusCode::NO_CONTENT),
        Deleted::Unknown => Err(unknown(&conversation)),
        Deleted::Busy(tasks) => {
            let tasks: Vec<_> = tasks.iter().map(ToString::to_string).collect();
            let message = format!("the conversation {conversation} has tasks that have not ended");
            Err(Failed::new(StatusCode::CONFLICT, "busy", message)
                .with_help(format!("wait for them, or abort them: {}", tasks.join(", "))))
        }
    }
}

/// Forgets sessions of agents that nobody goes on with.
#[utoipa::path(
    post,
    path = "/v1/cleanup",
    operation_id = "cleanup",
    tag = "conversations",
    request_body = Option<Cleanup>,
    responses(
        (status = 200, description = "What was forgotten.", body = Cleaned),
        BadBody,
    ),
)]
pub(super) async fn cleanup(
    State(server): State<Server>,
    _: NoQuery,
    MaybeBody(Cleanup { max_age_ms }): MaybeBody<Cleanup>,
) -> Result<Json<Cleaned>, Failed> {
    let age = Duration::from_millis(max_age_ms);
    Ok(Json(Cleaned { sessions: server.core().cleanup(age).await }))
}
