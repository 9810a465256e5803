//! What Mia works with: its supervisor, git, npm.

use std::path::Path;
use std::time::{Duration, Instant};

use mia_host::Supervisor;
use mia_plugin::Environment;

use super::check::{Check, Group};
use crate::programs::{self, Run, on_path};

const GROUP: Group = Group::Tools;
const LIMIT: Duration = Duration::from_secs(5);

pub(super) async fn checks(supervisor: &Supervisor, environment: &Environment) -> Vec<Check> {
    let (supervisor, git) = tokio::join!(itself(supervisor), git(supervisor, environment));
    vec![supervisor, git, npm(environment)]
}

/// Starts this very program through the supervisor, as an agent is started.
async fn itself(supervisor: &Supervisor) -> Check {
    let name = "supervisor";
    let began = Instant::now();
    let run = Run {
        program: "/proc/self/exe".into(),
        args: vec!["--version".into()],
        env: Vec::new(),
        cwd: Path::new("/").to_owned(),
        limit: LIMIT,
    };
    let failed = |what: String| {
        let hint = "no agent can be started; is /proc there, and may processes be started?";
        Check::failure(GROUP, name, what, hint)
    };
    match programs::run(supervisor, run).await {
        Ok(said) if said.ok() => {
            let took = began.elapsed().as_millis();
            Check::ok(GROUP, name, format!("it starts and ends programs ({took} ms)"))
        }
        Ok(said) => failed(match said.exit {
            Some(exit) => format!("a program that it started ended with {exit}"),
            None => "a program that it started did not end in 5 s".to_owned(),
        }),
        Err(error) => failed(format!("it can't {error}")),
    }
}

async fn git(supervisor: &Supervisor, environment: &Environment) -> Check {
    let name = "git";
    let untold = "agents are told nothing of it otherwise";
    let missing =
        |what: String| Check::warning(GROUP, name, what, format!("install git: {untold}"));
    let broken = |what: String, shown: &str| {
        let hint = format!("see what `{shown} --version` does, or put another first: {untold}");
        Check::warning(GROUP, name, what, hint)
    };
    let Some(program) = on_path(environment, "git") else {
        return missing("it is not on the PATH".to_owned());
    };
    let shown = program.display().to_string();
    let run = Run {
        program,
        args: vec!["--version".into()],
        env: environment.without_secrets(&[]),
        cwd: Path::new("/").to_owned(),
        limit: LIMIT,
    };
    match programs::run(supervisor, run).await {
        Ok(said) if said.ok() => {
            let line = said.stdout.lines().next().unwrap_or_default();
            let version = line.strip_prefix("git version ").unwrap_or(line);
            Check::ok(GROUP, name, format!("{version} ({shown})"))
        }
        Ok(said) => {
            let what = match said.exit {
                Some(exit) => format!("{shown} --version ended with {exit}"),
                None => format!("{shown} did not tell its version in 5 s"),
            };
            broken(what, &shown)
        }
        Err(error) => broken(format!("can't {error}"), &shown),
    }
}

/// Only whether it is there: it takes its time to start, and is needed for installing alone.
fn npm(environment: &Environment) -> Check {
    match on_path(environment, "npm") {
        Some(path) => Check::ok(GROUP, "npm", path.display().to_string()),
        None => Check::info(GROUP, "npm", "it is not on the PATH; it is needed to install agents"),
    }
}
