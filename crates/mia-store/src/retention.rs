//! How long what is on record stays there: by age and by size (M-70).

use std::time::Instant;

use sqlx::{Executor, Row};

use crate::removal::{Removal, Remover, STEP, breathe};
use crate::{Store, StoreError, StoreErrorKind};

/// Pages that one step gives back to the disk.
const PAGES: &str = "PRAGMA incremental_vacuum(64)";

/// What retention has removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pruned {
    /// How many tasks.
    pub tasks: u64,
    /// How many conversations, of which no task was left.
    pub conversations: u64,
    /// How many bytes of pages that they took.
    pub bytes: u64,
}

/// What of the record has to go.
#[derive(Debug, Clone, Copy)]
struct Limits {
    /// Tasks that were accepted before that.
    before: Option<i64>,
    /// The oldest, while more bytes than these are in use.
    size: Option<u64>,
}

impl Store {
    /// Removes ended tasks that were accepted before `before` (unix milliseconds), and then, while the pages in use take more than `max_size` bytes, the oldest of the others;
    /// and conversations of which no task is left, with their sessions (M-70). What waits or runs
    /// stays, whatever its age and size. The space goes back to the disk.
    ///
    /// Works in small steps with pauses between them, so that who writes waits for some milliseconds
    /// at most. Dropping the future between two of them leaves a record that is whole; what is left
    /// to do the next call does.
    ///
    /// # Errors
    /// What writing can meet; then nothing more is removed, and what was removed before is.
    pub async fn prune(
        &self,
        before: Option<i64>,
        max_size: Option<u64>,
    ) -> Result<Pruned, StoreError> {
        let limits = Limits { before, size: max_size };
        let mut remover = Remover::open(self).await?;
        let mut pruned = Pruned::default();
        loop {
            let begun = Instant::now();
            let mut removal = remover.begin().await?;
            let mut done = Pruned::default();
            let finished = self.remove_some(&mut removal, limits, &mut done).await?;
            pruned.bytes += removal.commit().await?;
            pruned.tasks += done.tasks;
            pruned.conversations += done.conversations;
            if finished {
                break;
            }
            breathe(begun).await;
        }
        give_back(self, &mut remover).await?;
        remover.close().await;
        Ok(pruned)
    }

    /// One step. True when there is nothing more to remove.
    async fn remove_some(
        &self,
        removal: &mut Removal<'_>,
        limits: Limits,
        done: &mut Pruned,
    ) -> Result<bool, StoreError> {
        // Only when the events of one are gone does the size say whether another has to go.
        while removal.empty_graves().await? {
            let Some((place, conversation)) = self.next_to_go(removal, limits).await? else {
                return Ok(true);
            };
            removal.bury(place).await?;
            done.tasks += 1;
            done.conversations += u64::from(removal.forget_if_empty(&conversation).await?);
        }
        Ok(false)
    }

    async fn next_to_go(
        &self,
        removal: &mut Removal<'_>,
        limits: Limits,
    ) -> Result<Option<(i64, String)>, StoreError> {
        let too_large = match limits.size {
            Some(most) => removal.size().await? > most,
            None => false,
        };
        let by_age = limits.before.map(|before| {
            sqlx::query(
                "SELECT place, conversation_id FROM tasks WHERE created_at < $1 \
                 AND status IN ('completed', 'failed', 'interrupted') ORDER BY created_at LIMIT 1",
            )
            .bind(before)
        });
        let by_size = too_large.then(|| {
            sqlx::query(
                "SELECT place, conversation_id FROM tasks \
                 WHERE status IN ('completed', 'failed', 'interrupted') ORDER BY place LIMIT 1",
            )
        });
        for query in [by_age, by_size].into_iter().flatten() {
            let row = query
                .fetch_optional(removal.connection())
                .await
                .map_err(|error| self.failed(error))?;
            if let Some(row) = row {
                return Ok(Some((self.get(&row, "place")?, self.get(&row, "conversation_id")?)));
            }
        }
        Ok(None)
    }
}

/// Gives free pages back to the disk, a few at a time.
async fn give_back(store: &Store, remover: &mut Remover<'_>) -> Result<(), StoreError> {
    let failed = |error| store.failed(error);
    let mut free_before = i64::MAX;
    loop {
        let (turn, connection) = remover.alone().await?;
        let begun = Instant::now();
        let free: i64 = loop {
            let row = sqlx::query("PRAGMA freelist_count")
                .fetch_one(&mut *connection)
                .await
                .map_err(failed)?;
            let free = row.try_get(0).map_err(failed)?;
            if free == 0 || free >= free_before || begun.elapsed() >= STEP {
                break free;
            }
            free_before = free;
            connection.execute(PAGES).await.map_err(failed)?;
        };
        drop(turn);
        // None, or a database whose pages can't be moved.
        if free == 0 || free >= free_before {
            break;
        }
        breathe(begun).await;
    }
    // First most of it, while others write; the rest is short. Who reads at this moment keeps the log
    // as it is, until the next time.
    let connection = remover.unlocked();
    connection.execute("PRAGMA busy_timeout = 20").await.map_err(failed)?;
    unless_locked(connection.execute("PRAGMA wal_checkpoint(PASSIVE)").await.map_err(failed))?;
    let (_turn, connection) = remover.alone().await?;
    unless_locked(connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").await.map_err(failed))
}

fn unless_locked<T>(done: Result<T, StoreError>) -> Result<(), StoreError> {
    match done {
        Err(error) if error.kind() != StoreErrorKind::Locked => Err(error),
        _ => Ok(()),
    }
}
