//! The record of sessions, kept in the store (M-17).

use std::time::Duration;

use futures::future::BoxFuture;
use mia_api::{ConversationId, TaskId};
use mia_plugin::{SessionKey, SessionRecord, Sessions, SessionsError};
use mia_store::{Exchange, Store, StoreError, TranscriptLimits};

/// [`Sessions`] over the store.
#[derive(Debug, Clone)]
pub(crate) struct StoredSessions {
    pub(crate) store: Store,
}

impl Sessions for StoredSessions {
    fn get<'a>(
        &'a self,
        key: &'a SessionKey,
    ) -> BoxFuture<'a, Result<Option<SessionRecord>, SessionsError>> {
        Box::pin(async move {
            let SessionKey { plugin, conversation, cwd } = key;
            let found = self.store.session(plugin, conversation, cwd.as_deref()).await;
            Ok(found.map_err(failed)?.map(record))
        })
    }

    fn latest<'a>(
        &'a self,
        plugin: &'a str,
        conversation: &'a ConversationId,
    ) -> BoxFuture<'a, Result<Option<SessionRecord>, SessionsError>> {
        Box::pin(async move {
            let found = self.store.latest_session(plugin, conversation).await;
            Ok(found.map_err(failed)?.map(record))
        })
    }

    fn put<'a>(
        &'a self,
        key: &'a SessionKey,
        record: &'a SessionRecord,
    ) -> BoxFuture<'a, Result<(), SessionsError>> {
        Box::pin(async move {
            let session = mia_store::Session {
                conversation_id: key.conversation.clone(),
                plugin: key.plugin.clone(),
                cwd: key.cwd.clone(),
                session_id: record.session_id.clone(),
                state: record.state.clone(),
            };
            self.store.put_session(&session).await.map_err(failed)
        })
    }

    fn remove<'a>(&'a self, key: &'a SessionKey) -> BoxFuture<'a, Result<(), SessionsError>> {
        Box::pin(async move {
            let SessionKey { plugin, conversation, cwd } = key;
            let removed = self.store.remove_session(plugin, conversation, cwd.as_deref()).await;
            removed.map(drop).map_err(failed)
        })
    }

    fn remove_all<'a>(
        &'a self,
        plugin: &'a str,
        conversation: &'a ConversationId,
    ) -> BoxFuture<'a, Result<(), SessionsError>> {
        Box::pin(async move {
            let removed = self.store.remove_session(plugin, conversation, None).await;
            removed.map(drop).map_err(failed)
        })
    }

    fn remove_older<'a>(
        &'a self,
        plugin: &'a str,
        age: Duration,
    ) -> BoxFuture<'a, Result<usize, SessionsError>> {
        Box::pin(async move {
            let removed = self.store.remove_older_sessions(Some(plugin), age).await;
            removed.map(|count| usize::try_from(count).unwrap_or(usize::MAX)).map_err(failed)
        })
    }

    fn recap<'a>(
        &'a self,
        conversation: &'a ConversationId,
        before: &'a TaskId,
        held_by: Option<&'a SessionKey>,
    ) -> BoxFuture<'a, Result<Option<String>, SessionsError>> {
        Box::pin(async move {
            let said = self
                .store
                .transcript(
                    conversation,
                    before,
                    held_by.map(|key| (key.plugin.as_str(), key.cwd.as_deref())),
                    TranscriptLimits::default(),
                )
                .await
                .map_err(failed)?;
            Ok(recap(&said))
        })
    }
}

fn record(session: mia_store::Session) -> SessionRecord {
    SessionRecord { session_id: session.session_id, state: session.state }
}

fn failed(error: StoreError) -> SessionsError {
    SessionsError(error.to_string())
}

/// Prompts and last words, oldest first.
fn recap(said: &[Exchange]) -> Option<String> {
    if said.is_empty() {
        return None;
    }
    let mut text = String::new();
    for turn in said {
        let cut = |cut| if cut { " (shortened)" } else { "" };
        let answer = turn.answer.trim_end();
        text.push_str(&format!(
            "They asked{}:\n{}\nThe answer was{}:\n{}\n\n",
            cut(turn.prompt_cut),
            turn.prompt.trim_end(),
            cut(turn.answer_cut),
            if answer.is_empty() { "(none)" } else { answer },
        ));
    }
    Some(text)
}
