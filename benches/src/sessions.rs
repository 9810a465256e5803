//! The record of sessions, in memory.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use mia_api::{ConversationId, TaskId};
use mia_plugin::{SessionKey, SessionRecord, Sessions, SessionsError};

/// Remembers sessions until it is dropped.
#[derive(Debug, Default)]
pub(crate) struct InMemory(Mutex<HashMap<SessionKey, SessionRecord>>);

impl InMemory {
    fn map(&self) -> MutexGuard<'_, HashMap<SessionKey, SessionRecord>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn ready<'a, T: Send + 'a>(value: T) -> BoxFuture<'a, Result<T, SessionsError>> {
    Box::pin(std::future::ready(Ok(value)))
}

impl Sessions for InMemory {
    fn get<'a>(
        &'a self,
        key: &'a SessionKey,
    ) -> BoxFuture<'a, Result<Option<SessionRecord>, SessionsError>> {
        ready(self.map().get(key).cloned())
    }

    fn latest<'a>(
        &'a self,
        plugin: &'a str,
        conversation: &'a ConversationId,
    ) -> BoxFuture<'a, Result<Option<SessionRecord>, SessionsError>> {
        let map = self.map();
        let found = map
            .iter()
            .find(|(key, _)| key.plugin == plugin && key.conversation == *conversation)
            .map(|(_, record)| record.clone());
        ready(found)
    }

    fn put<'a>(
        &'a self,
        key: &'a SessionKey,
        record: &'a SessionRecord,
    ) -> BoxFuture<'a, Result<(), SessionsError>> {
        self.map().insert(key.clone(), record.clone());
        ready(())
    }

    fn remove<'a>(&'a self, key: &'a SessionKey) -> BoxFuture<'a, Result<(), SessionsError>> {
        self.map().remove(key);
        ready(())
    }

    fn remove_all<'a>(
        &'a self,
        plugin: &'a str,
        conversation: &'a ConversationId,
    ) -> BoxFuture<'a, Result<(), SessionsError>> {
        self.map().retain(|key, _| key.plugin != plugin || key.conversation != *conversation);
        ready(())
    }

    fn remove_older<'a>(
        &'a self,
        _plugin: &'a str,
        _age: Duration,
    ) -> BoxFuture<'a, Result<usize, SessionsError>> {
        ready(0)
    }

    fn recap<'a>(
        &'a self,
        _conversation: &'a ConversationId,
        _before: &'a TaskId,
        _held_by: Option<&'a SessionKey>,
    ) -> BoxFuture<'a, Result<Option<String>, SessionsError>> {
        ready(None)
    }
}
