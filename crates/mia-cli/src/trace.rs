//! `mia log --trace`: all about one task, as a small timeline.

use mia_api::{PluginError, TaskRecord, ToolRecord, Usage};

use crate::table::{fitted, room};
use crate::terminal::{clean, clean_lines, fit};
use crate::time::{shown, took};
use std::time::Duration;

/// How wide a bar of the timeline is, in columns.
const BAR: usize = 24;

/// The whole of it, for people.
pub(crate) fn trace(task: &TaskRecord) -> String {
    let mut text = head(task);
    let steps = steps(task);
    if !steps.is_empty() {
        text.push('\n');
        text.push_str(&timeline(task, &steps));
    }
    if let Some(error) = &task.error {
        text.push_str(&format!("\n{}\n", clean_lines(&crate::failure::describe(error))));
    }
    text
}

fn head(task: &TaskRecord) -> String {
    let summary = &task.summary;
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    let mut rows = vec![
        row("task", summary.task_id.to_string()),
        row("conversation", summary.conversation_id.to_string()),
        row("prompt", clean(&first_lines(&summary.prompt))),
        row("folder", clean(&task.cwd.as_path().display().to_string())),
        row("accepted", shown(summary.created_at)),
        row("status", status(task)),
    ];
    let agent = [summary.plugin.as_deref(), task.model.as_deref()];
    let agent: Vec<_> = agent.into_iter().flatten().map(clean).collect();
    if !agent.is_empty() {
        rows.push(row("agent", agent.join(", ")));
    }
    if let Some(usage) = &summary.usage {
        rows.push(row("tokens", tokens(usage)));
    }
    if let Some(cost) = summary.cost_usd {
        rows.push(row("cost", format!("${cost:.4}")));
    }
    let files = task.result.as_ref().map(|result| result.files_changed.as_slice());
    for file in files.unwrap_or_default() {
        rows.push(row("changed", clean(file)));
    }
    fitted(&rows, room())
}

fn first_lines(prompt: &str) -> String {
    let mut shown: String = prompt.trim().chars().take(300).collect();
    if shown.len() < prompt.trim().len() {
        shown.push('…');
    }
    shown
}

fn status(task: &TaskRecord) -> String {
    let summary = &task.summary;
    let mut text = match &summary.error {
        Some(error) => format!("{} ({})", summary.status, error.code),
        None => summary.status.to_string(),
    };
    if let Some(duration) = summary.duration_ms {
        text.push_str(&format!(" in {}", took(Duration::from_millis(duration))));
    }
    text
}

fn tokens(usage: &Usage) -> String {
    let mut text = format!("{} in, {} out", usage.input_tokens, usage.output_tokens);
    if let Some(read) = usage.cache_read.filter(|read| *read > 0) {
        text.push_str(&format!(", {read} from the cache"));
    }
    text
}

/// Something that took its time.
struct Step {
    what: String,
    from: i64,
    took: Option<Duration>,
    failed: bool,
}

/// Attempts, each with the tools that began in it.
fn steps(task: &TaskRecord) -> Vec<Step> {
    let mut steps = Vec::new();
    for (place, attempt) in task.attempts.iter().enumerate() {
        let next = task.attempts.get(place + 1).map_or(i64::MAX, |next| next.started_at);
        let error = attempt.error.as_ref().map(outcome).unwrap_or_default();
        let took = attempt.ended_at.map(|end| millis(end - attempt.started_at));
        steps.push(Step {
            what: format!("{}{error}", clean(&attempt.plugin)),
            from: attempt.started_at,
            took,
            failed: attempt.error.is_some(),
        });
        let first = if place == 0 { i64::MIN } else { attempt.started_at };
        let of_it = |tool: &&ToolRecord| (first..next).contains(&tool.started_at);
        steps.extend(task.tools.iter().filter(of_it).map(tool));
    }
    steps
}

fn outcome(error: &PluginError) -> String {
    format!(": {} {}", error.code, clean(&error.message))
}

fn tool(tool: &ToolRecord) -> Step {
    let call = &tool.call;
    let title = if call.title.is_empty() { &call.name } else { &call.title };
    let indent = if call.parent_id.is_some() { "    " } else { "  " };
    Step {
        what: format!("{indent}{}", clean(title)),
        from: tool.started_at,
        took: tool.duration_ms.map(Duration::from_millis),
        failed: tool.result.as_ref().is_some_and(|result| result.is_error),
    }
}

fn millis(time: i64) -> Duration {
    Duration::from_millis(u64::try_from(time).unwrap_or(0))
}

fn timeline(task: &TaskRecord, steps: &[Step]) -> String {
    let start = steps.iter().map(|step| step.from).min().unwrap_or_default();
    let ends = steps.iter().map(|step| {
        let took = step.took.unwrap_or_default().as_millis();
        step.from.saturating_add(i64::try_from(took).unwrap_or(i64::MAX))
    });
    let end = ends.chain(task.ended_at).max().unwrap_or(start);
    let whole = (end - start).max(1);
    let room = room();
    let mut text = String::new();
    for step in steps {
        let mark = if step.failed { "✗" } else { " " };
        let time = step.took.map_or_else(|| "?".to_owned(), took);
        let bar = bar(step, start, whole);
        let line = format!(
            "+{:<9} {bar} {mark} {time:>9}  {}",
            took(millis(step.from - start)),
            step.what
        );
        text.push_str(&fit_to(&line, room));
        text.push('\n');
    }
    text
}

fn fit_to(line: &str, room: usize) -> String {
    if room == usize::MAX { line.to_owned() } else { fit(line, room) }
}

/// Where in the whole it was.
fn bar(step: &Step, start: i64, whole: i64) -> String {
    let cell = |time: i64| {
        let width = i64::try_from(BAR).unwrap_or(i64::MAX);
        usize::try_from(time.saturating_mul(width) / whole).unwrap_or(0).min(BAR)
    };
    let took = i64::try_from(step.took.unwrap_or_default().as_millis()).unwrap_or(i64::MAX);
    let from = cell(step.from - start).min(BAR - 1);
    let to = cell((step.from - start).saturating_add(took)).clamp(from + 1, BAR);
    let mut bar = "·".repeat(from);
    bar.push_str(&"█".repeat(to - from));
    bar.push_str(&"·".repeat(BAR - to));
    bar
}
