//! `mia log`: what was asked, and what came of it.

use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mia_store::{Filter, TaskStatus, TaskSummary};

use crate::args::LogArgs;
use crate::failure::Failure;
use crate::manual::{print, print_json};
use crate::program::block_on;
use crate::setup;
use crate::table::aligned;
use crate::terminal::{columns, fit};
use crate::time::{ago, took};

/// How many characters of a prompt are listed.
const PROMPT: usize = 60;
/// In how many the first line that is not blank is looked for.
const LOOKED_AT: u32 = 4096;

pub(crate) fn run(args: &LogArgs) -> Result<ExitCode, Failure> {
    let paths = setup::paths()?;
    let filter = Filter {
        plugin: args.plugin.clone(),
        failed: args.failed,
        conversation: args.conversation.clone(),
        grep: args.grep.clone(),
        limit: args.limit,
        prompt_chars: if args.json { None } else { Some(LOOKED_AT) },
        ..Filter::default()
    };
    let tasks = block_on(async {
        match setup::store_to_read(&paths).await? {
            Some(store) => Ok(store.recent(&filter).await?),
            None => Ok(Vec::new()),
        }
    })?;
    if args.json {
        return print_json(&tasks);
    }
    if tasks.is_empty() {
        let all = args.plugin.is_none()
            && args.conversation.is_none()
            && args.grep.is_none()
            && !args.failed
            && args.limit > 0;
        return print(if all { b"nothing was asked yet\n" } else { b"nothing was found\n" });
    }
    let list = list(&tasks);
    if !io::stdout().is_terminal() {
        return print(list.as_bytes());
    }
    let room = columns();
    let lines: String = list.lines().map(|line| format!("{}\n", fit(line, room))).collect();
    print(lines.as_bytes())
}

fn list(tasks: &[TaskSummary]) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let since =
        |then: i64| now.saturating_sub(Duration::from_millis(u64::try_from(then).unwrap_or(0)));
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
    aligned(&rows)
}

fn first_line(prompt: &str) -> String {
    let line = prompt.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    let clean = |c: char| if c.is_control() { ' ' } else { c };
    let mut shown: String = line.chars().map(clean).take(PROMPT).collect();
    if line.chars().count() > PROMPT {
        shown.push('…');
    }
    shown
}
