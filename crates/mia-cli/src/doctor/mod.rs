//! `mia doctor`: whether everything that Mia needs is there and works (M-71).
//!
//! It changes nothing and creates nothing, and it works where nothing else does: without a home,
//! with a broken configuration, with a database that can't be opened.
//!
//! | file | what |
//! |---|---|
//! | `check` | what was looked at, and what came of it |
//! | `files` | configuration, folders, disk |
//! | `database` | the record |
//! | `daemon` | whether it runs, answers and is well |
//! | `tools` | the supervisor, git, npm |
//! | `agents` | each plugin and its agent |
//! | `report` | all of it in words and as JSON |

mod agents;
mod check;
mod daemon;
mod database;
mod files;
mod report;
mod tools;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use mia_core::{NoRecord, Plugins, Registry};
use mia_host::{Supervisor, SupervisorProgram};
use mia_plugin::{Environment, Services};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::manual::{print, print_json};
use crate::program::{Program, block_on};
use crate::setup;

use check::{Check, Group};
use report::Report;

pub(crate) fn run(program: &Program, json: bool) -> Result<ExitCode, Failure> {
    let report = block_on(async { Ok(examine(program).await) })?;
    let printed = if json { print_json(&report)? } else { print(report.in_words().as_bytes())? };
    Ok(if report.ok { printed } else { Exit::Failed.into() })
}

async fn examine(program: &Program) -> Report {
    let environment = Environment::of_this_process();
    let paths = setup::paths();
    let loaded = paths.as_ref().ok().map(setup::config);
    let config = loaded.as_ref().and_then(|l| l.as_ref().ok()).map(|l| l.config.clone());
    let mut checks = files::checks(paths.as_ref(), loaded.as_ref());
    let registry = match &paths {
        Ok(paths) => program.registry(paths),
        Err(_) => program.built_in(),
    };
    let registry = registry.unwrap_or_else(|error| {
        let hint = "remove or correct that plugin".to_owned();
        checks.push(Check::failure(Group::Agents, "plugins", error.to_string(), hint));
        Registry::new()
    });
    let paths = paths.ok();
    let supervisor = Supervisor::new(SupervisorProgram::default());
    let services = Services {
        supervisor: supervisor.clone(),
        sessions: Arc::new(NoRecord),
        environment: environment.clone(),
        installed_agents: paths.as_ref().map(|paths| paths.agents_dir.clone()),
    };
    // With a broken configuration the defaults still show which agents are there.
    let known = config.is_some();
    let config = config.unwrap_or_default();
    let unknown = registry.unknown_names(&config);
    checks.extend(unknown.into_iter().filter(|(key, _)| key != "active_plugin").map(
        |(key, error)| {
            let message = format!("{key}: {error}");
            Check::warning(Group::Files, "configuration", message, "correct it, or take it out")
        },
    ));
    let plugins = Plugins::initialize(registry, config, services).await;
    let installed = paths.as_ref().map(|paths| paths.agents_dir.as_path());
    let (database, (daemon, status), tools, (agents, mut plugins)) = tokio::join!(
        database::check(paths.as_ref().map(|paths| paths.database.as_path())),
        daemon::look(program, paths.as_ref()),
        tools::checks(&supervisor, &environment),
        agents::checks(program.name, plugins, &environment, installed, known),
    );
    supervisor.shutdown().await;
    checks.extend(database);
    checks.extend(daemon);
    checks.extend(tools);
    checks.extend(agents);
    for resting in status.into_iter().flat_map(|status| status.resting) {
        checks.extend(agents::rests(program.name, &resting, &mut plugins));
    }
    let home = environment.get("HOME").map(PathBuf::from);
    Report::new(checks, plugins, home)
}
