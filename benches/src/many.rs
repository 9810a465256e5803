//! Many at once. The children say a word, and end when the gate is opened.

use std::path::Path;
use std::time::Instant;

use futures::future::{join_all, try_join_all};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::sync::mpsc;

use crate::plugin::Subject;
use crate::{Failure, bare, meter};

/// Dispatches at once.
pub(crate) async fn run(child: &Path, count: usize, gate: &Path) -> Result<Value, Failure> {
    let subject = Subject::new(child, count).await?;
    let (started, mut starts) = mpsc::unbounded_channel();
    let began = Instant::now();
    let names: Vec<String> = (0..count).map(|number| format!("many-{number}")).collect();
    let dispatches = join_all(names.iter().map(|name| {
        let started = started.clone();
        subject.ask(name, move || {
            // Whoever counts the starts is there until all have come.
            let _ = started.send(());
        })
    }));
    drop(started);
    let open = async {
        for _ in 0..count {
            starts.recv().await;
        }
        let running = began.elapsed();
        let threads = meter::threads();
        std::fs::write(gate, "").map(|()| (running, threads))
    };
    let (answers, opened) = tokio::join!(dispatches, open);
    let (running, threads) = opened?;
    for answer in answers {
        answer.result.map_err(|error| error.message)?;
    }
    Ok(json!({
        "running_us": meter::micros(running),
        "ended_us": meter::micros(began.elapsed() - running),
        "threads": threads,
        "peak_kib": meter::peak_kib(),
    }))
}

/// The reference: the same children, started bare.
pub(crate) async fn bare(child: &Path, count: usize, gate: &Path) -> Result<Value, Failure> {
    let began = Instant::now();
    let mut children = try_join_all((0..count).map(|_| async {
        let mut child = bare::start(child).await?;
        let mut stdout = BufReader::new(child.stdout.take().ok_or("no stdout")?);
        stdout.read_line(&mut String::new()).await?;
        Ok::<_, Failure>((child, stdout))
    }))
    .await?;
    let running = began.elapsed();
    let threads = meter::threads();
    std::fs::write(gate, "")?;
    try_join_all(children.iter_mut().map(|(child, stdout)| async move {
        stdout.read_to_end(&mut Vec::new()).await?;
        child.wait().await
    }))
    .await?;
    Ok(json!({
        "running_us": meter::micros(running),
        "ended_us": meter::micros(began.elapsed() - running),
        "threads": threads,
        "peak_kib": meter::peak_kib(),
    }))
}
