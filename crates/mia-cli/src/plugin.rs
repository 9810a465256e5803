//! `mia plugin`: see, choose and try agents.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use mia_api::{
    ConversationId, DispatchOptions, DispatchResult, EventBody, PermissionPolicy, PluginError,
    TaskId,
};
use mia_core::{DispatchRequest, RegistryError};
use mia_plugin::{CodingPlugin, Environment, Probe};
use serde::Serialize;

use crate::args::PluginAction;
use crate::client::Client;
use crate::failure::{Failure, describe};
use crate::manual::{print, print_json};
use crate::program::{Program, block_on};
use crate::setup;
use crate::table::aligned;

/// How long a test may take.
const TEST: Duration = Duration::from_secs(120);

pub(crate) fn run(program: &Program, action: PluginAction) -> Result<ExitCode, Failure> {
    match action {
        PluginAction::Switch { name } => switch(program, &name),
        PluginAction::List { json } => block_on(async {
            let client = setup::client(program).await?;
            let plugins = all(&client).await;
            client.close().await;
            if json { print_json(&plugins) } else { print(list(&plugins).as_bytes()) }
        }),
        PluginAction::Info { name, json } => block_on(async {
            let client = setup::client(program).await?;
            let found = one(&client, &name).await;
            client.close().await;
            let found = found?;
            if json { print_json(&found) } else { print(info(&found).as_bytes()) }
        }),
        PluginAction::Test { name, json } => block_on(async {
            let client = setup::client(program).await?;
            let outcome = test(&client, name).await;
            client.close().await;
            tested(outcome?, json)
        }),
    }
}

/// A plugin as it is listed.
#[derive(Debug, Serialize)]
struct Listed {
    name: String,
    /// The plugin's own version.
    version: String,
    /// True for the one that is asked when none is named.
    active: bool,
    enabled: bool,
    available: bool,
    /// What its agent says of itself.
    agent_version: Option<String>,
    binary: Option<String>,
    found_by: Option<&'static str>,
    problem: Option<String>,
    hint: Option<String>,
}

/// Every plugin, each agent asked for its version at the same time.
async fn all(client: &Client) -> Vec<Listed> {
    let core = client.core();
    let active = active(client);
    let probes = core.registry().iter().map(|(name, plugin)| {
        let (name, plugin) = (name.to_owned(), std::sync::Arc::clone(plugin));
        tokio::spawn(async move {
            let probe = plugin.probe().await;
            (name, plugin, probe)
        })
    });
    let mut plugins = Vec::new();
    for probe in probes.collect::<Vec<_>>() {
        if let Ok((name, plugin, probe)) = probe.await {
            let is_active = active.as_deref() == Some(&name);
            plugins.push(listed(client, plugin.as_ref(), &name, is_active, probe));
        }
    }
    plugins
}

async fn one(client: &Client, name: &str) -> Result<Listed, Failure> {
    let plugin = client.core().registry().get(name)?;
    let is_active = active(client).as_deref() == Some(name);
    let probe = plugin.probe().await;
    Ok(listed(client, plugin.as_ref(), name, is_active, probe))
}

fn listed(
    client: &Client,
    plugin: &dyn CodingPlugin,
    name: &str,
    active: bool,
    probe: Probe,
) -> Listed {
    Listed {
        name: name.to_owned(),
        version: plugin.version().to_owned(),
        active,
        enabled: client.core().is_enabled(name),
        available: probe.problem.is_none(),
        agent_version: probe.version,
        binary: probe.binary.map(|path| path.display().to_string()),
        found_by: probe.found_by,
        problem: probe.problem,
        hint: probe.hint,
    }
}

/// The plugin that is asked when none is named.
fn active(client: &Client) -> Option<String> {
    let environment = Environment::of_this_process();
    let plugin = client.core().choose(None, &environment, Path::new("/")).ok()?;
    Some(plugin.name().to_owned())
}

fn list(plugins: &[Listed]) -> String {
    let rows: Vec<_> = plugins
        .iter()
        .map(|plugin| {
            let mark = if plugin.active { "*" } else { "" };
            let state = match (plugin.enabled, plugin.available) {
                (false, _) => "disabled",
                (true, true) => "ready",
                (true, false) => "missing",
            };
            let about = match (&plugin.agent_version, &plugin.hint, &plugin.problem) {
                (Some(version), _, None) => version.clone(),
                (_, Some(hint), Some(_)) => hint.clone(),
                (_, None, Some(problem)) => problem.clone(),
                (None, _, None) => String::new(),
            };
            vec![mark.to_owned(), plugin.name.clone(), state.to_owned(), about]
        })
        .collect();
    aligned(&rows)
}

fn info(plugin: &Listed) -> String {
    let row = |name: &str, value: &str| vec![name.to_owned(), value.to_owned()];
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
    ];
    rows.extend(more.into_iter().filter_map(|(name, value)| Some(row(name, value?))));
    aligned(&rows)
}

fn switch(program: &Program, name: &str) -> Result<ExitCode, Failure> {
    let registry = program.registry()?;
    registry.get(name)?;
    let paths = setup::paths()?;
    let loaded = setup::config(&paths)?;
    let is_enabled = |name: &str| loaded.config.plugin(name).enabled;
    if !is_enabled(name) {
        let enabled = registry.names().filter(|n| is_enabled(n)).map(str::to_owned).collect();
        return Err(RegistryError::Disabled { name: name.to_owned(), enabled }.into());
    }
    let edited = mia_config::set(&paths.config_file, "active_plugin", name)?;
    print(format!("{name} is asked from now on ({})\n", edited.file.display()).as_bytes())
}

async fn test(
    client: &Client,
    name: Option<String>,
) -> Result<Result<Box<DispatchResult>, Box<PluginError>>, Failure> {
    let cwd = setup::working_directory(None)?;
    let mut options = DispatchOptions::new(TaskId::generate(), ConversationId::generate(), cwd);
    options.permissions = Some(PermissionPolicy::ReadOnly);
    options.timeout_ms = Some(u64::try_from(TEST.as_millis()).unwrap_or(u64::MAX));
    options.skip_context = true;
    let request = DispatchRequest {
        prompt: "This is a test of the connection. Answer with the one word: ok".to_owned(),
        plugin: name,
        options,
        environment: Environment::of_this_process(),
        attended: false,
    };
    let mut events = client.dispatch(request).await?;
    while let Some(event) = events.next().await {
        match event.body {
            EventBody::Complete { result } => return Ok(Ok(result)),
            EventBody::Error { error } => return Ok(Err(error)),
            _ => {}
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
                "{} works: it answered {first:?}{model} in {} ms\n",
                result.plugin, result.duration_ms
            );
            print(text.as_bytes())
        }
        Err(error) => {
            if json {
                print_json(&error)?;
            } else {
                let _ = std::io::Write::write_all(
                    &mut std::io::stderr(),
                    format!("{}\n", describe(&error)).as_bytes(),
                );
            }
            Ok(ExitCode::from(error.exit_code()))
        }
    }
}
