//! The record: whether it opens, and is whole.

use std::path::Path;
use std::time::Duration;

use mia_store::{Access, OpenOptions, Store, StoreError};

use super::check::{Check, Group};
use super::files::size;

const GROUP: Group = Group::Files;
const NAME: &str = "database";
/// How long a look at all of it may take.
const LIMIT: Duration = Duration::from_secs(5);
/// How long another process that holds it is waited for.
const BUSY: Duration = Duration::from_secs(2);

/// Opens it only to look: nothing is created, changed or brought up to date.
pub(super) async fn check(path: Option<&Path>) -> Option<Check> {
    let path = path?;
    let outcome = match look(path).await {
        // Somebody may have begun to write meanwhile.
        Err(StoreError::Corrupt { .. }) => look(path).await,
        outcome => outcome,
    };
    Some(match outcome {
        Ok(check) => check,
        Err(StoreError::Missing { path }) => {
            let message = format!("no {} yet: it is made with the first prompt", path.display());
            Check::ok(GROUP, NAME, message)
        }
        Err(StoreError::Migration { path, from, to, .. }) => {
            let path = path.display();
            let message = format!("{path} has format {from}; the next prompt brings it to {to}");
            Check::info(GROUP, NAME, message)
        }
        // What it says is also what to do.
        Err(error) => Check::failure(GROUP, NAME, error.to_string(), ""),
    })
}

async fn look(path: &Path) -> Result<Check, StoreError> {
    let options =
        OpenOptions { access: Access::Look, busy_timeout: BUSY, ..OpenOptions::default() };
    let store = Store::open(path, options).await?;
    let bytes = path.metadata().map_or(0, |about| about.len());
    let about = format!("{}, {}, format {}", path.display(), size(bytes), store.format());
    let outcome = tokio::time::timeout(LIMIT, store.check()).await;
    // A look that was given up may still hold its connection.
    let _ = tokio::time::timeout(BUSY, store.close()).await;
    Ok(match outcome {
        Ok(whole) => whole.map(|()| Check::ok(GROUP, NAME, format!("{about}, whole")))?,
        Err(_) => Check::info(GROUP, NAME, format!("{about}; too large to look at all in 5 s")),
    })
}
