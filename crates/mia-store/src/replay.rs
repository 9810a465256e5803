//! Events come back from any point (M-38).

use futures::TryStreamExt;
use mia_api::{ConversationId, Event, EventBody, ResumePoint, TaskId, TaskStatus};
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use crate::row::{signed, tail_from, unsigned};
use crate::{Store, StoreError, tool};

/// Some of a task's events, in order.
#[derive(Debug, Clone, PartialEq)]
pub struct EventPage {
    /// The events. Text may be joined otherwise than it was sent; it is the same text.
    pub events: Vec<Event>,
    /// Where to go on.
    pub next: ResumePoint,
    /// The number of the last event that the page holds, joined ones counted; live events go on
    /// after it.
    pub last_seq: u64,
    /// True when more is on record.
    pub more: bool,
    /// The task's status when the page was read.
    pub status: TaskStatus,
}

impl Store {
    /// The events of a task after that point, about `bytes` of them: at least one event when there
    /// is any, however long.
    ///
    /// # Errors
    /// [`StoreError::UnknownTask`], and what reading can meet.
    pub async fn events(
        &self,
        task: &TaskId,
        from: ResumePoint,
        bytes: usize,
    ) -> Result<EventPage, StoreError> {
        let mut reader = self.reader().await?;
        let (place, status) = self.place(&mut reader, task).await?;
        let mut page =
            EventPage { events: Vec::new(), next: from, last_seq: from.seq, more: false, status };
        let mut ended = None;
        {
            let mut rows = sqlx::query(
                "SELECT seq, last_seq, kind, parent_id, at_byte, text, json FROM events \
                 WHERE task = $1 AND seq >= COALESCE((SELECT MAX(seq) FROM events WHERE task = $1 \
                 AND seq <= $2), 0) ORDER BY seq",
            )
            .bind(place)
            .bind(signed(from.seq))
            .fetch(&mut *reader);
            let mut cut = ResumeCut::new(from);
            let mut weight = 0;
            while let Some(row) = rows.try_next().await.map_err(|error| self.failed(error))? {
                let kind: &str = self.get(&row, "kind")?;
                let last_seq = unsigned(self.get(&row, "last_seq")?);
                let seq = unsigned(self.get(&row, "seq")?);
                if kind == "complete" || kind == "error" {
                    if seq > from.seq {
                        ended = Some(seq);
                    }
                    break;
                }
                let Some(event) = cut.apply(self.event(&row, task)?, last_seq) else {
                    page.last_seq = page.last_seq.max(last_seq);
                    continue;
                };
                if weight >= bytes && !page.events.is_empty() {
                    page.more = true;
                    break;
                }
                weight += event.body.weight();
                page.last_seq = page.last_seq.max(last_seq);
                page.next = ResumePoint { seq: last_seq, ..ResumePoint::after(&event) };
                page.events.push(event);
            }
        }
        if let Some(seq) = ended {
            let body = self.terminal(&mut reader, place).await?;
            page.events.push(Event { task_id: task.clone(), seq, offset: None, body });
            page.next = ResumePoint { seq, offset: None };
            page.last_seq = seq;
        }
        Ok(page)
    }

    /// The conversation of a task.
    ///
    /// # Errors
    /// [`StoreError::UnknownTask`], and what reading can meet.
    pub async fn conversation_of(&self, task: &TaskId) -> Result<ConversationId, StoreError> {
        let mut reader = self.reader().await?;
        let row = sqlx::query("SELECT conversation_id FROM tasks WHERE id = $1")
            .bind(task.as_str())
            .fetch_optional(&mut *reader)
            .await
            .map_err(|error| self.failed(error))?
            .ok_or_else(|| StoreError::UnknownTask { task: task.clone() })?;
        self.conversation_id(&row, "conversation_id")
    }

    /// An event from its row.
    fn event(&self, row: &SqliteRow, task: &TaskId) -> Result<Event, StoreError> {
        let text: Option<String> = self.get(row, "text")?;
        let json: Option<&str> = self.get(row, "json")?;
        let body = match self.get::<&str>(row, "kind")? {
            kind @ ("token" | "thought") => {
                let text = text.unwrap_or_default();
                let parent_id = self.get(row, "parent_id")?;
                let raw = json.map(|json| self.json(json)).transpose()?;
                match kind {
                    "token" => EventBody::Token { text, parent_id, raw },
                    _ => EventBody::Thought { text, parent_id, raw },
                }
            }
            "tool_result" => {
                EventBody::ToolResult(tool::result(self, json.unwrap_or("null"), text)?)
            }
            _ => self.json(json.unwrap_or("null"))?,
        };
        Ok(Event {
            task_id: task.clone(),
            seq: unsigned(self.get(row, "seq")?),
            offset: self.count(row, "at_byte")?,
            body,
        })
    }

    /// The body of the terminal event of an ended task.
    async fn terminal(
        &self,
        connection: &mut SqliteConnection,
        place: i64,
    ) -> Result<EventBody, StoreError> {
        let row = sqlx::query("SELECT result, error FROM tasks WHERE place = $1")
            .bind(place)
            .fetch_one(&mut *connection)
            .await
            .map_err(|error| self.failed(error))?;
        if let Some(kept) = self.get::<Option<&str>>(&row, "result")? {
            let result = Box::new(self.result(connection, place, kept).await?);
            return Ok(EventBody::Complete { result });
        }
        let kept = self.get::<Option<&str>>(&row, "error")?.unwrap_or("null");
        Ok(EventBody::Error { error: Box::new(self.error(connection, place, kept).await?) })
    }
}

/// Takes away of a task's events what a client has: to be applied to all that come after the last one
/// that begins before the point.
#[derive(Debug, Clone)]
pub struct ResumeCut {
    from: ResumePoint,
    /// The kind of text that is being cut: the client may have had it joined over several rows.
    cutting: Option<&'static str>,
}

impl ResumeCut {
    /// For a client that has come that far.
    #[must_use]
    pub fn new(from: ResumePoint) -> Self {
        Self { from, cutting: None }
    }

    /// The event, or what of it is new. `last_seq` is the number of the last event that was joined into
    /// it.
    pub fn apply(&mut self, mut event: Event, last_seq: u64) -> Option<Event> {
        let kind = event.body.kind();
        let first = event.seq <= self.from.seq;
        let (EventBody::Token { text, .. } | EventBody::Thought { text, .. }, Some(start)) =
            (&mut event.body, event.offset)
        else {
            self.cutting = None;
            return (event.seq > self.from.seq).then_some(event);
        };
        let Some(had) = self.from.offset else {
            // Where in a joined row the client is can't be known; it has the offsets to tell.
            return (last_seq > self.from.seq).then_some(event);
        };
        if !first && self.cutting != Some(kind) {
            return Some(event);
        }
        let end = start.saturating_add(text.len() as u64);
        if end <= had {
            if !first && text.is_empty() {
                // Nothing to cut; its original may say more than its text.
                return Some(event);
            }
            self.cutting = Some(kind);
            return None;
        }
        self.cutting = None;
        if had > start {
            let cut = usize::try_from(had - start).unwrap_or(usize::MAX);
            *text = tail_from(text, cut).to_owned();
            event.offset = Some(end - text.len() as u64);
            event.seq = event.seq.max(self.from.seq);
        }
        Some(event)
    }
}
