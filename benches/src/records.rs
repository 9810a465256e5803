//! A record with many tasks on it.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use mia_store::{OpenOptions, Store};
use serde_json::{Value, json};

use crate::Failure;

/// Makes a database with so many ended tasks.
pub(crate) async fn fill(database: PathBuf, count: u32) -> Result<Value, Failure> {
    let store = Store::open(database, OpenOptions::default()).await?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis();
    mia_store::bench::fill(&store, count, i64::try_from(now)?).await?;
    store.close().await;
    Ok(json!({ "tasks": count }))
}
