//! Whether a database is whole.

use sqlx::Row;

use crate::migration::STEPS;
use crate::{Store, StoreError};

impl Store {
    /// The version of the tables in an open database: the newest that this program knows.
    #[must_use]
    pub fn format(&self) -> i64 {
        STEPS.newest()
    }

    /// Reads all pages and looks whether they fit together. Takes about a second for a gigabyte;
    /// dropping the future ends it. Changes nothing.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] with the first thing that is wrong, and what a disk can do.
    pub async fn check(&self) -> Result<(), StoreError> {
        let mut reader = self.reader().await?;
        let row = sqlx::query("PRAGMA quick_check(1)").fetch_one(&mut *reader).await;
        let said: String = row.map_err(|error| self.failed(error))?.get(0);
        if said == "ok" {
            return Ok(());
        }
        // It says several lines; the last one names the damage.
        let detail = said.lines().last().unwrap_or_default().trim().to_owned();
        Err(StoreError::Corrupt { path: self.path().to_owned(), detail })
    }
}
