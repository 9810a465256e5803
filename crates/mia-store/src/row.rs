//! How values of ours stand in the database's columns.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mia_api::{ConversationId, TaskId, TaskStatus, Usage};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use crate::{Store, StoreError};

/// Unix milliseconds now.
pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// A count as SQL has it.
pub(crate) fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A count as we have it.
pub(crate) fn unsigned(count: i64) -> u64 {
    u64::try_from(count).unwrap_or(0)
}

/// A path as SQL has it.
pub(crate) fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

/// A path as we have it.
pub(crate) fn path(bytes: Vec<u8>) -> PathBuf {
    PathBuf::from(OsString::from_vec(bytes))
}

/// The longest beginning of `text` of at most that many bytes.
pub(crate) fn head(text: &str, most: usize) -> &str {
    text.get(..text.floor_char_boundary(most)).unwrap_or(text)
}

/// What is left of `text` without at least that many bytes at its front.
pub(crate) fn tail_from(text: &str, at_least: usize) -> &str {
    text.get(text.ceil_char_boundary(at_least)..).unwrap_or("")
}

impl Store {
    /// A column.
    pub(crate) fn get<'r, T>(&self, row: &'r SqliteRow, name: &str) -> Result<T, StoreError>
    where
        T: sqlx::Decode<'r, sqlx::Sqlite> + sqlx::Type<sqlx::Sqlite>,
    {
        row.try_get(name).map_err(|error| self.failed(error))
    }

    /// A column with a status.
    pub(crate) fn status(&self, row: &SqliteRow) -> Result<TaskStatus, StoreError> {
        let text: &str = self.get(row, "status")?;
        word(text).ok_or_else(|| self.bad_record(format!("a task has the status {text:?}")))
    }

    /// A column with a task's id.
    pub(crate) fn task_id(&self, row: &SqliteRow, name: &str) -> Result<TaskId, StoreError> {
        let text: &str = self.get(row, name)?;
        TaskId::from_str(text).map_err(|error| self.bad_record(error))
    }

    /// A column with a conversation's id.
    pub(crate) fn conversation_id(
        &self,
        row: &SqliteRow,
        name: &str,
    ) -> Result<ConversationId, StoreError> {
        let text: &str = self.get(row, name)?;
        ConversationId::from_str(text).map_err(|error| self.bad_record(error))
    }

    /// A column with a count that may be unknown.
    pub(crate) fn count(&self, row: &SqliteRow, name: &str) -> Result<Option<u64>, StoreError> {
        Ok(self.get::<Option<i64>>(row, name)?.map(unsigned))
    }

    /// The columns with a task's tokens.
    pub(crate) fn tokens(&self, row: &SqliteRow) -> Result<Option<Usage>, StoreError> {
        let input = self.count(row, "input_tokens")?;
        let output = self.count(row, "output_tokens")?;
        let (Some(input_tokens), Some(output_tokens)) = (input, output) else {
            return Ok(None);
        };
        Ok(Some(Usage {
            input_tokens,
            output_tokens,
            cache_creation: self.count(row, "cache_creation")?,
            cache_read: self.count(row, "cache_read")?,
        }))
    }

    /// Reads JSON that this crate wrote.
    pub(crate) fn json<T: DeserializeOwned>(&self, text: &str) -> Result<T, StoreError> {
        serde_json::from_str(text).map_err(|error| self.bad_record(error))
    }

    /// Writes JSON.
    pub(crate) fn to_json<T: Serialize + ?Sized>(&self, value: &T) -> Result<String, StoreError> {
        serde_json::to_string(value).map_err(|error| self.bad_record(error))
    }
}

/// The value of an enumeration that serde writes as one word; none for a word of a newer version.
pub(crate) fn word<T: DeserializeOwned>(text: &str) -> Option<T> {
    serde_json::from_value(serde_json::Value::String(text.to_owned())).ok()
}

/// The word that serde writes.
pub(crate) fn to_word<T: Serialize>(value: &T) -> Option<String> {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(text)) => Some(text),
        _ => None,
    }
}
