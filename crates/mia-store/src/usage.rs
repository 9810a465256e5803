//! What plugins and models have used (M-70).

use mia_api::{Usage, UsageReport, UsageRow};
use sqlx::sqlite::SqliteRow;

use crate::row::unsigned;
use crate::{Store, StoreError};

/// The most that one task counts in a sum: a broken figure is not to make it overflow.
const MOST: i64 = 1_000_000_000_000;

impl Store {
    /// What was used by tasks that have ended and were accepted at `since` (unix milliseconds) or
    /// later; with none, by all on record. Grouped by the plugin and the model that answered last;
    /// those with the most tokens, in and out, come first.
    ///
    /// # Errors
    /// What reading can meet.
    pub async fn usage(&self, since: Option<i64>) -> Result<UsageReport, StoreError> {
        let mut reader = self.reader().await?;
        // The same words as in the index that has all these columns, or it is not used.
        let rows = sqlx::query(
            "SELECT plugin, model, COUNT(*) AS tasks, SUM(status <> 'completed') AS failed, \
             COUNT(input_tokens) AS told, COUNT(cost_usd) AS priced, SUM(cost_usd) AS cost, \
             SUM(MIN(input_tokens, $2)) AS input, SUM(MIN(output_tokens, $2)) AS output, \
             SUM(MIN(cache_creation, $2)) AS creation, SUM(MIN(cache_read, $2)) AS read, \
             SUM(MIN(duration_ms, $2)) AS duration FROM tasks \
             WHERE status IN ('completed', 'failed', 'interrupted') AND created_at >= $1 \
             GROUP BY plugin, model ORDER BY COALESCE(SUM(MIN(input_tokens, $2)), 0) \
             + COALESCE(SUM(MIN(output_tokens, $2)), 0) DESC, COUNT(*) DESC, plugin, model",
        )
        .bind(since.unwrap_or(i64::MIN))
        .bind(MOST)
        .fetch_all(&mut *reader)
        .await
        .map_err(|error| self.failed(error))?;
        let rows = rows.iter().map(|row| self.usage_row(row)).collect::<Result<_, _>>()?;
        Ok(UsageReport { since, rows })
    }

    fn usage_row(&self, row: &SqliteRow) -> Result<UsageRow, StoreError> {
        let number = |name| Ok::<_, StoreError>(self.count(row, name)?.unwrap_or(0));
        let tasks = number("tasks")?;
        Ok(UsageRow {
            plugin: self.get(row, "plugin")?,
            model: self.get(row, "model")?,
            tasks,
            failed: unsigned(self.get(row, "failed")?),
            usage: Usage {
                input_tokens: number("input")?,
                output_tokens: number("output")?,
                cache_creation: self.count(row, "creation")?,
                cache_read: self.count(row, "read")?,
            },
            tokens_unknown: tasks.saturating_sub(number("told")?),
            cost_usd: self.get(row, "cost")?,
            cost_unknown: tasks.saturating_sub(number("priced")?),
            duration_ms: number("duration")?,
        })
    }
}
