//! Tool calls on record: an index over their events, with times (M-70).

use mia_api::{ToolCallInfo, ToolKind, ToolRecord, ToolResultInfo};
use sqlx::sqlite::SqliteConnection;

use crate::row::{signed, to_word};
use crate::{Store, StoreError};

/// Notes a call; the same id again is a better description of the same call.
pub(crate) async fn called(
    store: &Store,
    connection: &mut SqliteConnection,
    place: i64,
    seq: u64,
    call: &ToolCallInfo,
    at: i64,
) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO tool_calls (task, id, parent_id, name, kind, title, call_seq, started) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (task, id) DO UPDATE SET \
         parent_id = excluded.parent_id, name = excluded.name, kind = excluded.kind, \
         title = excluded.title, call_seq = excluded.call_seq",
    )
    .bind(place)
    .bind(&call.id)
    .bind(&call.parent_id)
    .bind(&call.name)
    .bind(to_word(&call.kind))
    .bind(&call.title)
    .bind(signed(seq))
    .bind(at)
    .execute(connection)
    .await
    .map_err(|error| store.failed(error))?;
    Ok(())
}

/// Notes a result, also one whose call was never seen.
pub(crate) async fn ended(
    store: &Store,
    connection: &mut SqliteConnection,
    place: i64,
    seq: u64,
    result: &ToolResultInfo,
    at: i64,
) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO tool_calls (task, id, name, kind, title, result_seq, is_error, truncated, \
         started, duration_ms) VALUES ($1, $2, $3, $4, $3, $5, $6, $7, $8, $9) \
         ON CONFLICT (task, id) DO UPDATE SET result_seq = excluded.result_seq, \
         is_error = excluded.is_error, truncated = excluded.truncated, \
         duration_ms = excluded.duration_ms",
    )
    .bind(place)
    .bind(&result.id)
    .bind(&result.name)
    .bind(to_word(&ToolKind::Other))
    .bind(signed(seq))
    .bind(result.is_error)
    .bind(result.truncated)
    .bind(at.saturating_sub(signed(result.duration_ms)))
    .bind(signed(result.duration_ms))
    .execute(connection)
    .await
    .map_err(|error| store.failed(error))?;
    Ok(())
}

/// The tool calls of a task, in order of their start.
pub(crate) async fn of_task(
    store: &Store,
    connection: &mut SqliteConnection,
    place: i64,
) -> Result<Vec<ToolRecord>, StoreError> {
    let rows = sqlx::query(
        "SELECT t.id, t.parent_id, t.name, t.title, t.started, t.duration_ms, c.json AS call, \
         r.json AS result, r.text AS output FROM tool_calls AS t \
         LEFT JOIN events AS c ON c.task = t.task AND c.seq = t.call_seq \
         LEFT JOIN events AS r ON r.task = t.task AND r.seq = t.result_seq \
         WHERE t.task = $1 ORDER BY t.started, COALESCE(t.call_seq, t.result_seq)",
    )
    .bind(place)
    .fetch_all(connection)
    .await
    .map_err(|error| store.failed(error))?;
    let mut tools = Vec::with_capacity(rows.len());
    for row in &rows {
        let call = match store.get::<Option<&str>>(row, "call")? {
            Some(json) => store.json(json)?,
            None => ToolCallInfo {
                id: store.get(row, "id")?,
                parent_id: store.get(row, "parent_id")?,
                name: store.get(row, "name")?,
                title: store.get(row, "title")?,
                ..ToolCallInfo::default()
            },
        };
        let result = match store.get::<Option<&str>>(row, "result")? {
            Some(json) => Some(result(store, json, store.get(row, "output")?)?),
            None => None,
        };
        tools.push(ToolRecord {
            call,
            result,
            started_at: store.get(row, "started")?,
            duration_ms: store.count(row, "duration_ms")?,
        });
    }
    Ok(tools)
}

/// A result from its two columns.
pub(crate) fn result(
    store: &Store,
    json: &str,
    output: Option<String>,
) -> Result<ToolResultInfo, StoreError> {
    let rest: ToolResultInfo = store.json(json)?;
    Ok(ToolResultInfo { output: output.unwrap_or_default(), ..rest })
}
