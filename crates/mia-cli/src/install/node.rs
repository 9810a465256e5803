//! Whether an agent needs a node of its own: npm itself runs with the person's, which may be too
//! old for the agent.

use std::path::Path;
use std::time::Duration;

use mia_host::Supervisor;
use mia_plugin::{Environment, npm_cpu};

use crate::programs::{self, Run, on_path};

const LIMIT: Duration = Duration::from_secs(20);

/// The npm package that holds the native node. The one that is called `node` is only a script that
/// fetches it, and no scripts are run.
pub(super) fn package() -> String {
    format!("node-linux-{}", npm_cpu())
}

/// The program in it, below `node_modules`.
pub(super) fn program() -> String {
    format!("{}/bin/node", package())
}

/// The version of the node on the `PATH`, such as 20.20.2; none when there is none that runs.
pub(super) async fn version(supervisor: &Supervisor, environment: &Environment) -> Option<String> {
    let run = Run {
        program: on_path(environment, "node")?,
        args: vec!["--version".into()],
        env: environment.without_secrets(&[]),
        cwd: Path::new("/").to_owned(),
        limit: LIMIT,
    };
    let said = programs::run(supervisor, run).await.ok()?;
    let version = said.stdout.trim().strip_prefix('v')?.to_owned();
    (said.ok() && super::version::is_version(&version)).then_some(version)
}

/// The first number of a version.
pub(super) fn major(version: &str) -> Option<u32> {
    version.split('.').next()?.parse().ok()
}
