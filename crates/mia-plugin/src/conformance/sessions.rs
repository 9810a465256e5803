//! A record of sessions for tests.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use mia_api::{ConversationId, TaskId};

use crate::sessions::{SessionKey, SessionRecord, Sessions, SessionsError};

/// Keeps sessions in memory, in the order in which they were last written.
#[derive(Debug, Default)]
pub struct InMemorySessions(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    kept: Vec<(SessionKey, SessionRecord, Instant)>,
    recap: Option<String>,
}

impl InMemorySessions {
    /// What every recap says from now on.
    pub fn set_recap(&self, recap: &str) {
        self.state().recap = Some(recap.to_owned());
    }

    /// The ids of all sessions, the one written last at the end.
    #[must_use]
    pub fn ids(&self) -> Vec<String> {
        let ids = |state: &State| state.kept.iter().map(|(_, r, _)| r.session_id.clone()).collect();
        ids(&self.state())
    }

    /// Each change is one call of a `Vec`, so a panic leaves nothing half done.
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes all but those, and returns how many.
    fn retain(&self, keep: impl Fn(&SessionKey, Instant) -> bool) -> usize {
        let mut state = self.state();
        let before = state.kept.len();
        state.kept.retain(|(key, _, written)| keep(key, *written));
        before - state.kept.len()
    }
}

fn done<'a, T: Send + 'a>(value: T) -> BoxFuture<'a, Result<T, SessionsError>> {
    Box::pin(async move { Ok(value) })
}

impl Sessions for InMemorySessions {
    fn get<'a>(
        &'a self,
        key: &'a SessionKey,
    ) -> BoxFuture<'a, Result<Option<SessionRecord>, SessionsError>> {
        let state = self.state();
        let found = state.kept.iter().find(|(k, ..)| k == key);
        done(found.map(|(_, record, _)| record.clone()))
    }

    fn latest<'a>(
        &'a self,
        plugin: &'a str,
        conversation: &'a ConversationId,
    ) -> BoxFuture<'a, Result<Option<SessionRecord>, SessionsError>> {
        let state = self.state();
        let mine = |key: &SessionKey| key.plugin == plugin && key.conversation == *conversation;
        let found = state.kept.iter().rfind(|(key, ..)| mine(key));
        done(found.map(|(_, record, _)| record.clone()))
    }

    fn put<'a>(
        &'a self,
        key: &'a SessionKey,
        record: &'a SessionRecord,
    ) -> BoxFuture<'a, Result<(), SessionsError>> {
        let mut state = self.state();
        state.kept.retain(|(k, ..)| k != key);
        state.kept.push((key.clone(), record.clone(), Instant::now()));
        done(())
    }

    fn remove<'a>(&'a self, key: &'a SessionKey) -> BoxFuture<'a, Result<(), SessionsError>> {
        self.retain(|k, _| k != key);
        done(())
    }

    fn remove_all<'a>(
        &'a self,
        plugin: &'a str,
        conversation: &'a ConversationId,
    ) -> BoxFuture<'a, Result<(), SessionsError>> {
        self.retain(|key, _| key.plugin != plugin || key.conversation != *conversation);
        done(())
    }

    fn remove_older<'a>(
        &'a self,
        plugin: &'a str,
        age: Duration,
    ) -> BoxFuture<'a, Result<usize, SessionsError>> {
        done(self.retain(|key, written| key.plugin != plugin || written.elapsed() < age))
    }

    fn recap<'a>(
        &'a self,
        _conversation: &'a ConversationId,
        _before: &'a TaskId,
        held_by: Option<&'a SessionKey>,
    ) -> BoxFuture<'a, Result<Option<String>, SessionsError>> {
        // Nobody else answers here.
        done(self.state().recap.clone().filter(|_| held_by.is_none()))
    }
}
