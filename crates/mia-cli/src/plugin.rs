//! `mia plugin`: see, choose and try agents.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use mia_api::{PluginStatus, Surroundings, Switch, Switched, Tested};

use crate::args::PluginAction;
use crate::ask::environment;
use crate::check::{self, Check};
use crate::client::encoded;
use crate::exit::Exit;
use crate::failure::{Failure, describe};
use crate::install;
use crate::manual::{print, print_json};
use crate::program::{Door, Program, block_on};
use crate::setup;
use crate::signals::Signals;
use crate::table::{fitted, room};
use crate::terminal::{Terminal, clean, clean_lines, write};
use crate::time::took;

pub(crate) fn run(
    program: &Arc<Program>,
    door: Door,
    action: PluginAction,
    quiet: bool,
) -> Result<ExitCode, Failure> {
    match action {
        PluginAction::Check { file, replay, json } => {
            check::run(program, &Check { file: &file, replay: replay.as_deref(), json, quiet })
        }
        PluginAction::Switch { name } => switch(program, door, name, quiet),
        PluginAction::List { json } => {
            let plugins: Vec<PluginStatus> =
                block_on(setup::with_client(program, door, async |client| {
                    client.post("/v1/plugins", &surroundings()).await
                }))?;
            if json { print_json(&plugins) } else { print(list(&plugins).as_bytes()) }
        }
        PluginAction::Info { name, json } => {
            let path = format!("/v1/plugins/{}", encoded(&name));
            let found: PluginStatus =
                block_on(setup::with_client(program, door, async |client| {
                    client.post(&path, &surroundings()).await
                }))?;
            if json { print_json(&found) } else { print(info(&found).as_bytes()) }
        }
        PluginAction::Install { name, version, timeout, json } => {
            install::install(program, &name, version, &install::Manner { timeout, json, quiet })
        }
        PluginAction::Upgrade { names, version, timeout, json } => {
            install::upgrade(program, &names, version, &install::Manner { timeout, json, quiet })
        }
        PluginAction::Uninstall { name, json } => install::uninstall(program, &name, json, quiet),
        PluginAction::Test { name, json } => {
            let name = name.unwrap_or_else(|| "-".to_owned());
            let path = format!("/v1/plugins/{}/test", encoded(&name));
            let tested = block_on(setup::with_client(program, door, async |client| {
                let (mut signals, body) = (Signals::listen()?, surroundings());
                tokio::select! {
                    tested = client.post_long::<Tested>(&path, &body) => tested.map(Some),
                    // Nobody waits for it any more, so it ends.
                    _ = signals.next() => Ok(None),
                }
            }))?;
            tested.map_or_else(|| Ok(Exit::Interrupted.into()), |tested| told(tested, json))
        }
    }
}

fn surroundings() -> Surroundings {
    Surroundings { environment: Some(environment()) }
}

fn list(plugins: &[PluginStatus]) -> String {
    let rows: Vec<_> = plugins
        .iter()
        .map(|plugin| {
            let mark = match (plugin.active, plugin.fallback) {
                (true, _) => "*".to_owned(),
                (false, Some(place)) => place.to_string(),
                (false, None) => String::new(),
            };
            let state = match (plugin.enabled, plugin.available) {
                _ if plugin.broken => "broken",
                (false, _) => "disabled",
                (true, true) if plugin.resting_ms.is_some() => "resting",
                (true, true) => "ready",
                (true, false) => "missing",
            };
            let about = match (&plugin.agent_version, &plugin.hint, &plugin.problem) {
                (_, _, Some(problem)) if plugin.broken => problem.clone(),
                (Some(version), _, None) => match plugin.found_by.as_deref() {
                    Some(by @ "installed by mia") => format!("{version}, {by}"),
                    _ => version.clone(),
                },
                (_, Some(hint), Some(_)) => hint.clone(),
                (_, None, Some(problem)) => problem.clone(),
                (None, _, None) => String::new(),
            };
            vec![mark, clean(&plugin.name), state.to_owned(), clean(&about)]
        })
        .collect();
    fitted(&rows, room())
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
        ("found by", plugin.found_by.as_deref()),
        ("problem", plugin.problem.as_deref()),
        ("what to do", plugin.hint.as_deref()),
        ("by its own rules", plugin.own_rules.as_deref()),
    ];
    rows.extend(more.into_iter().filter_map(|(name, value)| Some(row(name, value?))));
    rows.extend(plugin.lacks.iter().map(|lack| row("note", &lack.shows)));
    fitted(&rows, room())
}

fn switch(
    program: &Arc<Program>,
    door: Door,
    name: String,
    quiet: bool,
) -> Result<ExitCode, Failure> {
    let body = Switch { name: name.clone(), environment: Some(environment()) };
    let switched: Switched = block_on(setup::with_client(program, door, async |client| {
        client.put("/v1/active-plugin", &body).await
    }))?;
    let file = switched.file.as_path().display();
    let printed = print(format!("{name} is asked from now on ({file})\n").as_bytes())?;
    if let Some(problem) = switched.problem.filter(|_| !quiet) {
        let hint = switched.hint.map(|hint| format!("; {hint}")).unwrap_or_default();
        write(&format!("{}\n", clean(&format!("it can't answer yet: {problem}{hint}"))));
    }
    Ok(printed)
}

fn told(tested: Tested, json: bool) -> Result<ExitCode, Failure> {
    let outcome = match tested {
        Tested { result: Some(result), .. } => Ok(result),
        Tested { error: Some(error), .. } => Err(error),
        Tested { result: None, error: None } => {
            return Err(Failure::environment("the test ended without a result"));
        }
    };
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
