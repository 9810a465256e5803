//! `mia plugin install`.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mia_plugin::{AgentFolder, CodingPlugin, Package};
use serde::Serialize;

use super::build::Plan;
use super::lock::Lock;
use super::progress::Progress;
use super::record::Record;
use super::{sweep, version};
use crate::failure::Failure;
use crate::manual::{print, print_json};
use crate::program::{Program, block_on};
use crate::setup::{self, Ground};
use crate::signals::Signals;
use crate::time::took;

/// How long a version that is there already may take to show that it starts.
const START: Duration = Duration::from_secs(15);

/// How it is to be done and told.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Manner {
    pub(crate) timeout: Duration,
    pub(crate) json: bool,
    pub(crate) quiet: bool,
}

/// What came of an installation; as JSON documented in docs/cli.md.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Installed {
    pub(super) plugin: String,
    pub(super) package: String,
    pub(super) version: String,
    /// The version that was there before.
    pub(super) previous: Option<String>,
    /// False when it was there already.
    pub(super) changed: bool,
    pub(super) folder: String,
    /// The program by a path that stays right after an upgrade.
    pub(super) program: String,
    /// The version of its own node, if it has one.
    pub(super) node: Option<String>,
    pub(super) bytes: u64,
    pub(super) duration_ms: u64,
    /// True when this is the program that the plugin runs.
    pub(super) used: bool,
    /// The program that the plugin runs instead.
    pub(super) used_instead: Option<String>,
}

pub(crate) fn install(
    program: &Program,
    name: &str,
    version: Option<String>,
    manner: &Manner,
) -> Result<ExitCode, Failure> {
    let (name, version) = version::asked(name, version)?;
    block_on(async {
        let ground = setup::ground(program).await?;
        let (plugin, package) = installable(&ground, &name, program.name)?;
        let mut progress = Progress::new(manner.quiet);
        let work = into_place(&ground, plugin, &package, version, manner, &mut progress);
        let installed = unless_interrupted(&ground, work).await?;
        drop(progress);
        ground.supervisor.shutdown().await;
        if manner.json {
            return print_json(&installed);
        }
        print(told(&installed, program.name).as_bytes())
    })
}

/// A plugin and the package of its agent.
///
/// # Errors
/// When there is no such plugin, it is disabled, or its agent is none that npm has.
pub(super) fn installable<'a>(
    ground: &'a Ground,
    name: &str,
    program: &str,
) -> Result<(&'a Arc<dyn CodingPlugin>, Package), Failure> {
    let plugin = ground.plugins.registry().get(name)?;
    if !ground.plugins.is_enabled(name) {
        return Err(ground.plugins.disabled(name).into());
    }
    let package = plugin.package().ok_or_else(|| {
        let all = ground.plugins.registry().iter();
        let some: Vec<_> = all.filter(|(_, p)| p.package().is_some()).map(|(n, _)| n).collect();
        Failure::usage(format!("{program} can't install an agent for the plugin {name:?}"))
            .with_help(format!("it can for: {}", some.join(", ")))
    })?;
    Ok((plugin, package))
}

/// Waits for work; a signal ends whatever it has started, and then the work.
pub(super) async fn unless_interrupted<T>(
    ground: &Ground,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let mut signals = Signals::listen()?;
    let mut work = std::pin::pin!(work);
    tokio::select! {
        outcome = &mut work => outcome,
        _ = signals.next() => {
            // All that writes is gone before what it wrote is removed.
            ground.supervisor.shutdown().await;
            Err(Failure::interrupted("interrupted; what was installed before stays as it was"))
        }
    }
}

/// Installs a version unless it is there and starts.
pub(super) async fn into_place(
    ground: &Ground,
    plugin: &Arc<dyn CodingPlugin>,
    package: &Package,
    version: Option<String>,
    manner: &Manner,
    progress: &mut Progress,
) -> Result<Installed, Failure> {
    let began = Instant::now();
    let name = plugin.name();
    let agent = AgentFolder::new(&ground.paths.agents_dir, name);
    ground.paths.ensure_state()?;
    let _lock = Lock::take(&agent, name, progress).await?;
    sweep::sweep(&agent).await;
    let version = version.unwrap_or_else(|| package.version.clone());
    let before = Record::of(&agent);
    let previous = before.as_ref().map(|record| record.version.clone());
    let there = match (before, agent.program(&package.command)) {
        (Some(record), Some((path, _hold))) if record.version == version => {
            let starts = plugin.probe_program(&path, START).await.problem.is_none();
            starts.then_some(record)
        }
        _ => None,
    };
    let (changed, record) = match there {
        Some(record) => (false, record),
        None => {
            let plan = Plan {
                plugin: plugin.as_ref(),
                package,
                version: &version,
                agent: &agent,
                supervisor: &ground.supervisor,
                environment: &ground.environment,
                limit: manner.timeout,
            };
            let (_, record) = plan.build(progress).await?.switch(&agent)?;
            sweep::sweep(&agent).await;
            (true, record)
        }
    };
    let used = plugin.locate(&ground.environment, Path::new("/")).ok().flatten();
    let ours = agent.program(&package.command).map(|(path, _)| path);
    let is_used = used.is_some() && used == ours;
    Ok(Installed {
        plugin: name.to_owned(),
        package: record.package,
        version: record.version,
        previous,
        changed,
        folder: agent.current().unwrap_or_else(|| agent.link()).display().to_string(),
        program: agent.link().join("bin").join(&package.command).display().to_string(),
        node: record.node,
        bytes: record.bytes,
        duration_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        used: is_used,
        used_instead: used.filter(|_| !is_used).map(|path| path.display().to_string()),
    })
}

/// In words.
pub(super) fn told(installed: &Installed, program: &str) -> String {
    let Installed { plugin, version, folder, .. } = installed;
    let mut text = if installed.changed {
        let size = megabytes(installed.bytes);
        let time = took(Duration::from_millis(installed.duration_ms));
        let instead = match &installed.previous {
            Some(previous) if previous != version => format!(" instead of {previous}"),
            _ => String::new(),
        };
        let node = installed.node.as_ref().map(|v| format!(" with node {v}")).unwrap_or_default();
        format!("{plugin} {version} is installed{instead}{node} ({folder}), {size}, {time}\n")
    } else {
        format!("{plugin} {version} is installed already ({folder})\n")
    };
    if installed.used {
        return text;
    }
    match &installed.used_instead {
        Some(other) => text.push_str(&format!(
            "{plugin} runs another one, which comes first on the PATH: {other}\nTo use this one:\n    \
             {program} config set plugins.{plugin}.binary {}\n",
            installed.program
        )),
        None => text.push_str(&format!(
            "{plugin} does not run it as it is configured; see: {program} plugin info {plugin}\n"
        )),
    }
    text
}

/// A size as people read it on a package.
pub(super) fn megabytes(bytes: u64) -> String {
    format!("{} MB", bytes.div_ceil(1_000_000))
}
