//! One open database: the connection that writes, and the few that read.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sqlx::pool::PoolConnection;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqlitePool};
use sqlx::{ConnectOptions, Connection, Sqlite, Transaction};
use tokio::sync::{Mutex, MutexGuard, Notify};

use crate::{Access, StoreError};

/// An open database. Clones share it.
#[derive(Debug, Clone)]
pub struct Store {
    pub(crate) shared: Arc<Shared>,
}

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) path: PathBuf,
    /// Which file had this path when it was opened.
    pub(crate) file: Option<(u64, u64)>,
    pub(crate) access: Access,
    /// None when opened only to read.
    pub(crate) writer: Option<Mutex<Option<SqliteConnection>>>,
    pub(crate) writer_options: SqliteConnectOptions,
    pub(crate) readers: SqlitePool,
    /// Where owners hold their locks.
    pub(crate) owners: PathBuf,
    /// The most bytes of one tool's output that are kept.
    pub(crate) tool_output: usize,
    /// Wakes those of this process that wait for their turn.
    pub(crate) turn_ended: Notify,
}

/// The right to write, which one caller of this process has at a time.
pub(crate) struct Writer<'a> {
    connection: MutexGuard<'a, Option<SqliteConnection>>,
    shared: &'a Shared,
}

impl Writer<'_> {
    /// Begins a transaction that has the database's write lock from its start. Dropping it takes all
    /// back.
    pub(crate) async fn begin(&mut self) -> Result<Transaction<'_, Sqlite>, StoreError> {
        let failed = |error| StoreError::from_sqlx(&self.shared.path, error);
        let connection = self.connection.as_mut().ok_or_else(|| failed(closed()))?;
        if connection.is_in_transaction() {
            // The rollback of a dropped one is still on its way to the connection's thread.
            connection.ping().await.map_err(failed)?;
        }
        if connection.is_in_transaction() {
            // On a full disk SQLite takes a transaction back by itself; the driver then counts one
            // that is not there, for good, and would refuse every other.
            *connection = self.shared.writer_options.connect().await.map_err(failed)?;
        }
        connection.begin_with("BEGIN IMMEDIATE").await.map_err(failed)
    }

    /// The connection, for single reads that must see what was just written.
    pub(crate) fn connection(&mut self) -> Result<&mut SqliteConnection, StoreError> {
        let path = &self.shared.path;
        self.connection.as_mut().ok_or_else(|| StoreError::from_sqlx(path, closed()))
    }
}

/// The error of a store that was closed.
fn closed() -> sqlx::Error {
    sqlx::Error::PoolClosed
}

impl Store {
    /// The database's file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// What it was opened for.
    #[must_use]
    pub fn access(&self) -> Access {
        self.shared.access
    }

    /// Closes all connections and waits until that is done. Other clones then get errors. Dropping
    /// the last clone closes too, without waiting; neither is needed for anything to be kept.
    pub async fn close(&self) {
        self.shared.readers.close().await;
        if let Some(writer) = &self.shared.writer
            && let Some(connection) = writer.lock().await.take()
        {
            // All that this can tell is that the connection was gone before.
            let _ = connection.close().await;
        }
    }

    /// Waits for the right to write.
    pub(crate) async fn writer(&self) -> Result<Writer<'_>, StoreError> {
        let shared = &*self.shared;
        let writer = shared
            .writer
            .as_ref()
            .ok_or_else(|| StoreError::ReadOnly { path: shared.path.clone() })?;
        Ok(Writer { connection: writer.lock().await, shared })
    }

    /// A connection that reads, opened when there is none.
    pub(crate) async fn reader(&self) -> Result<PoolConnection<Sqlite>, StoreError> {
        self.shared.readers.acquire().await.map_err(|error| self.failed(error))
    }

    /// The error that stands for what the database said.
    pub(crate) fn failed(&self, error: sqlx::Error) -> StoreError {
        StoreError::from_sqlx(&self.shared.path, error)
    }

    /// The error for something on record that can't be understood.
    pub(crate) fn bad_record(&self, detail: impl ToString) -> StoreError {
        StoreError::BadRecord { path: self.shared.path.clone(), detail: detail.to_string() }
    }
}
