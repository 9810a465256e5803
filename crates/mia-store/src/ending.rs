//! How a task ends on record: once, in one step, with nothing written twice (M-08, M-70).
//!
//! The answer and the tool calls are in the task's events already. A result says only where, unless
//! it differs from them; reading puts it together again.

use futures::TryStreamExt;
use mia_api::{Cause, DispatchResult, Partial, PluginError, TaskStatus, ToolCallInfo, Usage};
use serde_json::{Map, Value, json};
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use crate::row::{now, signed, to_word, unsigned};
use crate::{Claim, Session, Store, StoreError, session};

/// How a task ended.
#[derive(Debug, Clone, Copy)]
pub struct Ending<'a> {
    /// The result or the error.
    pub outcome: Result<&'a DispatchResult, &'a PluginError>,
    /// The number that the terminal event was sent with; none takes the next one.
    pub seq: Option<u64>,
    /// The agent's session to go on with, written in the same step (M-17).
    pub session: Option<&'a Session>,
}

/// What the end of a task has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finished {
    /// The task has ended now.
    Now,
    /// It had ended by this claim before; nothing was changed.
    Already(TaskStatus),
}

impl Store {
    /// Ends a running task: its terminal event, its status and figures, its session, and the release
    /// of the conversation, in one step. Again changes nothing.
    ///
    /// # Errors
    /// [`StoreError::Stale`] when the task was taken from its owner; [`StoreError::DiskFull`] and the
    /// like, and then the task still holds the conversation: try again, or let the owner go.
    pub async fn finish(&self, claim: &Claim, ending: Ending<'_>) -> Result<Finished, StoreError> {
        let failed = |error| self.failed(error);
        let task = &claim.task_id;
        let mut writer = self.writer().await?;
        let mut tx = writer.begin().await?;
        let row = sqlx::query("SELECT place, status, epoch FROM tasks WHERE id = $1")
            .bind(task.as_str())
            .fetch_optional(&mut *tx)
            .await
            .map_err(failed)?
            .ok_or_else(|| StoreError::UnknownTask { task: task.clone() })?;
        if unsigned(self.get(&row, "epoch")?) != claim.epoch {
            return Err(StoreError::Stale { task: task.clone() });
        }
        match self.status(&row)? {
            TaskStatus::Running => {}
            TaskStatus::Queued => {
                return Err(StoreError::WrongStatus {
                    task: task.clone(),
                    status: TaskStatus::Queued,
                });
            }
            ended => return Ok(Finished::Already(ended)),
        }
        let place = self.get(&row, "place")?;
        let (columns, status) = match ending.outcome {
            Ok(result) => {
                (Columns::of_result(self, &mut tx, place, result).await?, TaskStatus::Completed)
            }
            Err(error) => {
                let mut columns = Columns::of_error(self, &mut tx, place, error).await?;
                columns.duration_ms = u64::try_from(claim.started.elapsed().as_millis()).ok();
                (columns, status_of(error))
            }
        };
        columns.write(self, &mut tx, place, status, ending.seq).await?;
        if let Some(session) = ending.session {
            session::put(self, &mut tx, session).await?;
        }
        tx.commit().await.map_err(failed)?;
        self.shared.turn_ended.notify_waiters();
        Ok(Finished::Now)
    }

    /// The tokens that the agent told of last.
    pub(crate) async fn last_usage(
        &self,
        connection: &mut SqliteConnection,
        place: i64,
    ) -> Result<Option<Usage>, StoreError> {
        let row = sqlx::query(
            "SELECT json FROM events WHERE task = $1 AND kind = 'usage' ORDER BY seq DESC LIMIT 1",
        )
        .bind(place)
        .fetch_optional(connection)
        .await
        .map_err(|error| self.failed(error))?;
        let Some(row) = row else { return Ok(None) };
        let mut body: Map<String, Value> = self.json(self.get(&row, "json")?)?;
        let tokens = body.remove("tokens").unwrap_or(Value::Null);
        serde_json::from_value(tokens).map_err(|error| self.bad_record(error))
    }

    /// A result, put together again.
    pub(crate) async fn result(
        &self,
        connection: &mut SqliteConnection,
        place: i64,
        kept: &str,
    ) -> Result<DispatchResult, StoreError> {
        let mut kept: Map<String, Value> = self.json(kept)?;
        self.restore_content(connection, place, &mut kept).await?;
        if let Some(Value::Array(calls)) = kept.get_mut("tool_calls") {
            for call in calls {
                if let Some(seq) = call.as_i64() {
                    *call = self.event_json(connection, place, seq).await?;
                }
            }
        }
        serde_json::from_value(Value::Object(kept)).map_err(|error| self.bad_record(error))
    }

    /// An error, put together again.
    pub(crate) async fn error(
        &self,
        connection: &mut SqliteConnection,
        place: i64,
        kept: &str,
    ) -> Result<PluginError, StoreError> {
        let mut kept: Map<String, Value> = self.json(kept)?;
        if let Some(Value::Object(partial)) = kept.get_mut("partial") {
            self.restore_content(connection, place, partial).await?;
        }
        serde_json::from_value(Value::Object(kept)).map_err(|error| self.bad_record(error))
    }

    async fn restore_content(
        &self,
        connection: &mut SqliteConnection,
        place: i64,
        kept: &mut Map<String, Value>,
    ) -> Result<(), StoreError> {
        let Some(content) = kept.get_mut("content") else {
            return Ok(());
        };
        if let Some(attempt) = content.get("attempt").and_then(Value::as_i64) {
            let mut said = String::new();
            let mut rows = sqlx::query(SAID).bind(place).bind(attempt).fetch(connection);
            while let Some(row) = rows.try_next().await.map_err(|error| self.failed(error))? {
                said.push_str(self.get(&row, "text")?);
            }
            *content = Value::String(said);
        }
        Ok(())
    }

    async fn event_json(
        &self,
        connection: &mut SqliteConnection,
        place: i64,
        seq: i64,
    ) -> Result<Value, StoreError> {
        let row = sqlx::query("SELECT json FROM events WHERE task = $1 AND seq = $2")
            .bind(place)
            .bind(seq)
            .fetch_one(connection)
            .await
            .map_err(|error| self.failed(error))?;
        self.json(self.get(&row, "json")?)
    }
}

/// How a task with that error ended: one that Mia's own end cut off was interrupted (M-39).
pub(crate) fn status_of(error: &PluginError) -> TaskStatus {
    match error.cause {
        Some(Cause::Interrupted) => TaskStatus::Interrupted,
        _ => TaskStatus::Failed,
    }
}

/// How far the number of an interruption is from the last event on record. A watcher may have seen
/// some that its dying process could not record any more, and must take this one for a new one; what
/// waits to be recorded is bounded to fewer.
const UNRECORDED: u64 = 10_000;

/// The answer's text in an attempt, in order.
const SAID: &str = "SELECT text FROM events WHERE task = $1 AND attempt = $2 AND kind = 'token' \
                    AND parent_id IS NULL ORDER BY seq";

/// What an ended task has in its columns.
#[derive(Debug, Default)]
pub(crate) struct Columns {
    result: Option<String>,
    error: Option<String>,
    code: Option<String>,
    cause: Option<String>,
    usage: Option<Usage>,
    cost_usd: Option<f64>,
    duration_ms: Option<u64>,
    plugin: Option<String>,
    model: Option<String>,
}

impl Columns {
    async fn of_result(
        store: &Store,
        connection: &mut SqliteConnection,
        place: i64,
        result: &DispatchResult,
    ) -> Result<Self, StoreError> {
        let content = content(store, connection, place, &result.content).await?;
        let mut calls = Vec::with_capacity(result.tool_calls.len());
        for call in &result.tool_calls {
            calls.push(tool_call(store, connection, place, call).await?);
        }
        // All but the long members, which are not cloned to be thrown away.
        let rest = DispatchResult {
            content: String::new(),
            usage: result.usage.clone(),
            session_id: result.session_id.clone(),
            tool_calls: Vec::new(),
            duration_ms: result.duration_ms,
            task_id: result.task_id.clone(),
            conversation_id: result.conversation_id.clone(),
            plugin: result.plugin.clone(),
            model: result.model.clone(),
            cost_usd: result.cost_usd,
            stop_reason: result.stop_reason,
            attempts: result.attempts.clone(),
            files_changed: result.files_changed.clone(),
            context_reset: result.context_reset,
            warnings: result.warnings.clone(),
        };
        let mut kept = serde_json::to_value(rest).map_err(|error| store.bad_record(error))?;
        if let Some(kept) = kept.as_object_mut() {
            kept.insert("content".to_owned(), content);
            kept.insert("tool_calls".to_owned(), Value::Array(calls));
        }
        Ok(Self {
            result: Some(store.to_json(&kept)?),
            usage: result.usage.clone(),
            cost_usd: result.cost_usd,
            duration_ms: Some(result.duration_ms),
            plugin: Some(result.plugin.clone()),
            model: result.model.clone(),
            ..Self::default()
        })
    }

    /// The columns of a failed task, but for how long it ran, which its claim knows.
    pub(crate) async fn of_error(
        store: &Store,
        connection: &mut SqliteConnection,
        place: i64,
        error: &PluginError,
    ) -> Result<Self, StoreError> {
        let content = match &error.partial {
            Some(partial) => Some(content(store, connection, place, &partial.content).await?),
            None => None,
        };
        Self::of_bare_error(store, error, content)
    }

    /// The columns of a task that nobody saw end: what it had said is what its events say, and how
    /// long it took is unknown.
    pub(crate) async fn of_interruption(
        store: &Store,
        connection: &mut SqliteConnection,
        place: i64,
        error: &PluginError,
    ) -> Result<Self, StoreError> {
        let attempt = store.last_row(connection, place).await?.map_or(0, |row| row.attempt);
        Self::of_bare_error(store, error, Some(json!({ "attempt": attempt })))
    }

    fn of_bare_error(
        store: &Store,
        error: &PluginError,
        content: Option<Value>,
    ) -> Result<Self, StoreError> {
        let partial = error.partial.as_deref();
        let rest = PluginError {
            code: error.code,
            plugin_name: error.plugin_name.clone(),
            message: error.message.clone(),
            detail: error.detail.clone(),
            phase: error.phase,
            cause: error.cause,
            exit_code: error.exit_code,
            signal: error.signal,
            stderr_tail: error.stderr_tail.clone(),
            retry_after_ms: error.retry_after_ms,
            hint: error.hint.clone(),
            partial: partial.map(|partial| {
                Box::new(Partial {
                    content: String::new(),
                    usage: partial.usage.clone(),
                    cost_usd: partial.cost_usd,
                    session_id: partial.session_id.clone(),
                })
            }),
            attempts: error.attempts.clone(),
        };
        let mut kept = serde_json::to_value(rest).map_err(|error| store.bad_record(error))?;
        if let (Some(Value::Object(partial)), Some(content)) = (kept.get_mut("partial"), content) {
            partial.insert("content".to_owned(), content);
        }
        Ok(Self {
            error: Some(store.to_json(&kept)?),
            code: Some(error.code.as_str().to_owned()),
            cause: error.cause.as_ref().and_then(to_word),
            cost_usd: partial.and_then(|partial| partial.cost_usd),
            usage: partial.and_then(|partial| partial.usage.clone()),
            plugin: Some(error.plugin_name.clone()).filter(|name| !name.is_empty()),
            ..Self::default()
        })
    }

    /// Ends the task inside the caller's transaction.
    pub(crate) async fn write(
        &self,
        store: &Store,
        connection: &mut SqliteConnection,
        place: i64,
        status: TaskStatus,
        seq: Option<u64>,
    ) -> Result<(), StoreError> {
        let failed = |error| store.failed(error);
        let at = now();
        let last = store.last_row(connection, place).await?;
        let (last_seq, attempt) = last.map_or((0, 0), |row| (row.last_seq, row.attempt));
        let next = last_seq.saturating_add(match status {
            TaskStatus::Interrupted => UNRECORDED,
            _ => 1,
        });
        let seq = signed(seq.unwrap_or(next).max(last_seq.saturating_add(1)));
        let usage = self.usage.as_ref();
        // The terminal event, whose words are in the task's own columns; the attempt; the
        // conversation's lock, if it is still this task's; the task. One call, for each is a way to
        // SQLite's thread and back.
        sqlx::query(
            "INSERT INTO events (task, seq, last_seq, attempt, kind) VALUES ($1, $13, $13, $18, $19); \
             UPDATE attempts SET ended = $4, error = $15 WHERE task = $1 AND ended IS NULL; \
             UPDATE conversations SET lock_owner = NULL, updated_at = $4 WHERE EXISTS (SELECT 1 FROM \
             tasks WHERE place = $1 AND status = 'running' AND conversation_id = conversations.id \
             AND epoch = lock_epoch) AND id = (SELECT conversation_id FROM tasks WHERE place = $1); \
             UPDATE tasks SET status = $2, epoch = epoch + $3, ended_at = $4, duration_ms = $5, \
             cost_usd = $6, input_tokens = $7, output_tokens = $8, cache_creation = $9, \
             cache_read = $10, error_code = $11, error_cause = $12, end_seq = $13, result = $14, \
             error = $15, plugin = COALESCE($16, plugin), model = COALESCE($17, model) \
             WHERE place = $1",
        )
        .bind(place)
        .bind(status.as_str())
        .bind(i64::from(status == TaskStatus::Interrupted))
        .bind(at)
        .bind(self.duration_ms.map(signed))
        .bind(self.cost_usd)
        .bind(usage.map(|usage| signed(usage.input_tokens)))
        .bind(usage.map(|usage| signed(usage.output_tokens)))
        .bind(usage.and_then(|usage| usage.cache_creation).map(signed))
        .bind(usage.and_then(|usage| usage.cache_read).map(signed))
        .bind(&self.code)
        .bind(&self.cause)
        .bind(seq)
        .bind(&self.result)
        .bind(&self.error)
        .bind(&self.plugin)
        .bind(&self.model)
        .bind(attempt)
        .bind(if self.result.is_some() { "complete" } else { "error" })
        .execute(&mut *connection)
        .await
        .map_err(failed)?;
        Ok(())
    }
}

/// The content as it is kept: where its text is among the events, or itself when they say something
/// else.
async fn content(
    store: &Store,
    connection: &mut SqliteConnection,
    place: i64,
    content: &str,
) -> Result<Value, StoreError> {
    let attempt = store.last_row(connection, place).await?.map_or(0, |row| row.attempt);
    let mut left = Some(content);
    let mut rows = sqlx::query(SAID).bind(place).bind(attempt).fetch(connection);
    while let Some(row) = rows.try_next().await.map_err(|error| store.failed(error))? {
        let text: &str = row.try_get("text").map_err(|error| store.failed(error))?;
        left = left.and_then(|left| left.strip_prefix(text));
        if left.is_none() {
            break;
        }
    }
    Ok(match left {
        Some("") => json!({ "attempt": attempt }),
        _ => Value::String(content.to_owned()),
    })
}

/// A tool call as it is kept: the number of its event, or itself when that says something else.
async fn tool_call(
    store: &Store,
    connection: &mut SqliteConnection,
    place: i64,
    call: &ToolCallInfo,
) -> Result<Value, StoreError> {
    let row = sqlx::query(
        "SELECT e.seq, e.json FROM tool_calls AS t JOIN events AS e ON e.task = t.task \
         AND e.seq = t.call_seq WHERE t.task = $1 AND t.id = $2",
    )
    .bind(place)
    .bind(&call.id)
    .fetch_optional(connection)
    .await
    .map_err(|error| store.failed(error))?;
    if let Some(row) = row
        && store.json::<ToolCallInfo>(store.get(&row, "json")?)? == *call
    {
        return Ok(Value::from(store.get::<i64>(&row, "seq")?));
    }
    serde_json::to_value(call).map_err(|error| store.bad_record(error))
}
