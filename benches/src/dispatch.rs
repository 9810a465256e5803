//! Dispatches through the plugin: one long stream, or many short ones in a row.

use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};

use crate::plugin::Subject;
use crate::{Failure, meter};

/// One dispatch, from its start to its result with all events read.
pub(crate) async fn stream(child: &Path) -> Result<Value, Failure> {
    let subject = Subject::new(child, 1).await?;
    let pid = subject.supervisor_pid();
    let began = Instant::now();
    let (cpu, supervisor_cpu) = (meter::cpu(), meter::cpu_of(pid));
    let answer = subject.ask("stream", || {}).await;
    let wall = began.elapsed();
    let cpu = meter::cpu() - cpu;
    let supervisor_cpu = meter::cpu_of(pid).saturating_sub(supervisor_cpu);
    let outcome = match &answer.result {
        Ok(_) => "ok".to_owned(),
        Err(error) => error.code.as_str().to_owned(),
    };
    let content_bytes = answer.result.as_ref().map_or(0, |result| result.content.len());
    Ok(json!({
        "wall_us": meter::micros(wall),
        "cpu_us": meter::micros(cpu),
        "supervisor_cpu_us": meter::micros(supervisor_cpu),
        "events": answer.events,
        "text_bytes": answer.text_bytes,
        "content_bytes": content_bytes,
        "peak_kib": meter::peak_kib(),
        "supervisor_peak_kib": meter::peak_kib_of(pid),
        "outcome": outcome,
    }))
}

/// Dispatches one after the other; the first is not counted, for the supervisor gets ready in it.
pub(crate) async fn run(child: &Path, count: usize) -> Result<Value, Failure> {
    let subject = Subject::new(child, 1).await?;
    let mut times = Vec::new();
    for number in 0..=count {
        let began = Instant::now();
        let answer = subject.ask(&format!("dispatch-{number}"), || {}).await;
        times.push(began.elapsed());
        answer.result.map_err(|error| error.message)?;
    }
    times.remove(0);
    Ok(json!({ "median_us": meter::median(times) }))
}
