//! The reference for dispatches: the same child, started as any program would.

use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};

use crate::{Failure, meter};

/// A child with all its pipes, and a prompt in the first of them.
pub(crate) async fn start(program: &Path) -> Result<Child, Failure> {
    let mut child = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    if let Some(stdin) = &mut child.stdin {
        // A child that does not read may be gone by now.
        let _ = stdin.write_all(b"{}\n").await;
    }
    Ok(child)
}

pub(crate) async fn run(program: &Path, count: usize) -> Result<Value, Failure> {
    let mut times = Vec::new();
    let mut bytes = 0;
    for _ in 0..count {
        let began = Instant::now();
        let mut child = start(program).await?;
        let mut text = Vec::new();
        if let Some(stdout) = &mut child.stdout {
            bytes += stdout.read_to_end(&mut text).await?;
        }
        child.wait().await?;
        times.push(began.elapsed());
    }
    Ok(json!({ "median_us": meter::median(times), "bytes": bytes }))
}
