//! Which conversation has which session of an agent (M-17).

use std::path::{Path, PathBuf};
use std::time::Duration;

use mia_api::ConversationId;
use serde_json::Value;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use crate::row::{bytes, now, path};
use crate::{Store, StoreError};

/// An agent's session of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    /// The conversation.
    pub conversation_id: ConversationId,
    /// The plugin.
    pub plugin: String,
    /// The folder, for agents that resume only where they began.
    pub cwd: Option<PathBuf>,
    /// The agent's own id.
    pub session_id: String,
    /// What the adapter wants to find again.
    pub state: Value,
}

impl Store {
    /// The session at that place.
    ///
    /// # Errors
    /// What reading can meet.
    pub async fn session(
        &self,
        plugin: &str,
        conversation: &ConversationId,
        cwd: Option<&Path>,
    ) -> Result<Option<Session>, StoreError> {
        let mut reader = self.reader().await?;
        let row = sqlx::query(
            "SELECT * FROM sessions WHERE conversation_id = $1 AND plugin = $2 AND cwd = $3",
        )
        .bind(conversation.as_str())
        .bind(plugin)
        .bind(cwd.map_or(&b""[..], bytes))
        .fetch_optional(&mut *reader)
        .await
        .map_err(|error| self.failed(error))?;
        row.map(|row| self.session_from(&row)).transpose()
    }

    /// The plugin's session of the conversation that was used last, in whichever folder.
    ///
    /// # Errors
    /// What reading can meet.
    pub async fn latest_session(
        &self,
        plugin: &str,
        conversation: &ConversationId,
    ) -> Result<Option<Session>, StoreError> {
        let mut reader = self.reader().await?;
        let row = sqlx::query(
            "SELECT * FROM sessions WHERE conversation_id = $1 AND plugin = $2 \
             ORDER BY used DESC LIMIT 1",
        )
        .bind(conversation.as_str())
        .bind(plugin)
        .fetch_optional(&mut *reader)
        .await
        .map_err(|error| self.failed(error))?;
        row.map(|row| self.session_from(&row)).transpose()
    }

    /// All sessions of a conversation, of whichever plugin and folder (M-72).
    ///
    /// # Errors
    /// What reading can meet.
    pub async fn sessions_of(
        &self,
        conversation: &ConversationId,
    ) -> Result<Vec<Session>, StoreError> {
        let mut reader = self.reader().await?;
        let rows = sqlx::query(
            "SELECT * FROM sessions WHERE conversation_id = $1 ORDER BY plugin, used DESC",
        )
        .bind(conversation.as_str())
        .fetch_all(&mut *reader)
        .await
        .map_err(|error| self.failed(error))?;
        rows.iter().map(|row| self.session_from(row)).collect()
    }

    /// Sets the session at its place, used now. [`Store::finish`] does the same in one step with the
    /// end of the task.
    ///
    /// # Errors
    /// What writing can meet; the session before stays.
    pub async fn put_session(&self, session: &Session) -> Result<(), StoreError> {
        let mut writer = self.writer().await?;
        let mut tx = writer.begin().await?;
        put(self, &mut tx, session).await?;
        tx.commit().await.map_err(|error| self.failed(error))
    }

    /// Forgets the session at that place; without a folder, all of the plugin in the conversation.
    /// Returns how many there were.
    ///
    /// # Errors
    /// What writing can meet; nothing is forgotten.
    pub async fn remove_session(
        &self,
        plugin: &str,
        conversation: &ConversationId,
        cwd: Option<&Path>,
    ) -> Result<u64, StoreError> {
        let mut writer = self.writer().await?;
        let mut tx = writer.begin().await?;
        let done = sqlx::query(
            "DELETE FROM sessions WHERE conversation_id = $1 AND plugin = $2 \
             AND ($3 IS NULL OR cwd = $3)",
        )
        .bind(conversation.as_str())
        .bind(plugin)
        .bind(cwd.map(bytes))
        .execute(&mut *tx)
        .await
        .map_err(|error| self.failed(error))?;
        tx.commit().await.map_err(|error| self.failed(error))?;
        Ok(done.rows_affected())
    }

    /// Forgets sessions that were not used for `age`, of one plugin or of all, but none that a live
    /// conversation refers to (M-72). A conversation is live as long as one of its tasks waits or
    /// runs, or one that is on record was accepted, started or ended within `age`: such a
    /// conversation may go on with any of its agents. Returns how many.
    ///
    /// # Errors
    /// What writing can meet; nothing is forgotten.
    pub async fn remove_older_sessions(
        &self,
        plugin: Option<&str>,
        age: Duration,
    ) -> Result<u64, StoreError> {
        let age = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
        let mut writer = self.writer().await?;
        let mut tx = writer.begin().await?;
        let done = sqlx::query(
            "DELETE FROM sessions WHERE used < $1 AND ($2 IS NULL OR plugin = $2) AND NOT EXISTS \
             (SELECT 1 FROM tasks AS t WHERE t.conversation_id = sessions.conversation_id \
             AND t.status IN ('queued', 'running')) AND NOT EXISTS \
             (SELECT 1 FROM conversations AS c WHERE c.id = sessions.conversation_id \
             AND c.updated_at >= $1)",
        )
        .bind(now().saturating_sub(age))
        .bind(plugin)
        .execute(&mut *tx)
        .await
        .map_err(|error| self.failed(error))?;
        tx.commit().await.map_err(|error| self.failed(error))?;
        Ok(done.rows_affected())
    }

    fn session_from(&self, row: &SqliteRow) -> Result<Session, StoreError> {
        let cwd: Vec<u8> = self.get(row, "cwd")?;
        Ok(Session {
            conversation_id: self.conversation_id(row, "conversation_id")?,
            plugin: self.get(row, "plugin")?,
            cwd: (!cwd.is_empty()).then(|| path(cwd)),
            session_id: self.get(row, "session_id")?,
            state: self.json(self.get(row, "state")?)?,
        })
    }
}

/// Sets a session inside the caller's transaction.
pub(crate) async fn put(
    store: &Store,
    connection: &mut SqliteConnection,
    session: &Session,
) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO sessions (conversation_id, plugin, cwd, session_id, created, used, state) \
         VALUES ($1, $2, $3, $4, $5, $5, $6) ON CONFLICT (conversation_id, plugin, cwd) DO UPDATE SET \
         session_id = excluded.session_id, used = excluded.used, state = excluded.state",
    )
    .bind(session.conversation_id.as_str())
    .bind(&session.plugin)
    .bind(session.cwd.as_deref().map_or(&b""[..], bytes))
    .bind(&session.session_id)
    .bind(now())
    .bind(store.to_json(&session.state)?)
    .execute(connection)
    .await
    .map_err(|error| store.failed(error))?;
    Ok(())
}
