//! `mia tasks`, `mia abort`: what waits and runs, and its end.

use std::process::ExitCode;
use std::sync::Arc;

use mia_api::{Aborted, TaskStatus, TaskSummary};

use crate::args::AbortArgs;
use crate::client::Watching;
use crate::failure::Failure;
use crate::log::first_line;
use crate::manual::{print, print_json};
use crate::program::{Door, Program, block_on};
use crate::setup;
use crate::table::{lines, room};
use crate::time::{since, took};

pub(crate) fn list(program: &Arc<Program>, door: Door, json: bool) -> Result<ExitCode, Failure> {
    let tasks: Vec<TaskSummary> =
        block_on(setup::with_client(program, door, async |client| client.get("/v1/tasks").await))?;
    if json {
        return print_json(&tasks);
    }
    if tasks.is_empty() {
        return print(b"nothing waits and nothing runs\n");
    }
    print(table(&tasks).as_bytes())
}

/// Tasks that have not ended, one a line.
pub(crate) fn table(tasks: &[TaskSummary]) -> String {
    let rows: Vec<_> = tasks
        .iter()
        .map(|task| {
            let from = match (task.status, task.started_at) {
                (TaskStatus::Running, Some(started)) => started,
                _ => task.created_at,
            };
            vec![
                task.task_id.to_string(),
                task.plugin.clone().unwrap_or_default(),
                task.status.as_str().to_owned(),
                took(since(from)),
                first_line(&task.prompt),
            ]
        })
        .collect();
    lines(&rows, room())
}

/// Asks for the end, and returns once it is there.
pub(crate) fn abort(
    program: &Arc<Program>,
    door: Door,
    args: &AbortArgs,
) -> Result<ExitCode, Failure> {
    let aborted = block_on(setup::with_client(program, door, async |client| {
        let mut asked = Vec::new();
        if args.all {
            let Aborted { tasks } = client.post("/v1/abort", &()).await?;
            asked = tasks;
        }
        for task in &args.tasks {
            let Aborted { tasks } = client.post(&format!("/v1/tasks/{task}/abort"), &()).await?;
            asked.extend(tasks);
        }
        for task in &asked {
            let mut events = client.watch(task, Watching::default()).await?;
            while events.next().await?.is_some() {}
        }
        Ok(asked)
    }))?;
    if args.json {
        return print_json(&Aborted { tasks: aborted });
    }
    if aborted.is_empty() {
        let what = if args.all { "nothing waits and nothing runs" } else { "it had ended before" };
        return print(format!("{what}\n").as_bytes());
    }
    print(aborted.iter().map(|task| format!("aborted {task}\n")).collect::<String>().as_bytes())
}
