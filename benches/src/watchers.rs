//! Many who watch one task over the daemon's socket.

use std::path::{Path, PathBuf};

use futures::future::try_join_all;
use mia_api::{Event, EventBody, TaskId};
use mia_daemon::{Connection, EventSource, Watching};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};

use crate::{Failure, meter};

/// Opens so many watchers of a task that has said something and waits for the file `gate`. Once all
/// have that, measures the daemon's memory, opens the gate, and reads all to the end.
pub(crate) async fn run(
    socket: PathBuf,
    task: &TaskId,
    count: usize,
    daemon: u32,
    gate: &Path,
) -> Result<Value, Failure> {
    raise_descriptors()?;
    let connection = Connection::over(socket);
    // What one watcher makes the daemon set up is not what each of them costs.
    drop(open(&connection, task).await?);
    let idle_kib = meter::resident_kib_of(daemon);
    let watchers = try_join_all((0..count).map(|_| open(&connection, task))).await?;
    let open_kib = meter::resident_kib_of(daemon);
    std::fs::write(gate, "")?;
    let texts = try_join_all(watchers.into_iter().map(to_the_end)).await?;
    let first = texts.first().cloned().unwrap_or_default();
    Ok(json!({
        "watchers": texts.len(),
        "same": texts.iter().all(|text| *text == first),
        "text_bytes": first.len(),
        "idle_kib": idle_kib,
        "open_kib": open_kib,
        "end_kib": meter::resident_kib_of(daemon),
        "peak_kib": meter::peak_kib_of(Some(daemon)),
    }))
}

/// A watcher that has got the first text; and that text.
async fn open(connection: &Connection, task: &TaskId) -> Result<(EventSource, String), Failure> {
    let mut events = connection.watch(task, Watching::default()).await?;
    loop {
        match events.next().await? {
            Some(Event { body: EventBody::Token { text, .. }, .. }) => return Ok((events, text)),
            Some(_) => {}
            None => return Err("the task ended before it was watched".into()),
        }
    }
}

async fn to_the_end((mut events, mut all): (EventSource, String)) -> Result<String, Failure> {
    while let Some(event) = events.next().await? {
        if let EventBody::Token { text, .. } = event.body {
            all.push_str(&text);
        }
    }
    Ok(all)
}

/// As many descriptors as may be: each watcher has one.
fn raise_descriptors() -> Result<(), Failure> {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    Ok(setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })?)
}
