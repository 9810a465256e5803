//! A record of sessions that lasts as long as its test.

use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use futures::future::BoxFuture;
use mia_api::{ConversationId, TaskId};
use mia_plugin::{SessionKey, SessionRecord, Sessions, SessionsError};

/// Keeps sessions in memory, and what was done to them.
#[derive(Debug, Default)]
pub(crate) struct Memory(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    records: Vec<(SessionKey, SessionRecord)>,
    log: Vec<String>,
    recap: Option<String>,
    missed: Option<String>,
    broken: bool,
    writes: Writes,
}

/// What becomes of writes.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Writes {
    /// They happen.
    #[default]
    Happen,
    /// They fail.
    Fail,
    /// The next one never ends, the others happen.
    FirstHangs,
    /// They never end.
    Hang,
}

impl Memory {
    fn state(&self) -> Result<MutexGuard<'_, State>, SessionsError> {
        let state = self.0.lock().unwrap();
        if state.broken { Err(SessionsError("the disk is full".to_owned())) } else { Ok(state) }
    }

    /// A write, as far as writes work.
    fn write<'a>(
        &self,
        change: impl FnOnce(&mut State),
    ) -> BoxFuture<'a, Result<(), SessionsError>> {
        let mut state = match self.state() {
            Ok(state) => state,
            Err(error) => return done(Err(error)),
        };
        match state.writes {
            Writes::Happen => {}
            Writes::Fail => return done(Err(SessionsError("the disk is full".to_owned()))),
            Writes::FirstHangs => {
                state.writes = Writes::Happen;
                state.log.push("hung".to_owned());
                return Box::pin(std::future::pending());
            }
            Writes::Hang => return Box::pin(std::future::pending()),
        }
        change(&mut state);
        done(Ok(()))
    }

    /// What becomes of writes from now on.
    pub(crate) fn set_writes(&self, writes: Writes) {
        self.0.lock().unwrap().writes = writes;
    }

    /// What every recap says from now on.
    pub(crate) fn set_recap(&self, recap: &str) {
        self.0.lock().unwrap().recap = Some(recap.to_owned());
    }

    /// What its session has missed.
    pub(crate) fn set_missed(&self, missed: &str) {
        self.0.lock().unwrap().missed = Some(missed.to_owned());
    }

    /// Nothing works any more.
    pub(crate) fn break_it(&self) {
        self.0.lock().unwrap().broken = true;
    }

    /// The ids on record.
    pub(crate) fn ids(&self) -> Vec<String> {
        let state = self.0.lock().unwrap();
        state.records.iter().map(|(_, record)| record.session_id.clone()).collect()
    }

    /// Writes so far: `put ID`, `remove`.
    pub(crate) fn log(&self) -> Vec<String> {
        self.0.lock().unwrap().log.clone()
    }
}

fn done<'a, T: Send + 'a>(value: T) -> BoxFuture<'a, T> {
    Box::pin(async move { value })
}

impl Sessions for Memory {
    fn get<'a>(
        &'a self,
        key: &'a SessionKey,
    ) -> BoxFuture<'a, Result<Option<SessionRecord>, SessionsError>> {
        done(self.state().map(|state| {
            state.records.iter().find(|(k, _)| k == key).map(|(_, record)| record.clone())
        }))
    }

    fn latest<'a>(
        &'a self,
        plugin: &'a str,
        conversation: &'a ConversationId,
    ) -> BoxFuture<'a, Result<Option<SessionRecord>, SessionsError>> {
        done(self.state().map(|state| {
            let mine = |k: &SessionKey| k.plugin == plugin && &k.conversation == conversation;
            state.records.iter().rev().find(|(k, _)| mine(k)).map(|(_, record)| record.clone())
        }))
    }

    fn put<'a>(
        &'a self,
        key: &'a SessionKey,
        record: &'a SessionRecord,
    ) -> BoxFuture<'a, Result<(), SessionsError>> {
        self.write(|state| {
            state.log.push(format!("put {}", record.session_id));
            state.records.retain(|(k, _)| k != key);
            state.records.push((key.clone(), record.clone()));
        })
    }

    fn remove<'a>(&'a self, key: &'a SessionKey) -> BoxFuture<'a, Result<(), SessionsError>> {
        self.write(|state| {
            state.log.push("remove".to_owned());
            state.records.retain(|(k, _)| k != key);
        })
    }

    fn remove_all<'a>(
        &'a self,
        plugin: &'a str,
        conversation: &'a ConversationId,
    ) -> BoxFuture<'a, Result<(), SessionsError>> {
        done(self.state().map(|mut state| {
            state.records.retain(|(k, _)| k.plugin != plugin || &k.conversation != conversation);
        }))
    }

    fn remove_older<'a>(
        &'a self,
        plugin: &'a str,
        _age: Duration,
    ) -> BoxFuture<'a, Result<usize, SessionsError>> {
        done(self.state().map(|mut state| {
            let before = state.records.len();
            state.records.retain(|(k, _)| k.plugin != plugin);
            before - state.records.len()
        }))
    }

    fn recap<'a>(
        &'a self,
        _conversation: &'a ConversationId,
        _before: &'a TaskId,
        held_by: Option<&'a SessionKey>,
    ) -> BoxFuture<'a, Result<Option<String>, SessionsError>> {
        done(self.state().map(|state| match held_by {
            None => state.recap.clone(),
            Some(_) => state.missed.clone(),
        }))
    }
}
