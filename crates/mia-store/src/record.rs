//! Events go on record in batches, neighbouring text joined (M-70).

use std::borrow::Borrow;

use mia_api::{Event, EventBody, PluginError, TaskId, TaskStatus, ToolResultInfo};
use serde_json::Value;
use sqlx::sqlite::SqliteConnection;

use crate::row::{head, now, signed, unsigned};
use crate::{Store, StoreError, tool};

/// A row on disk takes more text while it has fewer bytes than this: each time, all of it is written
/// again, and one page of the database is written whatever happens.
const GROW: usize = 3500;

/// Full rows are put together up to this many bytes, for each has up to a page to itself.
const MERGE: usize = 32 * 1024;

/// Text of one batch is joined up to this many bytes.
const JOIN: usize = 64 * 1024;

impl Store {
    /// Puts events of a task on record, in one step. Events that are there already, by their `seq`,
    /// are left out, so a batch that failed may be tried again; terminal ones are left out too, for
    /// [`Store::finish`] writes them.
    ///
    /// # Errors
    /// [`StoreError::DiskFull`] and the like: nothing of the batch is on record, the dispatch can go
    /// on without. [`StoreError::Stale`] when the task was taken from this process.
    pub async fn record<E: Borrow<Event> + Sync>(
        &self,
        task: &TaskId,
        events: &[E],
    ) -> Result<(), StoreError> {
        if events.is_empty() {
            return Ok(());
        }
        let mut writer = self.writer().await?;
        let mut tx = writer.begin().await?;
        let place = self.unfinished(&mut tx, task).await?;
        self.append(&mut tx, place, events).await?;
        tx.commit().await.map_err(|error| self.failed(error))
    }

    /// Puts on record that a plugin is asked (M-35).
    ///
    /// # Errors
    /// As [`Store::record`].
    pub async fn begin_attempt(
        &self,
        task: &TaskId,
        index: u32,
        plugin: &str,
    ) -> Result<(), StoreError> {
        let mut writer = self.writer().await?;
        let connection = writer.connection()?;
        let done = sqlx::query(
            "INSERT INTO attempts (task, idx, plugin, started) SELECT place, $2, $3, $4 FROM tasks \
             WHERE id = $1 AND status IN ('queued', 'running') ON CONFLICT (task, idx) DO NOTHING",
        )
        .bind(task.as_str())
        .bind(i64::from(index))
        .bind(plugin)
        .bind(now())
        .execute(&mut *connection)
        .await
        .map_err(|error| self.failed(error))?;
        match done.rows_affected() {
            // It is there already, or the task is not.
            0 => self.unfinished(connection, task).await.map(drop),
            _ => Ok(()),
        }
    }

    /// Puts on record how an attempt ended; without an error it answered. The last one is also ended
    /// by [`Store::finish`].
    ///
    /// # Errors
    /// As [`Store::record`].
    pub async fn end_attempt(
        &self,
        task: &TaskId,
        index: u32,
        error: Option<&PluginError>,
    ) -> Result<(), StoreError> {
        let error = error.map(|error| self.to_json(error)).transpose()?;
        let mut writer = self.writer().await?;
        let mut tx = writer.begin().await?;
        let place = self.unfinished(&mut tx, task).await?;
        sqlx::query(
            "UPDATE attempts SET ended = $3, error = $4 WHERE task = $1 AND idx = $2 \
             AND ended IS NULL",
        )
        .bind(place)
        .bind(i64::from(index))
        .bind(now())
        .bind(error)
        .execute(&mut *tx)
        .await
        .map_err(|error| self.failed(error))?;
        tx.commit().await.map_err(|error| self.failed(error))
    }

    /// The place of a task that still runs or waits.
    async fn unfinished(
        &self,
        connection: &mut SqliteConnection,
        task: &TaskId,
    ) -> Result<i64, StoreError> {
        match self.place(connection, task).await? {
            (place, TaskStatus::Queued | TaskStatus::Running) => Ok(place),
            (_, TaskStatus::Interrupted) => Err(StoreError::Stale { task: task.clone() }),
            (_, status) => Err(StoreError::WrongStatus { task: task.clone(), status }),
        }
    }

    /// Appends events inside the caller's transaction.
    pub(crate) async fn append<E: Borrow<Event> + Sync>(
        &self,
        connection: &mut SqliteConnection,
        place: i64,
        events: &[E],
    ) -> Result<(), StoreError> {
        let last = self.last_row(connection, place).await?;
        if let Some(row) = last.as_ref().filter(|row| row.bytes >= GROW && row.is_text()) {
            self.merge(connection, place, row).await?;
        }
        let mut scribe = Scribe {
            store: self,
            connection,
            place,
            at: now(),
            attempt: last.as_ref().map_or(0, |row| row.attempt),
            last_seq: last.as_ref().map_or(0, |row| row.last_seq),
            open: last.filter(|row| row.bytes < GROW).and_then(Row::into_open),
        };
        for event in events {
            let event = event.borrow();
            if event.seq > scribe.last_seq && !event.body.is_terminal() {
                scribe.write(event).await?;
            }
        }
        scribe.flush().await
    }

    /// Puts the text of a task's last row onto the row before it, where that is the same text going on
    /// and not too long.
    async fn merge(
        &self,
        connection: &mut SqliteConnection,
        place: i64,
        row: &Row,
    ) -> Result<(), StoreError> {
        let merged = sqlx::query(
            "UPDATE events SET last_seq = $3, text = text || (SELECT text FROM events \
             WHERE task = $1 AND seq = $2) \
             WHERE task = $1 AND seq = (SELECT MAX(seq) FROM events WHERE task = $1 AND seq < $2) \
             AND kind = $4 AND parent_id IS NOT DISTINCT FROM $5 AND json IS NULL \
             AND at_byte + octet_length(text) = $6 AND octet_length(text) + $7 <= $8",
        )
        .bind(place)
        .bind(signed(row.seq))
        .bind(signed(row.last_seq))
        .bind(&row.kind)
        .bind(&row.parent_id)
        .bind(row.offset.map(signed))
        .bind(signed(row.bytes as u64))
        .bind(signed(MERGE as u64))
        .execute(&mut *connection)
        .await
        .map_err(|error| self.failed(error))?;
        if merged.rows_affected() > 0 {
            sqlx::query("DELETE FROM events WHERE task = $1 AND seq = $2")
                .bind(place)
                .bind(signed(row.seq))
                .execute(connection)
                .await
                .map_err(|error| self.failed(error))?;
        }
        Ok(())
    }

    /// The last row of a task's events.
    pub(crate) async fn last_row(
        &self,
        connection: &mut SqliteConnection,
        place: i64,
    ) -> Result<Option<Row>, StoreError> {
        let row = sqlx::query(
            "SELECT seq, last_seq, attempt, kind, parent_id, at_byte, octet_length(text) AS bytes, \
             json IS NULL AS plain FROM events WHERE task = $1 ORDER BY seq DESC LIMIT 1",
        )
        .bind(place)
        .fetch_optional(connection)
        .await
        .map_err(|error| self.failed(error))?;
        let Some(row) = row else { return Ok(None) };
        Ok(Some(Row {
            seq: unsigned(self.get(&row, "seq")?),
            last_seq: unsigned(self.get(&row, "last_seq")?),
            attempt: self.get(&row, "attempt")?,
            kind: self.get(&row, "kind")?,
            parent_id: self.get(&row, "parent_id")?,
            offset: self.get::<Option<i64>>(&row, "at_byte")?.map(unsigned),
            bytes: self
                .count(&row, "bytes")?
                .map_or(0, |n| usize::try_from(n).unwrap_or(usize::MAX)),
            plain: self.get(&row, "plain")?,
        }))
    }
}

/// What of the last row says whether more text can be joined to it.
#[derive(Debug)]
pub(crate) struct Row {
    seq: u64,
    pub(crate) last_seq: u64,
    pub(crate) attempt: i64,
    kind: String,
    parent_id: Option<String>,
    offset: Option<u64>,
    bytes: usize,
    plain: bool,
}

impl Row {
    /// True for plain text, which can be joined.
    fn is_text(&self) -> bool {
        self.plain && matches!(self.kind.as_str(), "token" | "thought")
    }

    fn into_open(self) -> Option<Open> {
        let kind = match self.kind.as_str() {
            "token" => "token",
            "thought" => "thought",
            _ => return None,
        };
        self.plain.then_some(Open {
            seq: self.seq,
            last_seq: self.last_seq,
            kind,
            parent_id: self.parent_id,
            offset: self.offset,
            bytes: self.bytes,
            text: String::new(),
            on_disk: true,
            grown: false,
        })
    }
}

/// A text row that can still grow.
#[derive(Debug)]
struct Open {
    seq: u64,
    last_seq: u64,
    kind: &'static str,
    parent_id: Option<String>,
    offset: Option<u64>,
    /// All of its bytes, those on disk and those in `text`.
    bytes: usize,
    /// What is not on disk yet.
    text: String,
    on_disk: bool,
    /// True when something was joined since.
    grown: bool,
}

impl Open {
    /// True when that text goes on exactly where this one ends.
    fn goes_on(&self, kind: &str, parent_id: Option<&str>, event: &Event, more: usize) -> bool {
        self.kind == kind
            && self.parent_id.as_deref() == parent_id
            && event.offset == self.offset.map(|at| at + self.bytes as u64)
            && self.bytes + more <= JOIN
    }
}

struct Scribe<'a> {
    store: &'a Store,
    connection: &'a mut SqliteConnection,
    place: i64,
    at: i64,
    attempt: i64,
    last_seq: u64,
    open: Option<Open>,
}

impl Scribe<'_> {
    async fn write(&mut self, event: &Event) -> Result<(), StoreError> {
        let kind = event.body.kind();
        match &event.body {
            EventBody::Token { text, parent_id, raw }
            | EventBody::Thought { text, parent_id, raw } => {
                self.text(event, kind, text, parent_id.as_deref(), raw.as_ref()).await?;
            }
            EventBody::ToolResult(result) => {
                self.flush().await?;
                let output = head(&result.output, self.store.shared.tool_output);
                // The output stands in its own column, as it is.
                let rest = ToolResultInfo {
                    output: String::new(),
                    truncated: result.truncated || output.len() < result.output.len(),
                    id: result.id.clone(),
                    name: result.name.clone(),
                    ..*result
                };
                let json = self.store.to_json(&rest)?;
                self.insert(event.seq, kind, None, None, Some(output), Some(&json)).await?;
                tool::ended(self.store, self.connection, self.place, event.seq, &rest, self.at)
                    .await?;
            }
            body => {
                self.flush().await?;
                if let EventBody::Attempt { index, .. } = body {
                    self.attempt = i64::from(*index);
                }
                let json = self.store.to_json(body)?;
                self.insert(event.seq, kind, None, event.offset, None, Some(&json)).await?;
                if let EventBody::ToolCall(call) = body {
                    tool::called(self.store, self.connection, self.place, event.seq, call, self.at)
                        .await?;
                }
            }
        }
        self.last_seq = event.seq;
        Ok(())
    }

    async fn text(
        &mut self,
        event: &Event,
        kind: &'static str,
        text: &str,
        parent_id: Option<&str>,
        raw: Option<&Value>,
    ) -> Result<(), StoreError> {
        if let Some(raw) = raw {
            self.flush().await?;
            let json = self.store.to_json(raw)?;
            return self
                .insert(event.seq, kind, parent_id, event.offset, Some(text), Some(&json))
                .await;
        }
        if let Some(open) = &mut self.open
            && open.goes_on(kind, parent_id, event, text.len())
        {
            open.text.push_str(text);
            open.bytes += text.len();
            open.last_seq = event.seq;
            open.grown = true;
            return Ok(());
        }
        self.flush().await?;
        self.open = Some(Open {
            seq: event.seq,
            last_seq: event.seq,
            kind,
            parent_id: parent_id.map(str::to_owned),
            offset: event.offset,
            bytes: text.len(),
            text: text.to_owned(),
            on_disk: false,
            grown: false,
        });
        Ok(())
    }

    /// Writes the text that waits, and closes its row.
    async fn flush(&mut self) -> Result<(), StoreError> {
        let Some(open) = self.open.take() else {
            return Ok(());
        };
        if open.on_disk && !open.grown {
            return Ok(());
        }
        let query = if open.on_disk {
            sqlx::query(
                "UPDATE events SET text = text || $3, last_seq = $4 WHERE task = $1 AND seq = $2",
            )
            .bind(self.place)
            .bind(signed(open.seq))
            .bind(&open.text)
            .bind(signed(open.last_seq))
        } else {
            sqlx::query(
                "INSERT INTO events (task, seq, text, last_seq, attempt, kind, parent_id, at_byte) \
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
            )
            .bind(self.place)
            .bind(signed(open.seq))
            .bind(&open.text)
            .bind(signed(open.last_seq))
            .bind(self.attempt)
            .bind(open.kind)
            .bind(&open.parent_id)
            .bind(open.offset.map(signed))
        };
        query.execute(&mut *self.connection).await.map_err(|error| self.store.failed(error))?;
        Ok(())
    }

    async fn insert(
        &mut self,
        seq: u64,
        kind: &str,
        parent_id: Option<&str>,
        offset: Option<u64>,
        text: Option<&str>,
        json: Option<&str>,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO events (task, seq, last_seq, attempt, kind, parent_id, at_byte, text, json) \
             VALUES ($1, $2, $2, $3, $4, $5, $6, $7, $8)",
        )
        .bind(self.place)
        .bind(signed(seq))
        .bind(self.attempt)
        .bind(kind)
        .bind(parent_id)
        .bind(offset.map(signed))
        .bind(text)
        .bind(json)
        .execute(&mut *self.connection)
        .await
        .map_err(|error| self.store.failed(error))?;
        Ok(())
    }
}
