//! A record of sessions for those who ask no agent.

use std::time::Duration;

use futures::future::BoxFuture;
use mia_api::{ConversationId, TaskId};
use mia_plugin::{SessionKey, SessionRecord, Sessions, SessionsError};

/// Remembers nothing: for looking at plugins where the store can't or must not be opened.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoRecord;

fn refused<'a, T: Send + 'a>() -> BoxFuture<'a, Result<T, SessionsError>> {
    Box::pin(async { Err(SessionsError("nothing is recorded here".to_owned())) })
}

impl Sessions for NoRecord {
    fn get<'a>(
        &'a self,
        _key: &'a SessionKey,
    ) -> BoxFuture<'a, Result<Option<SessionRecord>, SessionsError>> {
        refused()
    }

    fn latest<'a>(
        &'a self,
        _plugin: &'a str,
        _conversation: &'a ConversationId,
    ) -> BoxFuture<'a, Result<Option<SessionRecord>, SessionsError>> {
        refused()
    }

    fn put<'a>(
        &'a self,
        _key: &'a SessionKey,
        _record: &'a SessionRecord,
    ) -> BoxFuture<'a, Result<(), SessionsError>> {
        refused()
    }

    fn remove<'a>(&'a self, _key: &'a SessionKey) -> BoxFuture<'a, Result<(), SessionsError>> {
        refused()
    }

    fn remove_all<'a>(
        &'a self,
        _plugin: &'a str,
        _conversation: &'a ConversationId,
    ) -> BoxFuture<'a, Result<(), SessionsError>> {
        refused()
    }

    fn remove_older<'a>(
        &'a self,
        _plugin: &'a str,
        _age: Duration,
    ) -> BoxFuture<'a, Result<usize, SessionsError>> {
        refused()
    }

    fn recap<'a>(
        &'a self,
        _conversation: &'a ConversationId,
        _before: &'a TaskId,
        _held_by: Option<&'a SessionKey>,
    ) -> BoxFuture<'a, Result<Option<String>, SessionsError>> {
        refused()
    }
}
