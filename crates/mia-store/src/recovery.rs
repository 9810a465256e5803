//! What dead owners left is ended as interrupted (M-39).

use std::collections::HashMap;

use mia_api::{Cause, ConversationId, ErrorCode, Partial, Phase, PluginError, TaskId, TaskStatus};
use sqlx::sqlite::SqliteConnection;

use crate::ending::Columns;
use crate::owner::{is_alive, sweep};
use crate::{Store, StoreError};

/// A task that was ended because its owner had died.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interrupted {
    /// The task.
    pub task_id: TaskId,
    /// Its conversation.
    pub conversation_id: ConversationId,
    /// How far it had been: queued or running.
    pub was: TaskStatus,
}

impl Store {
    /// Ends every unfinished task whose owner is dead: `ABORTED`, cause `interrupted`, with the text
    /// that it had said. To be called when a process starts to dispatch, before its first answer.
    ///
    /// # Errors
    /// When the database can't be written; then nothing was ended.
    pub async fn recover(&self) -> Result<Vec<Interrupted>, StoreError> {
        sweep(&self.shared.owners);
        let mut writer = self.writer().await?;
        // Most often there is nothing, and then nothing is written.
        if dead(self, writer.connection()?, None, i64::MAX).await?.is_empty() {
            return Ok(Vec::new());
        }
        let mut tx = writer.begin().await?;
        let found = dead(self, &mut tx, None, i64::MAX).await?;
        let mut ended = Vec::with_capacity(found.len());
        for task in found {
            interrupt(self, &mut tx, &task).await?;
            ended.push(Interrupted {
                task_id: task.id,
                conversation_id: task.conversation,
                was: task.was,
            });
        }
        tx.commit().await.map_err(|error| self.failed(error))?;
        self.shared.turn_ended.notify_waiters();
        Ok(ended)
    }
}

struct Unfinished {
    place: i64,
    id: TaskId,
    conversation: ConversationId,
    was: TaskStatus,
    plugin: String,
}

/// Ends the unfinished tasks of dead owners, of one conversation or of all, before that place.
/// Returns how many.
pub(crate) async fn end_dead(
    store: &Store,
    connection: &mut SqliteConnection,
    conversation: Option<&ConversationId>,
    before: i64,
) -> Result<usize, StoreError> {
    let found = dead(store, connection, conversation, before).await?;
    for task in &found {
        interrupt(store, connection, task).await?;
    }
    Ok(found.len())
}

async fn dead(
    store: &Store,
    connection: &mut SqliteConnection,
    conversation: Option<&ConversationId>,
    before: i64,
) -> Result<Vec<Unfinished>, StoreError> {
    let rows = sqlx::query(
        "SELECT place, id, conversation_id, status, owner, COALESCE((SELECT a.plugin FROM attempts \
         AS a WHERE a.task = place ORDER BY a.idx DESC LIMIT 1), plugin, '') AS plugin FROM tasks \
         WHERE status IN ('queued', 'running') AND ($1 IS NULL OR conversation_id = $1) \
         AND place < $2 ORDER BY place",
    )
    .bind(conversation.map(ConversationId::as_str))
    .bind(before)
    .fetch_all(connection)
    .await
    .map_err(|error| store.failed(error))?;
    let mut alive = HashMap::new();
    let mut found = Vec::new();
    for row in &rows {
        let owner: String = store.get(row, "owner")?;
        if *alive.entry(owner).or_insert_with_key(|id| is_alive(&store.shared.owners, id)) {
            continue;
        }
        found.push(Unfinished {
            place: store.get(row, "place")?,
            id: store.task_id(row, "id")?,
            conversation: store.conversation_id(row, "conversation_id")?,
            was: store.status(row)?,
            plugin: store.get(row, "plugin")?,
        });
    }
    Ok(found)
}

async fn interrupt(
    store: &Store,
    connection: &mut SqliteConnection,
    task: &Unfinished,
) -> Result<(), StoreError> {
    let (phase, message) = match task.was {
        TaskStatus::Queued => (Phase::Queue, "mia ended before it was this prompt's turn"),
        _ => (Phase::Stream, "mia ended while the agent was at work"),
    };
    let mut error = PluginError::new(ErrorCode::Aborted, task.plugin.clone(), message)
        .with_cause(Cause::Interrupted)
        .with_phase(phase)
        .with_hint("send the prompt again, or go on with the conversation");
    error.partial = Some(Box::new(Partial {
        content: String::new(),
        usage: store.last_usage(connection, task.place).await?,
        cost_usd: None,
        session_id: None,
    }));
    let columns = Columns::of_interruption(store, connection, task.place, &error).await?;
    columns.write(store, connection, task.place, TaskStatus::Interrupted, None).await
}
