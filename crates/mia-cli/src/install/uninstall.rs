//! `mia plugin uninstall`.

use std::fs;
use std::io;
use std::process::ExitCode;

use mia_plugin::{AgentFolder, Claim};
use serde::Serialize;

use super::command::{megabytes, unless_interrupted};
use super::lock::{self, Lock, refuse_link};
use super::progress::Progress;
use super::record::Record;
use super::sweep;
use crate::failure::Failure;
use crate::manual::{print, print_json};
use crate::program::{Program, block_on};
use crate::setup;
use crate::terminal::clean;

/// How many of the things that stay are named in words.
const NAMED: usize = 5;

/// What was removed; as JSON documented in docs/cli.md.
#[derive(Debug, Serialize)]
struct Removed {
    plugin: String,
    /// False when there was nothing.
    changed: bool,
    version: Option<String>,
    folder: String,
    bytes: u64,
    /// What stays in the folder, for Mia did not make it: names, sorted.
    kept: Vec<String>,
}

pub(crate) fn uninstall(
    program: &Program,
    name: &str,
    json: bool,
    quiet: bool,
) -> Result<ExitCode, Failure> {
    block_on(async {
        let ground = setup::ground(program).await?;
        let plugin = ground.plugins.registry().get(name)?;
        let mut progress = Progress::new(quiet);
        let agent = AgentFolder::new(&ground.paths.agents_dir, plugin.name());
        let work = take(&agent, plugin.name(), program.name, &mut progress);
        let removed = match unless_interrupted(&ground, work).await? {
            // What is begun is done, whatever the signals say: half a removal helps nobody.
            Some(taken) => remove(&agent, plugin.name(), taken, &mut progress).await?,
            None => Removed {
                plugin: plugin.name().to_owned(),
                changed: false,
                version: None,
                folder: agent.path().display().to_string(),
                bytes: 0,
                kept: Vec::new(),
            },
        };
        drop(progress);
        ground.supervisor.shutdown().await;
        if json {
            return print_json(&removed);
        }
        let Removed { plugin, version, folder, bytes, .. } = &removed;
        let version = version.as_ref().map(|v| format!(" {v}")).unwrap_or_default();
        let mut text = if removed.changed {
            format!("{plugin}{version} is removed ({folder}), {} freed\n", megabytes(*bytes))
        } else {
            format!("{} has not installed {plugin}: there is nothing to remove\n", program.name)
        };
        text.push_str(&stays(&removed, program.name));
        print(text.as_bytes())
    })
}

/// What is still there, in words.
fn stays(removed: &Removed, program: &str) -> String {
    if removed.kept.is_empty() {
        return String::new();
    }
    let names: Vec<_> = removed.kept.iter().take(NAMED).map(|name| clean(name)).collect();
    let more = match removed.kept.len().saturating_sub(names.len()) {
        0 => String::new(),
        count => format!(" and {count} more"),
    };
    let folder = &removed.folder;
    format!("{folder} stays, for {program} did not make this in it: {}{more}\n", names.join(", "))
}

/// An agent's folder, ours alone.
struct Taken {
    lock: Lock,
    /// All its versions, none of which runs.
    versions: Vec<Claim>,
    /// The one that was in use.
    version: Option<String>,
}

/// Takes the folder for its removal; none when there is none.
async fn take(
    agent: &AgentFolder,
    name: &str,
    program: &str,
    progress: &mut Progress,
) -> Result<Option<Taken>, Failure> {
    refuse_link(agent)?;
    if !agent.path().exists() {
        return Ok(None);
    }
    let lock = Lock::take(agent, name, progress).await?;
    let version = Record::of(agent).map(|record| record.version);
    let mut versions = Vec::new();
    for path in sweep::versions(agent) {
        match AgentFolder::claim(path) {
            Ok(Some(claim)) => versions.push(claim),
            Ok(None) => {
                return Err(Failure::environment(format!(
                    "a task of {name} runs from {}, so it was not removed",
                    agent.path().display()
                ))
                .with_help(format!("try again when it has ended; {program} log shows it")));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(cant_be_removed(agent, &error)),
        }
    }
    Ok(Some(Taken { lock, versions, version }))
}

async fn remove(
    agent: &AgentFolder,
    name: &str,
    taken: Taken,
    progress: &mut Progress,
) -> Result<Removed, Failure> {
    let Taken { lock: held, versions, version } = taken;
    let ours = agent.clone();
    let changed = !versions.is_empty();
    let work = tokio::task::spawn_blocking(move || {
        let bytes = versions.iter().map(|version| sweep::size(version.path())).sum();
        // From here on nobody finds it, even if the rest is not reached.
        ours.unlink()?;
        for version in versions {
            version.remove()?;
        }
        let kept = sweep::foreign(&ours)
            .into_iter()
            .filter_map(|path| path.file_name().map(|name| name.to_string_lossy().into_owned()));
        let kept: Vec<String> = kept.collect();
        // Whoever waits for the lock notices that it has gone.
        fs::remove_file(ours.path().join(lock::FILE))?;
        let removed = match fs::remove_dir(ours.path()) {
            // Somebody else's files, or the next installation has begun.
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok((bytes, kept)),
            outcome => outcome.map(|()| (bytes, kept)),
        };
        drop(held);
        removed
    });
    let outcome = progress.during(&format!("removing {name}"), work).await;
    let removed = outcome.unwrap_or_else(|error| Err(io::Error::other(error)));
    let (bytes, kept) = removed.map_err(|error| cant_be_removed(agent, &error))?;
    let folder = agent.path().display().to_string();
    Ok(Removed { plugin: name.to_owned(), changed, version, folder, bytes, kept })
}

fn cant_be_removed(agent: &AgentFolder, error: &io::Error) -> Failure {
    Failure::environment(format!("the folder {} can't be removed: {error}", agent.path().display()))
}
