//! `mia plugin`: see, choose and try agents.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use mia_api::{
    ConversationId, DispatchOptions, DispatchResult, EventBody, PermissionPolicy, PluginError,
    TaskId,
};
use mia_core::DispatchRequest;
use mia_plugin::Environment;

use crate::args::PluginAction;
use crate::check::{self, Check};
use crate::client::{Client, PluginStatus};
use crate::exit::Exit;
use crate::failure::{Failure, describe};
use crate::install;
use crate::manual::{print, print_json};
use crate::program::{Program, block_on};
use crate::setup;
use crate::signals::Signals;
use crate::table::fitted;
use crate::terminal::{Terminal, clean, clean_lines, columns, write};
use crate::time::took;

/// How long a test may take.
const TEST: Duration = Duration::from_secs(120);

pub(crate) fn run(
    program: &Program,
    action: PluginAction,
    quiet: bool,
) -> Result<ExitCode, Failure> {
    match action {
        PluginAction::Check { file, replay, json } => {
            check::run(program, &Check { file: &file, replay: replay.as_deref(), json, quiet })
        }
        PluginAction::Switch { name } => block_on(switch(program, &name, quiet)),
        PluginAction::List { json } => block_on(async {
            let ground = setup::ground(program).await?;
            let plugins = ground.statuses().await;
            ground.close().await;
            if json { print_json(&plugins) } else { print(list(&plugins).as_bytes()) }
        }),
        PluginAction::Info { name, json } => block_on(async {
            let ground = setup::ground(program).await?;
            let found = ground.plugin(&name).await;
            ground.close().await;
            let found = found?;
            if json { print_json(&found) } else { print(info(&found).as_bytes()) }
        }),
        PluginAction::Install { name, version, timeout, json } => {
            install::install(program, &name, version, &install::Manner { timeout, json, quiet })
        }
        PluginAction::Upgrade { names, version, timeout, json } => {
            install::upgrade(program, &names, version, &install::Manner { timeout, json, quiet })
        }
        PluginAction::Uninstall { name, json } => install::uninstall(program, &name, json, quiet),
        PluginAction::Test { name, json } => block_on(async {
            let client = setup::client(program).await?;
            let outcome = test(&client, name).await;
            client.close().await;
            tested(outcome?, json)
        }),
    }
}

fn list(plugins: &[PluginStatus]) -> String {
    let rows: Vec<_> = plugins
        .iter()
        .map(|plugin| {
            let mark = if plugin.active { "*" } else { "" };
            let state = match (plugin.enabled, plugin.available) {
                _ if plugin.broken => "broken",
                (false, _) => "disabled",
                (true, true) => "ready",
                (true, false) => "missing",
            };
            let about = match (&plugin.agent_version, &plugin.hint, &plugin.problem) {
                (_, _, Some(problem)) if plugin.broken => problem.clone(),
                (Some(version), _, None) => match plugin.found_by {
                    Some(by @ "installed by mia") => format!("{version}, {by}"),
                    _ => version.clone(),
                },
                (_, Some(hint), Some(_)) => hint.clone(),
                (_, None, Some(problem)) => problem.clone(),
                (None, _, None) => String::new(),
            };
            vec![mark.to_owned(), clean(&plugin.name), state.to_owned(), clean(&about)]
        })
        .collect();
    fitted(&rows, room())
}

/// How wide stdout is; what is no terminal takes lines of any length.
fn room() -> usize {
    if Terminal::of_stdout().there { columns() } else { usize::MAX }
}

fn info(plugin: &PluginStatus) -> String {
    let row = |name: &str, value: &str| vec![name.to_owned(), clean_lines(value)];
    let yes = |flag: bool| if flag { "yes" } else { "no" };
    let mut rows = vec![
        row("name", &plugin.name),
        row("plugin version", &plugin.version),
        row("asked by default", yes(plugin.active)),
        row("enabled", yes(plugin.enabled)),
        row("available", yes(plugin.available)),
    ];
    let more = [
        ("agent version", plugin.agent_version.as_deref()),
        ("program", plugin.binary.as_deref()),
        ("found by", plugin.found_by),
        ("problem", plugin.problem.as_deref()),
        ("what to do", plugin.hint.as_deref()),
        ("by its own rules", plugin.own_rules.as_deref()),
    ];
    rows.extend(more.into_iter().filter_map(|(name, value)| Some(row(name, value?))));
    rows.extend(plugin.lacks.iter().map(|lack| row("note", &lack.shows)));
    fitted(&rows, room())
}

async fn switch(program: &Program, name: &str, quiet: bool) -> Result<ExitCode, Failure> {
    let ground = setup::ground(program).await?;
    let plugin = ground.plugins.registry().get(name)?;
    if !ground.plugins.is_enabled(name) {
        return Err(ground.plugins.disabled(name).into());
    }
    let edited = mia_config::set(&ground.paths.config_file, "active_plugin", name)?;
    let printed =
        print(format!("{name} is asked from now on ({})\n", edited.file.display()).as_bytes())?;
    let missing = match ground.plugins.refusal(name) {
        Some(refusal) => Some(refusal.clone()),
        None => plugin.locate(&ground.environment, Path::new("/")).err(),
    };
    if let Some(error) = missing.filter(|_| !quiet) {
        let hint = error.hint.map(|hint| format!("; {hint}")).unwrap_or_default();
        write(&format!("{}\n", clean(&format!("it can't answer yet: {}{hint}", error.message))));
    }
    Ok(printed)
}

/// Asks in an empty folder of its own: the agent sees no project, and `--continue` never finds the
/// test.
async fn test(
    client: &Client,
    name: Option<String>,
) -> Result<Result<Box<DispatchResult>, Box<PluginError>>, Failure> {
    let task = TaskId::generate();
    let folder = setup::paths()?.runs_dir.join(task.as_str());
    fs::create_dir_all(&folder).map_err(|error| {
        Failure::environment(format!("can't make the folder {}: {error}", folder.display()))
    })?;
    let outcome = test_in(client, name, task, folder.clone()).await;
    // What the agent may have left there is not worth a message.
    let _ = fs::remove_dir_all(&folder);
    outcome
}

async fn test_in(
    client: &Client,
    name: Option<String>,
    task: TaskId,
    folder: PathBuf,
) -> Result<Result<Box<DispatchResult>, Box<PluginError>>, Failure> {
    let mut options = DispatchOptions::new(task, ConversationId::generate(), folder);
    options.permissions = Some(PermissionPolicy::ReadOnly);
    options.timeout_ms = Some(u64::try_from(TEST.as_millis()).unwrap_or(u64::MAX));
    options.skip_context = true;
    let request = DispatchRequest {
        prompt: "This is a test of the connection. Answer with the one word: ok".to_owned(),
        plugin: name,
        fallback: Some(false),
        ignore_breaker: true,
        options,
        environment: Environment::of_this_process(),
        attended: false,
    };
    let mut signals = Signals::listen()?;
    let mut events = client.dispatch(request).await?;
    let task = events.task_id.clone();
    loop {
        tokio::select! {
            () = signals.next() => client.abort(&task),
            event = events.next() => match event.map(|event| event.body) {
                Some(EventBody::Complete { result }) => return Ok(Ok(result)),
                Some(EventBody::Error { error }) => return Ok(Err(error)),
                Some(_) => {}
                None => break,
            },
        }
    }
    Err(Failure::environment("the test ended without a result"))
}

fn tested(
    outcome: Result<Box<DispatchResult>, Box<PluginError>>,
    json: bool,
) -> Result<ExitCode, Failure> {
    match outcome {
        Ok(result) if json => print_json(&result),
        Ok(result) => {
            let model = result.model.as_ref().map(|m| format!(" with {m}")).unwrap_or_default();
            let first = result.content.lines().next().unwrap_or_default();
            let text = format!(
                "{} works: it answered {first:?}{model} in {}\n",
                result.plugin,
                took(Duration::from_millis(result.duration_ms))
            );
            print(text.as_bytes())
        }
        Err(error) => {
            if json {
                print_json(&error)?;
            } else {
                let text = Terminal::of_stderr().error(&clean_lines(&describe(&error)));
                write(&format!("{text}\n"));
            }
            Ok(Exit::of(&error).into())
        }
    }
}
