//! What ran: lists of tasks, and one task in full (M-70).

use crate::row::{path, word};
use crate::{Store, StoreError, tool};
use mia_api::{
    AttemptRecord, ConversationId, ErrorCode, ErrorSummary, TaskId, TaskRecord, TaskSummary,
};
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{QueryBuilder, Sqlite};

/// Which tasks to list. The default is the newest 50.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    /// Only those of that plugin.
    pub plugin: Option<String>,
    /// Only those that failed or were interrupted.
    pub failed: bool,
    /// Only those that wait or run.
    pub unfinished: bool,
    /// Only those accepted at that time or later, in unix milliseconds.
    pub since: Option<i64>,
    /// Only those that have that text in the prompt, or in the message or detail of the error; upper
    /// and lower case of ASCII letters are the same.
    pub grep: Option<String>,
    /// Only those of that conversation.
    pub conversation: Option<ConversationId>,
    /// The most that are listed.
    pub limit: u32,
    /// The most characters of each prompt; none means all of it.
    pub prompt_chars: Option<u32>,
}

impl Default for Filter {
    fn default() -> Self {
        Self {
            plugin: None,
            failed: false,
            unfinished: false,
            since: None,
            grep: None,
            conversation: None,
            limit: 50,
            prompt_chars: None,
        }
    }
}

/// The columns of a [`TaskSummary`] but the prompt. A damaged error is not to fail a whole list, so
/// its message is nothing when it can't be read, and bytes until then.
const SUMMARY: &str = "place, id, conversation_id, status, plugin, created_at, started_at, \
                       duration_ms, cost_usd, input_tokens, output_tokens, cache_creation, \
                       cache_read, error_code, error_cause, CASE WHEN JSON_VALID(error) THEN \
                       CAST(SUBSTR(JSON_EXTRACT(error, '$.message'), 1, 400) AS BLOB) END \
                       AS message";

impl Store {
    /// The tasks that fit, the newest first.
    ///
    /// # Errors
    /// What reading can meet.
    pub async fn recent(&self, filter: &Filter) -> Result<Vec<TaskSummary>, StoreError> {
        let mut query = select(filter);
        let mut reader = self.reader().await?;
        let rows =
            query.build().fetch_all(&mut *reader).await.map_err(|error| self.failed(error))?;
        rows.iter().map(|row| self.summary(row)).collect()
    }

    /// A task in full; none when it is not on record.
    ///
    /// # Errors
    /// What reading can meet.
    pub async fn task(&self, task: &TaskId) -> Result<Option<TaskRecord>, StoreError> {
        let mut reader = self.reader().await?;
        let mut query = QueryBuilder::<Sqlite>::new("SELECT ");
        query
            .push(SUMMARY)
            .push(", prompt, model, cwd, ended_at, result, error FROM tasks WHERE id = ");
        query.push_bind(task.as_str());
        let row =
            query.build().fetch_optional(&mut *reader).await.map_err(|error| self.failed(error))?;
        let Some(row) = row else { return Ok(None) };
        let place = self.get(&row, "place")?;
        let result = match self.get::<Option<&str>>(&row, "result")? {
            Some(kept) => Some(self.result(&mut reader, place, kept).await?),
            None => None,
        };
        let error = match self.get::<Option<&str>>(&row, "error")? {
            Some(kept) => Some(self.error(&mut reader, place, kept).await?),
            None => None,
        };
        Ok(Some(TaskRecord {
            summary: self.summary(&row)?,
            model: self.get(&row, "model")?,
            cwd: path(self.get(&row, "cwd")?).into(),
            ended_at: self.get(&row, "ended_at")?,
            attempts: self.attempts(&mut reader, place).await?,
            tools: tool::of_task(self, &mut reader, place).await?,
            result,
            error,
        }))
    }

    async fn attempts(
        &self,
        connection: &mut SqliteConnection,
        place: i64,
    ) -> Result<Vec<AttemptRecord>, StoreError> {
        let rows = sqlx::query(
            "SELECT idx, plugin, started, ended, error FROM attempts WHERE task = $1 ORDER BY idx",
        )
        .bind(place)
        .fetch_all(&mut *connection)
        .await
        .map_err(|error| self.failed(error))?;
        let mut attempts = Vec::with_capacity(rows.len());
        for row in &rows {
            let error = match self.get::<Option<&str>>(row, "error")? {
                Some(kept) => Some(self.error(connection, place, kept).await?),
                None => None,
            };
            attempts.push(AttemptRecord {
                index: self.get(row, "idx")?,
                plugin: self.get(row, "plugin")?,
                started_at: self.get(row, "started")?,
                ended_at: self.get(row, "ended")?,
                error,
            });
        }
        Ok(attempts)
    }

    fn summary(&self, row: &SqliteRow) -> Result<TaskSummary, StoreError> {
        let code: Option<&str> = self.get(row, "error_code")?;
        let cause: Option<&str> = self.get(row, "error_cause")?;
        let message: Option<&[u8]> = self.get(row, "message")?;
        Ok(TaskSummary {
            task_id: self.task_id(row, "id")?,
            conversation_id: self.conversation_id(row, "conversation_id")?,
            prompt: self.get(row, "prompt")?,
            plugin: self.get(row, "plugin")?,
            status: self.status(row)?,
            error: code.map(|code| ErrorSummary {
                code: word(code).unwrap_or(ErrorCode::Unknown),
                cause: cause.and_then(word),
                message: message.map(|bytes| String::from_utf8_lossy(bytes).into_owned()),
            }),
            created_at: self.get(row, "created_at")?,
            started_at: self.get(row, "started_at")?,
            duration_ms: self.count(row, "duration_ms")?,
            cost_usd: self.get(row, "cost_usd")?,
            usage: self.tokens(row)?,
        })
    }
}

fn select(filter: &Filter) -> QueryBuilder<Sqlite> {
    let mut query = QueryBuilder::new("SELECT ");
    query.push(SUMMARY);
    match filter.prompt_chars {
        // SUBSTR reads no more of a long prompt than it needs.
        Some(most) => {
            query.push(", SUBSTR(prompt, 1, ").push_bind(i64::from(most)).push(") AS prompt")
        }
        None => query.push(", prompt"),
    };
    query.push(" FROM tasks WHERE TRUE");
    // The same words as in the partial indexes, or they are not used.
    if filter.failed {
        query.push(" AND status IN ('failed', 'interrupted')");
    }
    if filter.unfinished {
        query.push(" AND status IN ('queued', 'running')");
    }
    if let Some(plugin) = &filter.plugin {
        query.push(" AND plugin = ").push_bind(plugin.clone());
    }
    if let Some(conversation) = &filter.conversation {
        query.push(" AND conversation_id = ").push_bind(conversation.to_string());
    }
    if let Some(since) = filter.since {
        query.push(" AND created_at >= ").push_bind(since);
        // A bound for the walk, found by the index over times; the plus keeps SQLite from walking
        // over all tasks to find it.
        query.push(" AND place >= (SELECT MIN(+place) FROM tasks WHERE created_at >= ");
        query.push_bind(since).push(")");
    }
    if let Some(text) = &filter.grep {
        query.push(" AND (");
        contains(&mut query, "prompt", text);
        for member in ["message", "detail"] {
            query.push(" OR ");
            // The text, and not the JSON that it is kept as. A damaged record is not to fail them all.
            let said =
                format!("CASE WHEN JSON_VALID(error) THEN JSON_EXTRACT(error, '$.{member}') END");
            contains(&mut query, &said, text);
        }
        query.push(")");
    }
    query.push(" ORDER BY place DESC LIMIT ").push_bind(i64::from(filter.limit));
    query
}

/// The longest pattern that LIKE takes is 50,000 bytes.
const LIKE_BYTES: usize = 20_000;

/// Adds a condition that the text of `expression` has `text` in it, ASCII letters in upper or lower
/// case. Of a text with a zero byte only what is before it counts.
pub(crate) fn contains(query: &mut QueryBuilder<Sqlite>, expression: &str, text: &str) {
    if text.len() > LIKE_BYTES || text.contains('\0') {
        query.push("INSTR(LOWER(").push(expression).push("), ");
        query.push_bind(text.to_ascii_lowercase()).push(") > 0");
        return;
    }
    // Five times as fast as the above, which copies each text. It has wildcards, which mean nothing
    // here.
    let mut pattern = String::with_capacity(text.len() + 8);
    pattern.push('%');
    for letter in text.chars() {
        if matches!(letter, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern.push('%');
    query.push(expression).push(" LIKE ").push_bind(pattern).push(" ESCAPE '\\'");
}
