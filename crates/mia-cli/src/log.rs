//! `mia log`: what was asked, and what came of it.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use mia_api::{TaskRecord, TaskStatus, TaskSummary};

use crate::args::LogArgs;
use crate::client::Query;
use crate::failure::Failure;
use crate::manual::{print, print_json};
use crate::program::{Door, Program, block_on};
use crate::setup;
use crate::table::{lines, room};
use crate::time::{ago, since, took};
use crate::trace::trace;

/// How many characters of a prompt are listed.
const PROMPT: usize = 60;
/// In how many the first line that is not blank is looked for.
const LOOKED_AT: u32 = 4096;

pub(crate) fn run(program: &Arc<Program>, door: Door, args: &LogArgs) -> Result<ExitCode, Failure> {
    if let Some(task) = &args.trace {
        let path = format!("/v1/tasks/{task}");
        let task: TaskRecord =
            block_on(setup::with_client(program, door, async |client| client.get(&path).await))?;
        return if args.json { print_json(&task) } else { print(trace(&task).as_bytes()) };
    }
    let path = Query::new("/v1/history")
        .with("limit", args.limit)
        .with("failed", args.failed)
        .with_some("plugin", args.plugin.as_ref())
        .with_some("conversation", args.conversation.as_ref())
        .with_some("grep", args.grep.as_ref())
        .with_some("since", args.since)
        .with_some("prompt_chars", (!args.json).then_some(LOOKED_AT))
        .path();
    let tasks: Vec<TaskSummary> =
        block_on(setup::with_client(program, door, async |client| client.get(&path).await))?;
    if args.json {
        return print_json(&tasks);
    }
    if tasks.is_empty() {
        let all = args.plugin.is_none()
            && args.conversation.is_none()
            && args.grep.is_none()
            && args.since.is_none()
            && !args.failed
            && args.limit > 0;
        return print(if all { b"nothing was asked yet\n" } else { b"nothing was found\n" });
    }
    print(list(&tasks).as_bytes())
}

fn list(tasks: &[TaskSummary]) -> String {
    let rows: Vec<_> = tasks
        .iter()
        .map(|task| {
            let time = match (task.status, task.duration_ms, task.started_at) {
                (TaskStatus::Running, None, Some(started)) => Some(since(started)),
                (_, duration, _) => duration.map(Duration::from_millis),
            };
            let outcome = match (&task.error, task.status) {
                (Some(error), TaskStatus::Failed) => error.code.as_str().to_owned(),
                (_, status) => status.as_str().to_owned(),
            };
            vec![
                ago(since(task.created_at)),
                task.plugin.clone().unwrap_or_default(),
                outcome,
                time.map(took).unwrap_or_default(),
                first_line(&task.prompt),
            ]
        })
        .collect();
    lines(&rows, room())
}

/// The first line of a prompt that says something, cut.
pub(crate) fn first_line(prompt: &str) -> String {
    let line = prompt.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    let clean = |c: char| if c.is_control() { ' ' } else { c };
    let mut shown: String = line.chars().map(clean).take(PROMPT).collect();
    if line.chars().count() > PROMPT {
        shown.push('…');
    }
    shown
}
