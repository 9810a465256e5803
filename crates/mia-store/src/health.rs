//! Whether a database is whole.

use sqlx::Row;

use crate::migration::STEPS;
use crate::open::file_id;
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

    /// Tells whether the file that is open still is the one at its path; costs one look at the folder.
    /// What is written to another one is lost to everybody else, and two that share a path damage
    /// each other: a process that goes on for long asks now and then, and opens a new store.
    ///
    /// # Errors
    /// [`StoreError::Missing`] when nothing is there any more, [`StoreError::Corrupt`] when it is
    /// another file.
    pub fn in_place(&self) -> Result<(), StoreError> {
        let path = self.path();
        match file_id(path) {
            None => Err(StoreError::Missing { path: path.to_owned() }),
            found if found == self.shared.file => Ok(()),
            Some(_) => Err(StoreError::Corrupt {
                path: path.to_owned(),
                detail: "another file was put in its place while it was open".to_owned(),
            }),
        }
    }
}
