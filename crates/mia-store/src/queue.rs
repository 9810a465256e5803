//! The way of a task to its turn: one at a time in a conversation, in order of acceptance, over all
//! processes (M-37).

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use mia_api::{ConversationId, PluginError, TaskId, TaskStatus};
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;
use tokio::time::sleep;

use crate::ending::{Columns, status_of};
use crate::owner::is_alive;
use crate::row::{bytes, now, unsigned};
use crate::{Owner, Store, StoreError, recovery};

/// The first and the longest pause between two looks whether it is a task's turn.
const PAUSES: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(200));

/// A task to be put on record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTask {
    /// The task: the caller's idempotency key.
    pub task_id: TaskId,
    /// Its conversation, created when new.
    pub conversation_id: ConversationId,
    /// The prompt.
    pub prompt: String,
    /// The first candidate, or the plugin that was asked for.
    pub plugin: Option<String>,
    /// The model that was asked for.
    pub model: Option<String>,
    /// The working directory.
    pub cwd: PathBuf,
    /// How many may wait in the conversation; none means any number.
    pub queue_limit: Option<u64>,
}

/// What became of a task that was to be accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Accepted {
    /// It is on record.
    New {
        /// Its place among all tasks ever.
        place: u64,
        /// How many unfinished tasks of the conversation are before it.
        queue_place: u64,
        /// How many tasks of the conversation, ended or not, were on record before it.
        earlier_turns: u64,
    },
    /// It had been on record already, with this prompt.
    Already {
        /// How far it is.
        status: TaskStatus,
    },
    /// Too many wait; it is not on record.
    QueueFull {
        /// How many wait.
        waiting: u64,
    },
}

/// The right to run a task, and to say how it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The task.
    pub task_id: TaskId,
    /// The conversation's epoch, which grows with each task that starts.
    pub epoch: u64,
    /// When the task started, by the clock of this process: that of the wall may jump meanwhile.
    pub started: Instant,
}

/// Whether it is a task's turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Turn {
    /// It is: the task is running now.
    Started(Claim),
    /// It is not.
    Waiting {
        /// How many unfinished tasks are before it.
        ahead: u64,
        /// The one that runs.
        running: Option<TaskId>,
    },
}

/// What became of a task that was to be withdrawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Withdrawn {
    /// It ended without ever running.
    Done,
    /// It runs, and has to be aborted.
    Running,
    /// It had ended before.
    Ended(TaskStatus),
}

/// Those before a task.
#[derive(Debug, Default)]
struct Queue {
    ahead: u64,
    running: Option<TaskId>,
    owners: Vec<String>,
}

impl Queue {
    fn has_dead(&self, owners: &Path) -> bool {
        self.owners.iter().any(|id| !is_alive(owners, id))
    }
}

impl Store {
    /// Puts a task on record as queued, and its conversation where that is new, in one step. The same
    /// task again changes nothing, so a caller that got no answer may just ask again (M-38).
    ///
    /// # Errors
    /// [`StoreError::TaskConflict`] when the id stands for another prompt or conversation.
    pub async fn accept(&self, task: &NewTask, owner: &Owner) -> Result<Accepted, StoreError> {
        let failed = |error| self.failed(error);
        let mut writer = self.writer().await?;
        let mut tx = writer.begin().await?;
        let known = sqlx::query(
            "SELECT status, conversation_id = $2 AND prompt = $3 AS same FROM tasks WHERE id = $1",
        )
        .bind(task.task_id.as_str())
        .bind(task.conversation_id.as_str())
        .bind(&task.prompt)
        .fetch_optional(&mut *tx)
        .await
        .map_err(failed)?;
        if let Some(row) = known {
            return match self.get(&row, "same")? {
                true => Ok(Accepted::Already { status: self.status(&row)? }),
                false => Err(StoreError::TaskConflict { task: task.task_id.clone() }),
            };
        }
        let mut queue = self.queue(&mut tx, &task.conversation_id, i64::MAX).await?;
        if queue.ahead > 0
            && recovery::end_dead(self, &mut tx, Some(&task.conversation_id), i64::MAX).await? > 0
        {
            queue = self.queue(&mut tx, &task.conversation_id, i64::MAX).await?;
        }
        if task.queue_limit.is_some_and(|limit| queue.ahead > limit) {
            // What dead owners left has ended either way.
            tx.commit().await.map_err(failed)?;
            return Ok(Accepted::QueueFull { waiting: queue.ahead - 1 });
        }
        let earlier_turns = self.count_turns(&mut tx, &task.conversation_id).await?;
        let at = now();
        let place: i64 = sqlx::query(
            // Not the place of one whose events are still to be removed.
            "INSERT INTO conversations (id, created_at, updated_at) VALUES ($2, $6, $6) \
             ON CONFLICT (id) DO UPDATE SET updated_at = excluded.updated_at; \
             INSERT INTO tasks (id, conversation_id, status, owner, plugin, model, created_at, cwd, \
             prompt, place) VALUES ($1, $2, 'queued', $3, $4, $5, $6, $7, $8, 1 + MAX( \
             (SELECT COALESCE(MAX(place), 0) FROM tasks), \
             (SELECT COALESCE(MAX(task), 0) FROM graves))) RETURNING place",
        )
        .bind(task.task_id.as_str())
        .bind(task.conversation_id.as_str())
        .bind(owner.id().as_str())
        .bind(task.plugin.as_deref())
        .bind(task.model.as_deref())
        .bind(at)
        .bind(bytes(&task.cwd))
        .bind(&task.prompt)
        .fetch_one(&mut *tx)
        .await
        .and_then(|row| row.try_get(0))
        .map_err(failed)?;
        tx.commit().await.map_err(failed)?;
        Ok(Accepted::New { place: unsigned(place), queue_place: queue.ahead, earlier_turns })
    }

    /// Starts a queued task when it is its turn: when no unfinished task of its conversation is
    /// before it. What dead owners left before it is ended as interrupted first (M-39).
    ///
    /// # Errors
    /// [`StoreError::WrongStatus`] when it is not queued.
    pub async fn try_start(&self, task: &TaskId, owner: &Owner) -> Result<Turn, StoreError> {
        let failed = |error| self.failed(error);
        let mut writer = self.writer().await?;
        let mut tx = writer.begin().await?;
        let (place, conversation) = self.queued(&mut tx, task).await?;
        let mut queue = self.queue(&mut tx, &conversation, place).await?;
        if queue.ahead > 0
            && recovery::end_dead(self, &mut tx, Some(&conversation), place).await? > 0
        {
            queue = self.queue(&mut tx, &conversation, place).await?;
        }
        if queue.ahead > 0 {
            tx.commit().await.map_err(failed)?;
            return Ok(Turn::Waiting { ahead: queue.ahead, running: queue.running });
        }
        // One call, for each is a way to SQLite's thread and back. What returns a row comes last: who
        // has got it does not wait for more.
        let epoch: i64 = sqlx::query(
            "UPDATE conversations SET lock_owner = $2, lock_epoch = lock_epoch + 1, updated_at = $3 \
             WHERE id = $1; \
             UPDATE tasks SET status = 'running', owner = $2, started_at = $3, \
             epoch = (SELECT lock_epoch FROM conversations WHERE id = $1) \
             WHERE place = $4 RETURNING epoch",
        )
        .bind(conversation.as_str())
        .bind(owner.id().as_str())
        .bind(now())
        .bind(place)
        .fetch_one(&mut *tx)
        .await
        .and_then(|row| row.try_get(0))
        .map_err(failed)?;
        tx.commit().await.map_err(failed)?;
        Ok(Turn::Started(Claim {
            task_id: task.clone(),
            epoch: unsigned(epoch),
            started: Instant::now(),
        }))
    }

    /// Waits for a task's turn and starts it: [`Store::wait_first`], then [`Store::try_start`].
    ///
    /// Dropping the future leaves the task queued, or, if it had just started, running with this
    /// owner; [`Store::withdraw`] tells which.
    ///
    /// # Errors
    /// As [`Store::try_start`]; [`StoreError::WrongStatus`] also when it was withdrawn meanwhile.
    pub async fn wait_turn(
        &self,
        task: &TaskId,
        owner: &Owner,
        mut waiting: impl FnMut(u64, Option<&TaskId>),
    ) -> Result<Claim, StoreError> {
        loop {
            self.wait_first(task, &mut waiting).await?;
            if let Turn::Started(claim) = self.try_start(task, owner).await? {
                return Ok(claim);
            }
        }
    }

    /// Waits until no unfinished task of its conversation is before a queued one, and starts nothing.
    /// From then on none comes before it: it can wait for something else, and [`Store::try_start`]
    /// starts it. What dead owners left before it is ended as interrupted (M-39). `waiting` is told
    /// whenever the number of those before it changes, also at first when there are any.
    ///
    /// Dropping the future leaves the task queued.
    ///
    /// # Errors
    /// [`StoreError::WrongStatus`] when it is not queued, or not any more; what writing can meet.
    pub async fn wait_first(
        &self,
        task: &TaskId,
        mut waiting: impl FnMut(u64, Option<&TaskId>),
    ) -> Result<(), StoreError> {
        let mut pause = PAUSES.0;
        let mut told = None;
        loop {
            // Before the look, so that an end right after it still wakes us.
            let mut woken = std::pin::pin!(self.shared.turn_ended.notified());
            woken.as_mut().enable();
            let mut queue = self.look(task).await?;
            // Only now is it worth to ask for the write lock.
            if queue.has_dead(&self.shared.owners) {
                queue = self.bury_dead(task).await?;
            }
            if queue.ahead == 0 {
                return Ok(());
            }
            if told != Some(queue.ahead) {
                told = Some(queue.ahead);
                waiting(queue.ahead, queue.running.as_ref());
            }
            tokio::select! {
                () = sleep(pause) => pause = (pause * 2).min(PAUSES.1),
                () = woken => {}
            }
        }
    }

    /// Ends what dead owners left before a queued task. Returns who is before it then.
    async fn bury_dead(&self, task: &TaskId) -> Result<Queue, StoreError> {
        let mut writer = self.writer().await?;
        let mut tx = writer.begin().await?;
        let (place, conversation) = self.queued(&mut tx, task).await?;
        let ended = recovery::end_dead(self, &mut tx, Some(&conversation), place).await?;
        let queue = self.queue(&mut tx, &conversation, place).await?;
        tx.commit().await.map_err(|error| self.failed(error))?;
        if ended > 0 {
            self.shared.turn_ended.notify_waiters();
        }
        Ok(queue)
    }

    /// Ends a queued task that was aborted, or can't start, with that error (M-24).
    ///
    /// # Errors
    /// [`StoreError::UnknownTask`].
    pub async fn withdraw(
        &self,
        task: &TaskId,
        error: &PluginError,
    ) -> Result<Withdrawn, StoreError> {
        let mut writer = self.writer().await?;
        let mut tx = writer.begin().await?;
        let (place, status) = self.place(&mut tx, task).await?;
        match status {
            TaskStatus::Queued => {}
            TaskStatus::Running => return Ok(Withdrawn::Running),
            ended => return Ok(Withdrawn::Ended(ended)),
        }
        let columns = Columns::of_error(self, &mut tx, place, error).await?;
        columns.write(self, &mut tx, place, status_of(error), None).await?;
        tx.commit().await.map_err(|error| self.failed(error))?;
        self.shared.turn_ended.notify_waiters();
        Ok(Withdrawn::Done)
    }

    /// Who is before a queued task. Reads only.
    async fn look(&self, task: &TaskId) -> Result<Queue, StoreError> {
        let mut writer = self.writer().await?;
        let connection = writer.connection()?;
        let (place, conversation) = self.queued(connection, task).await?;
        self.queue(connection, &conversation, place).await
    }

    /// The unfinished tasks of a conversation before that place.
    async fn queue(
        &self,
        connection: &mut SqliteConnection,
        conversation: &ConversationId,
        before: i64,
    ) -> Result<Queue, StoreError> {
        let rows = sqlx::query(
            "SELECT id, status, owner FROM tasks WHERE conversation_id = $1 AND place < $2 \
             AND status IN ('queued', 'running') ORDER BY place",
        )
        .bind(conversation.as_str())
        .bind(before)
        .fetch_all(connection)
        .await
        .map_err(|error| self.failed(error))?;
        let mut queue = Queue::default();
        for row in &rows {
            queue.ahead += 1;
            if self.status(row)? == TaskStatus::Running {
                queue.running = Some(self.task_id(row, "id")?);
            }
            queue.owners.push(self.get(row, "owner")?);
        }
        Ok(queue)
    }

    /// The place and conversation of a task that must be queued.
    async fn queued(
        &self,
        connection: &mut SqliteConnection,
        task: &TaskId,
    ) -> Result<(i64, ConversationId), StoreError> {
        let row = sqlx::query("SELECT place, conversation_id, status FROM tasks WHERE id = $1")
            .bind(task.as_str())
            .fetch_optional(connection)
            .await
            .map_err(|error| self.failed(error))?
            .ok_or_else(|| StoreError::UnknownTask { task: task.clone() })?;
        match self.status(&row)? {
            TaskStatus::Queued => {
                Ok((self.get(&row, "place")?, self.conversation_id(&row, "conversation_id")?))
            }
            status => Err(StoreError::WrongStatus { task: task.clone(), status }),
        }
    }

    /// The place and status of a task.
    pub(crate) async fn place(
        &self,
        connection: &mut SqliteConnection,
        task: &TaskId,
    ) -> Result<(i64, TaskStatus), StoreError> {
        let row = sqlx::query("SELECT place, status FROM tasks WHERE id = $1")
            .bind(task.as_str())
            .fetch_optional(connection)
            .await
            .map_err(|error| self.failed(error))?
            .ok_or_else(|| StoreError::UnknownTask { task: task.clone() })?;
        Ok((self.get(&row, "place")?, self.status(&row)?))
    }
}
