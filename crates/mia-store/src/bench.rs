//! Large databases for measurements.

use sqlx::Executor;

use crate::{Store, StoreError};

/// Puts that many ended tasks on record, quickly and the same each time: prompts of 200 bytes to
/// 20 KB, mostly short ones; ten tasks a conversation; four plugins, of which `rare` has one task of
/// a thousand; one of fifty failed; a minute from one to the next, the last one at `now` (unix
/// milliseconds); each with an answer of 300 bytes, and one of two hundred with 60 KB of events.
/// The words `needle N`, N the number of a task from 1 on, stand at the end of its prompt.
///
/// # Errors
/// What writing can meet; nothing of it is on record then.
pub async fn fill(store: &Store, tasks: u32, now: i64) -> Result<(), StoreError> {
    let failed = |error| store.failed(error);
    let mut writer = store.writer().await?;
    let mut tx = writer.begin().await?;
    let begin = "DROP TABLE IF EXISTS temp.made; \
        CREATE TEMP TABLE made (i INTEGER PRIMARY KEY, at BIGINT, failed BOOLEAN, words TEXT)";
    tx.execute(sqlx::raw_sql(begin)).await.map_err(failed)?;
    for sql in [
        // The square makes short ones more frequent than long ones.
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1) \
         INSERT INTO temp.made SELECT i, $2 - ($1 - i) * 60000, i % 50 = 7, SUBSTR(REPLACE( \
         HEX(ZEROBLOB(1300)), '0000', 'Please look at ' || i || ', '), 1, \
         200 + (i * 7919 % 100) * (i * 7919 % 100) * 2) FROM n",
        "INSERT OR IGNORE INTO conversations (id, created_at, updated_at, title) \
         SELECT 'c' || (i / 10), MIN(at), MAX(at), CASE WHEN i % 100 = 0 THEN 'Title ' || i END \
         FROM temp.made WHERE $1 > 0 AND $2 > 0 GROUP BY i / 10",
        "INSERT INTO tasks (id, conversation_id, status, owner, plugin, model, created_at, \
         started_at, ended_at, duration_ms, cost_usd, input_tokens, output_tokens, cache_read, \
         error_code, error_cause, end_seq, cwd, prompt, error) SELECT 'task-' || i, 'c' || (i / 10), \
         CASE WHEN failed THEN 'failed' ELSE 'completed' END, 'bench', CASE WHEN i % 1000 = 3 THEN \
         'rare' WHEN i % 3 = 0 THEN 'codex' WHEN i % 3 = 1 THEN 'claude-code' ELSE 'opencode' END, \
         CASE i % 4 WHEN 0 THEN NULL ELSE 'model-' || (i % 4) END, at, at + 5, at + 20000, 19995, \
         CASE WHEN i % 3 THEN 0.01 END, 1000 + i % 500, 200 + i % 50, i % 900, \
         CASE WHEN failed THEN 'PROVIDER_ERROR' END, CASE WHEN failed THEN 'rate_limited' END, \
         3, CAST('/projects/' || (i % 20) AS BLOB), words || ' needle ' || i, \
         CASE WHEN failed THEN JSON_OBJECT('code', 'PROVIDER_ERROR', 'plugin_name', 'fake', \
         'message', 'the provider said no to ' || i, 'attempts', JSON_ARRAY()) END \
         FROM temp.made WHERE $1 > 0 AND $2 > 0",
        "INSERT INTO attempts (task, idx, plugin, started, ended) SELECT place, 0, plugin, \
         started_at, ended_at FROM tasks WHERE owner = 'bench' AND $1 > 0 AND $2 > 0",
        "INSERT INTO events (task, seq, last_seq, attempt, kind, at_byte, text) SELECT place, 1, 2, 0, \
         'token', 0, SUBSTR(prompt, 1, 300) FROM tasks WHERE owner = 'bench' AND $1 > 0 AND $2 > 0",
        "INSERT INTO events (task, seq, last_seq, attempt, kind, text, json) SELECT place, 4, 4, 0, \
         'tool_result', HEX(ZEROBLOB(30000)), '{}' FROM tasks WHERE owner = 'bench' \
         AND place % 200 = 0 AND $1 > 0 AND $2 > 0",
    ] {
        sqlx::query(sql)
            .bind(i64::from(tasks))
            .bind(now)
            .execute(&mut *tx)
            .await
            .map_err(failed)?;
    }
    tx.execute("DROP TABLE temp.made").await.map_err(failed)?;
    tx.commit().await.map_err(failed)
}
