//! Tasks go off the record: the task in one step, and then the bulk of what belonged to it, a little
//! at a time, so that nobody who writes waits long.
//!
//! A removed task's place stays in `graves` until its events are gone. Nothing leads to them any
//! more; whoever is killed in between leaves them to the next who removes something.

use std::time::{Duration, Instant};

use mia_api::{ConversationId, TaskId};
use sqlx::sqlite::SqliteConnection;
use sqlx::{ConnectOptions, Connection, Row, Sqlite, Transaction};
use tokio::time::sleep;

use crate::connection::Writer;
use crate::owner::is_alive;
use crate::{Store, StoreError};

/// How long a step keeps others from writing; the last statement of it may take some more.
pub(crate) const STEP: Duration = Duration::from_millis(4);

/// About so many bytes of events are removed by one statement, but always one event.
const BYTES: i64 = 1024 * 1024;

/// What became of a conversation that was to be deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deleted {
    /// It is gone, with all that belonged to it.
    Now {
        /// How many tasks it had.
        tasks: u64,
    },
    /// Tasks of it wait or run in a process that lives; nothing was changed.
    Busy {
        /// These, in their order.
        tasks: Vec<TaskId>,
    },
    /// It is not on record.
    Unknown,
}

/// A connection of its own for removing, since SQLite would else remove a task's events along with
/// it, all at once.
pub(crate) struct Remover<'a> {
    store: &'a Store,
    connection: SqliteConnection,
}

impl<'a> Remover<'a> {
    pub(crate) async fn open(store: &'a Store) -> Result<Self, StoreError> {
        // Tells one who only reads what he can't, before anything is opened.
        drop(store.writer().await?);
        let options = store.shared.writer_options.clone().foreign_keys(false);
        let connection = options.connect().await.map_err(|error| store.failed(error))?;
        Ok(Self { store, connection })
    }

    /// Begins a step: nobody else of this process or another one writes during it.
    pub(crate) async fn begin(&mut self) -> Result<Removal<'_>, StoreError> {
        let turn = self.store.writer().await?;
        let failed = |error| self.store.failed(error);
        let tx = self.connection.begin_with("BEGIN IMMEDIATE").await.map_err(failed)?;
        let begun = Instant::now();
        let mut removal = Removal { store: self.store, tx, begun, before: 0, page: 0, _turn: turn };
        (removal.before, removal.page) = removal.in_use().await?;
        Ok(removal)
    }

    /// The bare connection, for what can't be in a transaction of ours, with the right to write.
    pub(crate) async fn alone(
        &mut self,
    ) -> Result<(Writer<'_>, &mut SqliteConnection), StoreError> {
        Ok((self.store.writer().await?, &mut self.connection))
    }

    /// The bare connection, for what keeps nobody from writing.
    pub(crate) fn unlocked(&mut self) -> &mut SqliteConnection {
        &mut self.connection
    }

    pub(crate) async fn close(self) {
        // All that this can tell is that the connection was gone before.
        let _ = self.connection.close().await;
    }
}

/// One short transaction. Dropping it takes all back.
pub(crate) struct Removal<'a> {
    store: &'a Store,
    tx: Transaction<'a, Sqlite>,
    begun: Instant,
    /// Pages in use when it began.
    before: i64,
    /// Bytes of a page.
    page: i64,
    _turn: Writer<'a>,
}

impl Removal<'_> {
    pub(crate) fn connection(&mut self) -> &mut SqliteConnection {
        &mut self.tx
    }

    /// How many pages are in use, and how long one is.
    async fn in_use(&mut self) -> Result<(i64, i64), StoreError> {
        let row = sqlx::query(
            "SELECT (SELECT page_count FROM pragma_page_count) \
             - (SELECT freelist_count FROM pragma_freelist_count), \
             (SELECT page_size FROM pragma_page_size)",
        )
        .fetch_one(&mut *self.tx)
        .await
        .map_err(|error| self.store.failed(error))?;
        let failed = |error| self.store.failed(error);
        Ok((row.try_get(0).map_err(failed)?, row.try_get(1).map_err(failed)?))
    }

    /// How many bytes the pages in use take.
    pub(crate) async fn size(&mut self) -> Result<u64, StoreError> {
        let (pages, bytes) = self.in_use().await?;
        Ok(u64::try_from(pages.saturating_mul(bytes)).unwrap_or(0))
    }

    async fn run(&mut self, sql: &'static str, task: i64) -> Result<u64, StoreError> {
        sqlx::query(sql)
            .bind(task)
            .execute(&mut *self.tx)
            .await
            .map(|done| done.rows_affected())
            .map_err(|error| self.store.failed(error))
    }

    /// Removes a task; its events are in a grave then.
    pub(crate) async fn bury(&mut self, place: i64) -> Result<(), StoreError> {
        self.run("INSERT INTO graves (task) VALUES ($1)", place).await?;
        self.run("DELETE FROM tasks WHERE place = $1", place).await?;
        Ok(())
    }

    /// Removes a conversation and its sessions, when no task of it is left.
    pub(crate) async fn forget_if_empty(&mut self, conversation: &str) -> Result<bool, StoreError> {
        let done = sqlx::query(
            "DELETE FROM conversations WHERE id = $1 AND NOT EXISTS \
             (SELECT 1 FROM tasks WHERE conversation_id = $1)",
        )
        .bind(conversation)
        .execute(&mut *self.tx)
        .await
        .map_err(|error| self.store.failed(error))?;
        if done.rows_affected() == 0 {
            return Ok(false);
        }
        sqlx::query("DELETE FROM sessions WHERE conversation_id = $1")
            .bind(conversation)
            .execute(&mut *self.tx)
            .await
            .map_err(|error| self.store.failed(error))?;
        Ok(true)
    }

    /// Empties graves for as long as the step may take, but something in each step. True when none is
    /// left.
    pub(crate) async fn empty_graves(&mut self) -> Result<bool, StoreError> {
        loop {
            let row = sqlx::query("SELECT MIN(task) FROM graves")
                .fetch_one(&mut *self.tx)
                .await
                .map_err(|error| self.store.failed(error))?;
            let oldest: Option<i64> = row.try_get(0).map_err(|error| self.store.failed(error))?;
            let Some(place) = oldest else { return Ok(true) };
            if self.empty(place).await? {
                self.run("DELETE FROM graves WHERE task = $1", place).await?;
            }
            if self.begun.elapsed() >= STEP {
                return Ok(false);
            }
        }
    }

    /// Removes some of what is in a grave. True when nothing is left in it.
    async fn empty(&mut self, place: i64) -> Result<bool, StoreError> {
        // Lengths are read from the front of a row, without its content.
        let removed = sqlx::query(
            "DELETE FROM events WHERE task = $1 AND seq <= (SELECT MAX(seq) FROM (SELECT seq, \
             SUM(COALESCE(OCTET_LENGTH(text), 0) + COALESCE(OCTET_LENGTH(json), 0)) OVER \
             (ORDER BY seq) AS bytes, ROW_NUMBER() OVER (ORDER BY seq) AS n FROM \
             (SELECT seq, text, json FROM events WHERE task = $1 ORDER BY seq LIMIT 100)) \
             WHERE n = 1 OR bytes <= $2)",
        )
        .bind(place)
        .bind(BYTES)
        .execute(&mut *self.tx)
        .await
        .map_err(|error| self.store.failed(error))?;
        if removed.rows_affected() > 0 {
            return Ok(false);
        }
        let calls = "DELETE FROM tool_calls WHERE task = $1 AND id IN \
                     (SELECT id FROM tool_calls WHERE task = $1 LIMIT 500)";
        if self.run(calls, place).await? > 0 {
            return Ok(false);
        }
        self.run("DELETE FROM attempts WHERE task = $1", place).await?;
        Ok(true)
    }

    /// Ends the step. Returns how many bytes of pages are free that were not.
    pub(crate) async fn commit(mut self) -> Result<u64, StoreError> {
        let (after, _) = self.in_use().await?;
        let freed = self.before.saturating_sub(after).saturating_mul(self.page);
        self.tx.commit().await.map_err(|error| self.store.failed(error))?;
        Ok(u64::try_from(freed).unwrap_or(0))
    }
}

impl Store {
    /// Deletes a conversation with its tasks, all that is on record of them, and its sessions, in one
    /// step; the space that it took is then freed in small ones (M-72). What its plugins keep of it
    /// elsewhere is theirs to clear. Tasks that a dead owner left don't count as busy.
    ///
    /// # Errors
    /// What writing can meet; it is all there, or all gone.
    pub async fn delete_conversation(
        &self,
        conversation: &ConversationId,
    ) -> Result<Deleted, StoreError> {
        let mut remover = Remover::open(self).await?;
        let mut removal = remover.begin().await?;
        let rows = sqlx::query(
            "SELECT place, id, owner, status IN ('queued', 'running') AS unfinished \
             FROM tasks WHERE conversation_id = $1 ORDER BY place",
        )
        .bind(conversation.as_str())
        .fetch_all(removal.connection())
        .await
        .map_err(|error| self.failed(error))?;
        let mut places = Vec::with_capacity(rows.len());
        let mut busy = Vec::new();
        for row in &rows {
            places.push(self.get(row, "place")?);
            if self.get(row, "unfinished")?
                && is_alive(&self.shared.owners, self.get(row, "owner")?)
            {
                busy.push(self.task_id(row, "id")?);
            }
        }
        if !busy.is_empty() {
            return Ok(Deleted::Busy { tasks: busy });
        }
        for place in &places {
            removal.bury(*place).await?;
        }
        if !removal.forget_if_empty(conversation.as_str()).await? {
            return Ok(Deleted::Unknown);
        }
        removal.commit().await?;
        self.shared.turn_ended.notify_waiters();
        // It is gone; whoever gets to it next removes what is left in the graves.
        let _ = remover.empty_all().await;
        remover.close().await;
        Ok(Deleted::Now { tasks: places.len() as u64 })
    }
}

impl Remover<'_> {
    /// Empties all graves. Returns how many bytes that freed.
    pub(crate) async fn empty_all(&mut self) -> Result<u64, StoreError> {
        let mut freed = 0;
        loop {
            let begun = Instant::now();
            let mut removal = self.begin().await?;
            let all = removal.empty_graves().await?;
            freed += removal.commit().await?;
            if all {
                return Ok(freed);
            }
            breathe(begun).await;
        }
    }
}

/// Lets others write for as long as one was in their way: those of other processes look only now and
/// then whether they can.
pub(crate) async fn breathe(begun: Instant) {
    sleep(begun.elapsed()).await;
}
