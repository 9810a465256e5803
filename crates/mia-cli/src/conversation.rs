//! `mia conversation`, `mia gc`: what is on record of conversations, and forgetting it.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use mia_api::{Cleaned, Cleanup, ConversationRecord, ConversationSummary, Rename, TaskRecord};

use crate::args::{ConversationAction, GcArgs};
use crate::client::Query;
use crate::failure::Failure;
use crate::log::first_line;
use crate::manual::{print, print_json};
use crate::program::{Door, Program, block_on};
use crate::setup;
use crate::table::{lines, room};
use crate::terminal::{clean, clean_lines, defused};
use crate::time::{ago, shown, since};

pub(crate) fn run(
    program: &Arc<Program>,
    door: Door,
    action: ConversationAction,
) -> Result<ExitCode, Failure> {
    match action {
        ConversationAction::List { limit, here, json } => list(program, door, limit, here, json),
        ConversationAction::Show { id, limit, json } => {
            let path = format!("/v1/conversations/{id}?limit={limit}");
            let (conversation, tasks) =
                block_on(setup::with_client(program, door, async |client| {
                    let found: ConversationRecord = client.get(&path).await?;
                    let mut tasks = Vec::new();
                    if !json {
                        for task in found.tasks.iter().rev() {
                            let path = format!("/v1/tasks/{}", task.task_id);
                            tasks.push(client.get::<TaskRecord>(&path).await?);
                        }
                    }
                    Ok((found, tasks))
                }))?;
            if json { print_json(&conversation) } else { print(talk(&tasks).as_bytes()) }
        }
        ConversationAction::Rename { id, name } => {
            let path = format!("/v1/conversations/{id}");
            block_on(setup::with_client(program, door, async |client| {
                client.patch(&path, &Rename { title: name.clone() }).await
            }))?;
            Ok(ExitCode::SUCCESS)
        }
        ConversationAction::Delete { ids } => {
            block_on(setup::with_client(program, door, async |client| {
                for id in &ids {
                    client.delete(&format!("/v1/conversations/{id}")).await?;
                }
                Ok(())
            }))?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn list(
    program: &Arc<Program>,
    door: Door,
    limit: u32,
    here: bool,
    json: bool,
) -> Result<ExitCode, Failure> {
    let mut query = Query::new("/v1/conversations").with("limit", limit);
    if here {
        let cwd = setup::working_directory(None)?;
        let cwd = cwd.to_str().ok_or_else(|| {
            Failure::usage("the name of this folder is not UTF-8, so it can't be asked for")
        })?;
        query = query.with("cwd", cwd);
    }
    let path = query.path();
    let found: Vec<ConversationSummary> =
        block_on(setup::with_client(program, door, async |client| client.get(&path).await))?;
    if json {
        return print_json(&found);
    }
    if found.is_empty() {
        return print(b"there are no conversations yet\n");
    }
    let rows: Vec<_> = found
        .iter()
        .map(|conversation| {
            let tasks = if conversation.tasks == 1 { "task" } else { "tasks" };
            vec![
                conversation.conversation_id.to_string(),
                ago(since(conversation.updated_at)),
                format!("{} {tasks}", conversation.tasks),
                clean(conversation.plugin.as_deref().unwrap_or_default()),
                match &conversation.title {
                    Some(title) => clean(title),
                    None => first_line(&conversation.first_prompt),
                },
            ]
        })
        .collect();
    print(lines(&rows, room()).as_bytes())
}

/// What was asked and answered, oldest first.
fn talk(tasks: &[TaskRecord]) -> String {
    let mut text = String::new();
    for task in tasks {
        let plugin = task.summary.plugin.as_deref().unwrap_or("nobody");
        let at = shown(task.summary.created_at);
        let prompt = clean_lines(task.summary.prompt.trim_end());
        text.push_str(&format!("── {at}  {}\n\n", task.summary.task_id));
        text.push_str(&prompt.lines().map(|line| format!("> {line}\n")).collect::<String>());
        text.push_str(&format!("\n{}: ", clean(plugin)));
        let partial = task.error.as_ref().and_then(|error| error.partial.as_ref());
        let answer = match (&task.result, partial) {
            (Some(result), _) => result.content.as_str(),
            (None, Some(partial)) => partial.content.as_str(),
            (None, None) => "",
        };
        text.push_str(defused(answer.trim_end()).as_ref());
        if let Some(error) = &task.error {
            text.push_str(&format!("\n({}: {})", error.code, clean(&error.message)));
        }
        text.push_str("\n\n");
    }
    text
}

pub(crate) fn gc(program: &Arc<Program>, door: Door, args: &GcArgs) -> Result<ExitCode, Failure> {
    let max_age_ms = millis(args.max_age);
    let cleaned: Cleaned = block_on(setup::with_client(program, door, async |client| {
        client.post_long("/v1/cleanup", &Cleanup { max_age_ms }).await
    }))?;
    if args.json {
        return print_json(&cleaned);
    }
    let text = match cleaned.sessions {
        0 => "nothing to forget\n".to_owned(),
        1 => "1 session was forgotten\n".to_owned(),
        more => format!("{more} sessions were forgotten\n"),
    };
    print(text.as_bytes())
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
