//! Conversations: what was said in one, and which was last.

use std::path::Path;

use futures::TryStreamExt;
use mia_api::{ConversationId, TaskId, TaskStatus};
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use crate::row::{bytes, head, tail_from, unsigned};
use crate::{Store, StoreError};

/// How much of what was said is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TranscriptLimits {
    /// The most turns; the newest are taken.
    pub turns: u32,
    /// The most bytes of each prompt, from its beginning.
    pub prompt: usize,
    /// The most bytes of each answer, from its end.
    pub answer: usize,
}

/// What a fresh agent is told of a conversation: enough to go on, and little against its window.
impl Default for TranscriptLimits {
    fn default() -> Self {
        Self { turns: 20, prompt: 2048, answer: 2048 }
    }
}

/// A turn in short.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchange {
    /// The task.
    pub task_id: TaskId,
    /// The plugin that answered.
    pub plugin: Option<String>,
    /// How it ended.
    pub status: TaskStatus,
    /// The prompt, or its beginning.
    pub prompt: String,
    /// True when `prompt` is not all of it.
    pub prompt_cut: bool,
    /// The last words of the answer, also of one that failed.
    pub answer: String,
    /// True when `answer` is not all of it.
    pub answer_cut: bool,
}

impl Store {
    /// What was said in a conversation before that task, the oldest first: ended turns only (M-18).
    /// With `since`, only what came after the last turn of that plugin, in that folder where one is
    /// given: what its own session does not hold.
    ///
    /// # Errors
    /// What reading can meet. A conversation or task that is not on record gives nothing.
    pub async fn transcript(
        &self,
        conversation: &ConversationId,
        before: &TaskId,
        since: Option<(&str, Option<&Path>)>,
        limits: TranscriptLimits,
    ) -> Result<Vec<Exchange>, StoreError> {
        let mut reader = self.reader().await?;
        let rows = sqlx::query(
            "SELECT place, id, plugin, status, SUBSTR(prompt, 1, $3) AS prompt FROM tasks \
             WHERE conversation_id = $1 AND place < (SELECT place FROM tasks WHERE id = $2) \
             AND status NOT IN ('queued', 'running') AND ($5 IS NULL OR place > COALESCE((\
             SELECT MAX(t.place) FROM tasks AS t WHERE t.conversation_id = $1 AND t.plugin = $5 \
             AND ($6 IS NULL OR t.cwd = $6) \
             AND t.place < (SELECT place FROM tasks WHERE id = $2)), 0)) \
             ORDER BY place DESC LIMIT $4",
        )
        .bind(conversation.as_str())
        .bind(before.as_str())
        // One character more than fits shows that there is more.
        .bind(i64::try_from(limits.prompt).unwrap_or(i64::MAX).saturating_add(1))
        .bind(i64::from(limits.turns))
        .bind(since.map(|(plugin, _)| plugin))
        .bind(since.and_then(|(_, cwd)| cwd).map(bytes))
        .fetch_all(&mut *reader)
        .await
        .map_err(|error| self.failed(error))?;
        let mut turns = Vec::with_capacity(rows.len());
        for row in rows.iter().rev() {
            let asked: &str = self.get(row, "prompt")?;
            let prompt = head(asked, limits.prompt).to_owned();
            let place = self.get(row, "place")?;
            let (answer, answer_cut) = self.last_words(&mut reader, place, limits.answer).await?;
            turns.push(Exchange {
                task_id: self.task_id(row, "id")?,
                plugin: self.get(row, "plugin")?,
                status: self.status(row)?,
                prompt_cut: prompt.len() < asked.len(),
                prompt,
                answer,
                answer_cut,
            });
        }
        Ok(turns)
    }

    /// The end of what the agent said in the last attempt of a task.
    async fn last_words(
        &self,
        connection: &mut SqliteConnection,
        place: i64,
        most: usize,
    ) -> Result<(String, bool), StoreError> {
        let mut pieces: Vec<String> = Vec::new();
        let mut bytes = 0;
        {
            let mut rows = sqlx::query(
                "SELECT text FROM events WHERE task = $1 AND kind = 'token' AND parent_id IS NULL \
                 AND attempt = (SELECT attempt FROM events WHERE task = $1 ORDER BY seq DESC LIMIT 1) \
                 ORDER BY seq DESC",
            )
            .bind(place)
            .fetch(&mut *connection);
            while bytes <= most
                && let Some(row) = rows.try_next().await.map_err(|error| self.failed(error))?
            {
                let text: String = self.get(&row, "text")?;
                bytes += text.len();
                pieces.push(text);
            }
        }
        let mut said: String = pieces.into_iter().rev().collect();
        if said.is_empty() {
            // A plugin may tell its answer only in its result.
            let row = sqlx::query("SELECT result FROM tasks WHERE place = $1")
                .bind(place)
                .fetch_one(&mut *connection)
                .await
                .map_err(|error| self.failed(error))?;
            if let Some(kept) = self.get::<Option<&str>>(&row, "result")? {
                said = self.result(connection, place, kept).await?.content;
            }
        }
        let cut = said.len().saturating_sub(most);
        Ok((tail_from(&said, cut).to_owned(), cut > 0))
    }

    /// The conversation that was used last, in that folder or anywhere.
    ///
    /// # Errors
    /// What reading can meet.
    pub async fn last_conversation(
        &self,
        cwd: Option<&Path>,
    ) -> Result<Option<ConversationId>, StoreError> {
        let mut reader = self.reader().await?;
        let row = match cwd {
            Some(cwd) => sqlx::query(
                "SELECT conversation_id FROM tasks WHERE cwd = $1 ORDER BY place DESC LIMIT 1",
            )
            .bind(bytes(cwd).to_owned()),
            None => sqlx::query("SELECT conversation_id FROM tasks ORDER BY place DESC LIMIT 1"),
        }
        .fetch_optional(&mut *reader)
        .await
        .map_err(|error| self.failed(error))?;
        row.map(|row| self.conversation_id(&row, "conversation_id")).transpose()
    }

    /// How many tasks of a conversation are on record.
    ///
    /// # Errors
    /// What reading can meet.
    pub async fn turns(&self, conversation: &ConversationId) -> Result<u64, StoreError> {
        let mut reader = self.reader().await?;
        self.count_turns(&mut reader, conversation).await
    }

    /// The same in a transaction.
    pub(crate) async fn count_turns(
        &self,
        connection: &mut SqliteConnection,
        conversation: &ConversationId,
    ) -> Result<u64, StoreError> {
        sqlx::query("SELECT COUNT(*) FROM tasks WHERE conversation_id = $1")
            .bind(conversation.as_str())
            .fetch_one(connection)
            .await
            .and_then(|row| row.try_get(0))
            .map(unsigned)
            .map_err(|error| self.failed(error))
    }
}
