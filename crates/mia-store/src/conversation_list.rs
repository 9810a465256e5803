//! Conversations as a person sees them: a list, one with its tasks, and what it is called.

use std::path::PathBuf;

use mia_api::{ConversationId, ConversationRecord, ConversationSummary};
use sqlx::sqlite::SqliteRow;
use sqlx::{QueryBuilder, Sqlite};

use crate::history::contains;
use crate::row::{bytes, path, unsigned};
use crate::{Filter, Store, StoreError};

/// Which conversations to list. The default is the newest 50.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversationFilter {
    /// Only those with a task in that folder.
    pub cwd: Option<PathBuf>,
    /// Only those that have that text in the title or in a prompt; upper and lower case of ASCII
    /// letters are the same.
    pub text: Option<String>,
    /// The most that are listed.
    pub limit: u32,
}

impl Default for ConversationFilter {
    fn default() -> Self {
        Self { cwd: None, text: None, limit: 50 }
    }
}

/// The most characters of a prompt in a summary.
const PROMPT_CHARS: u32 = 400;

/// A [`ConversationSummary`]; the clauses after it name the conversations `c`.
const SUMMARY: &str = "SELECT c.id, c.title, c.created_at, c.updated_at, \
    (SELECT SUBSTR(t.prompt, 1, 400) FROM tasks AS t WHERE t.conversation_id = c.id \
     ORDER BY t.place LIMIT 1) AS first_prompt, \
    (SELECT COUNT(*) FROM tasks AS t WHERE t.conversation_id = c.id) AS tasks, \
    (SELECT COUNT(*) FROM tasks AS t WHERE t.conversation_id = c.id \
     AND t.status IN ('queued', 'running')) AS unfinished, \
    l.plugin, l.cwd FROM conversations AS c JOIN tasks AS l ON l.place = \
    (SELECT MAX(t.place) FROM tasks AS t WHERE t.conversation_id = c.id)";

impl Store {
    /// The conversations that fit, those used last first.
    ///
    /// # Errors
    /// What reading can meet.
    pub async fn conversations(
        &self,
        filter: &ConversationFilter,
    ) -> Result<Vec<ConversationSummary>, StoreError> {
        let mut query = QueryBuilder::<Sqlite>::new(SUMMARY);
        query.push(" WHERE TRUE");
        if let Some(cwd) = &filter.cwd {
            query.push(" AND EXISTS (SELECT 1 FROM tasks AS t WHERE t.conversation_id = c.id");
            query.push(" AND t.cwd = ").push_bind(bytes(cwd).to_vec()).push(")");
        }
        if let Some(text) = &filter.text {
            query.push(" AND (");
            contains(&mut query, "c.title", text);
            query.push(" OR EXISTS (SELECT 1 FROM tasks AS t WHERE t.conversation_id = c.id AND ");
            contains(&mut query, "t.prompt", text);
            query.push("))");
        }
        query.push(" ORDER BY c.updated_at DESC LIMIT ").push_bind(i64::from(filter.limit));
        let mut reader = self.reader().await?;
        let rows =
            query.build().fetch_all(&mut *reader).await.map_err(|error| self.failed(error))?;
        rows.iter().map(|row| self.conversation_summary(row)).collect()
    }

    /// A conversation and its newest tasks, at most `tasks_limit` of them, with the beginnings of
    /// their prompts; none when it is not on record.
    ///
    /// # Errors
    /// What reading can meet.
    pub async fn conversation(
        &self,
        conversation: &ConversationId,
        tasks_limit: u32,
    ) -> Result<Option<ConversationRecord>, StoreError> {
        let mut query = QueryBuilder::<Sqlite>::new(SUMMARY);
        query.push(" WHERE c.id = ").push_bind(conversation.as_str());
        let mut reader = self.reader().await?;
        let row =
            query.build().fetch_optional(&mut *reader).await.map_err(|error| self.failed(error))?;
        // The other reads take a connection of their own.
        drop(reader);
        let Some(row) = row else { return Ok(None) };
        let filter = Filter {
            conversation: Some(conversation.clone()),
            limit: tasks_limit,
            prompt_chars: Some(PROMPT_CHARS),
            ..Filter::default()
        };
        let tasks = self.recent(&filter).await?;
        Ok(Some(ConversationRecord { summary: self.conversation_summary(&row)?, tasks }))
    }

    /// Sets what a conversation is called; none takes the title away. False when it is not on record.
    ///
    /// # Errors
    /// What writing can meet; the title is as it was.
    pub async fn rename_conversation(
        &self,
        conversation: &ConversationId,
        title: Option<&str>,
    ) -> Result<bool, StoreError> {
        let mut writer = self.writer().await?;
        let mut tx = writer.begin().await?;
        let done = sqlx::query("UPDATE conversations SET title = $2 WHERE id = $1")
            .bind(conversation.as_str())
            .bind(title)
            .execute(&mut *tx)
            .await
            .map_err(|error| self.failed(error))?;
        tx.commit().await.map_err(|error| self.failed(error))?;
        Ok(done.rows_affected() > 0)
    }

    fn conversation_summary(&self, row: &SqliteRow) -> Result<ConversationSummary, StoreError> {
        Ok(ConversationSummary {
            conversation_id: self.conversation_id(row, "id")?,
            title: self.get(row, "title")?,
            first_prompt: self.get(row, "first_prompt")?,
            tasks: unsigned(self.get(row, "tasks")?),
            unfinished: unsigned(self.get(row, "unfinished")?),
            plugin: self.get(row, "plugin")?,
            cwd: path(self.get(row, "cwd")?).into(),
            created_at: self.get(row, "created_at")?,
            updated_at: self.get(row, "updated_at")?,
        })
    }
}
