//! Which conversation has which session of an agent (M-17).

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use futures::future::BoxFuture;
use mia_api::{ConversationId, TaskId};
use serde_json::Value;

/// Why the record could not be read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SessionsError(pub String);

/// A session's place in the record.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SessionKey {
    /// The plugin.
    pub plugin: String,
    /// The conversation.
    pub conversation: ConversationId,
    /// The working directory, for agents that resume only where they began.
    pub cwd: Option<PathBuf>,
}

/// A session of an agent.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionRecord {
    /// The agent's own id.
    pub session_id: String,
    /// What the adapter wants to find again in the next turn, for example counters that the agent
    /// reports cumulatively.
    pub state: Value,
}

/// The record of sessions. Mia keeps it in its store; a test keeps it in memory.
///
/// A write has happened when its future is ready, and survives a kill of the process then.
pub trait Sessions: Send + Sync + fmt::Debug {
    /// The session at that place.
    ///
    /// # Errors
    /// When the record can't be read.
    fn get<'a>(
        &'a self,
        key: &'a SessionKey,
    ) -> BoxFuture<'a, Result<Option<SessionRecord>, SessionsError>>;

    /// Any session of the plugin in the conversation, the one used last.
    ///
    /// # Errors
    /// When the record can't be read.
    fn latest<'a>(
        &'a self,
        plugin: &'a str,
        conversation: &'a ConversationId,
    ) -> BoxFuture<'a, Result<Option<SessionRecord>, SessionsError>>;

    /// Sets the session at that place.
    ///
    /// # Errors
    /// When the record can't be written.
    fn put<'a>(
        &'a self,
        key: &'a SessionKey,
        record: &'a SessionRecord,
    ) -> BoxFuture<'a, Result<(), SessionsError>>;

    /// Forgets the session at that place.
    ///
    /// # Errors
    /// When the record can't be written.
    fn remove<'a>(&'a self, key: &'a SessionKey) -> BoxFuture<'a, Result<(), SessionsError>>;

    /// Forgets all sessions of the plugin in the conversation.
    ///
    /// # Errors
    /// When the record can't be written.
    fn remove_all<'a>(
        &'a self,
        plugin: &'a str,
        conversation: &'a ConversationId,
    ) -> BoxFuture<'a, Result<(), SessionsError>>;

    /// Forgets the plugin's sessions that were not used for that long. Returns how many.
    ///
    /// # Errors
    /// When the record can't be written; then nothing was removed.
    fn remove_older<'a>(
        &'a self,
        plugin: &'a str,
        age: Duration,
    ) -> BoxFuture<'a, Result<usize, SessionsError>>;

    /// What was said in the conversation before that task and the session at `held_by` does not
    /// hold: prompts and last words, the oldest cut first. Without a session that is all; with one
    /// it is what other plugins have answered since its own last turn. None when there is nothing.
    ///
    /// # Errors
    /// When the record can't be read.
    fn recap<'a>(
        &'a self,
        conversation: &'a ConversationId,
        before: &'a TaskId,
        held_by: Option<&'a SessionKey>,
    ) -> BoxFuture<'a, Result<Option<String>, SessionsError>>;
}
