//! Conversations: to see, to rename and to forget them.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use mia_api::{Cleaned, Cleanup, ConversationId, ConversationRecord, ConversationSummary, Rename};
use mia_core::Deleted;
use mia_store::ConversationFilter;
use serde::Deserialize;

use crate::extract::{Body, MaybeBody, Path, Query};
use crate::problem::Failed;
use crate::server::Server;

/// The longest name of a conversation, in characters.
const TITLE: usize = 200;

/// Which conversations are listed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Which {
    /// The most that are listed.
    #[serde(default = "fifty")]
    limit: u32,
    /// Only those whose last task was in that folder.
    cwd: Option<String>,
}

/// How much of a conversation is shown.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HowMuch {
    /// The most tasks.
    #[serde(default = "fifty")]
    limit: u32,
}

fn fifty() -> u32 {
    50
}

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

pub(super) async fn show(
    State(server): State<Server>,
    Path(conversation): Path<ConversationId>,
    Query(HowMuch { limit }): Query<HowMuch>,
) -> Result<Json<ConversationRecord>, Failed> {
    let found = server.core().store().conversation(&conversation, limit).await?;
    found.map(Json).ok_or_else(|| unknown(&conversation))
}

pub(super) async fn rename(
    State(server): State<Server>,
    Path(conversation): Path<ConversationId>,
    Body(Rename { title }): Body<Rename>,
) -> Result<StatusCode, Failed> {
    let title = title.map(|title| title.trim().to_owned()).filter(|title| !title.is_empty());
    if let Some(title) = &title
        && (title.chars().count() > TITLE || title.chars().any(char::is_control))
    {
        let why = format!("a name has at most {TITLE} characters, and is one line of text");
        return Err(Failed::invalid(why));
    }
    let core = server.core();
    match core.store().rename_conversation(&conversation, title.as_deref()).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(unknown(&conversation)),
    }
}

pub(super) async fn delete(
    State(server): State<Server>,
    Path(conversation): Path<ConversationId>,
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

pub(super) async fn cleanup(
    State(server): State<Server>,
    MaybeBody(Cleanup { max_age_ms }): MaybeBody<Cleanup>,
) -> Result<Json<Cleaned>, Failed> {
    let age = Duration::from_millis(max_age_ms);
    Ok(Json(Cleaned { sessions: server.core().cleanup(age).await }))
}
