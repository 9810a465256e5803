//! `mia plugin upgrade`.

use std::process::ExitCode;

use mia_plugin::AgentFolder;

use super::command::{Installed, Manner, installable, into_place, told, unless_interrupted};
use super::progress::Progress;
use super::record::Record;
use super::version;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::manual::{print, print_json};
use crate::program::{Program, block_on};
use crate::setup::{self, Ground};

pub(crate) fn upgrade(
    program: &Program,
    names: &[String],
    flag: Option<String>,
    manner: &Manner,
) -> Result<ExitCode, Failure> {
    let asked = names.iter().map(|name| version::asked(name, flag.clone()));
    let asked: Vec<_> = asked.collect::<Result<_, _>>()?;
    block_on(async {
        let ground = setup::ground(program).await?;
        let asked = if asked.is_empty() { all(&ground) } else { asked };
        let mut progress = Progress::new(manner.quiet);
        let mut done: Vec<Installed> = Vec::new();
        let mut failed: Option<Exit> = None;
        let mut newer = false;
        for (name, version) in asked {
            let one = one(&ground, program, &name, version, manner, &mut progress);
            match unless_interrupted(&ground, one).await {
                Ok(Outcome::Installed(installed)) => {
                    if !manner.json {
                        print(told(&installed, program.name).as_bytes())?;
                    }
                    done.push(*installed);
                }
                Ok(Outcome::Newer(text)) => {
                    newer = true;
                    progress.note(&text);
                }
                // What was done before is told all the same.
                Err(failure) if failure.exit() == Exit::Interrupted => {
                    failure.report(program.name);
                    failed = Some(Exit::Interrupted);
                    break;
                }
                // The others are not its business.
                Err(failure) => {
                    failure.report(program.name);
                    failed.get_or_insert(failure.exit());
                }
            }
        }
        drop(progress);
        ground.supervisor.shutdown().await;
        if manner.json {
            print_json(&done)?;
        } else if done.is_empty() && !newer && failed.is_none() && names.is_empty() {
            let text = format!("{} has installed no agent that could be upgraded\n", program.name);
            print(text.as_bytes())?;
        }
        Ok(failed.unwrap_or(Exit::Done).into())
    })
}

/// All that Mia has installed, to the version that it was made for.
fn all(ground: &Ground) -> Vec<(String, Option<String>)> {
    let plugins = ground.plugins.registry().iter();
    let installed = plugins.filter(|(name, plugin)| {
        plugin.package().is_some()
            && AgentFolder::new(&ground.paths.agents_dir, name).current().is_some()
    });
    installed.map(|(name, _)| (name.to_owned(), None)).collect()
}

enum Outcome {
    Installed(Box<Installed>),
    /// What is there is newer than what this Mia was made for, and stays.
    Newer(String),
}

async fn one(
    ground: &Ground,
    program: &Program,
    name: &str,
    version: Option<String>,
    manner: &Manner,
    progress: &mut Progress,
) -> Result<Outcome, Failure> {
    let (plugin, package) = installable(ground, name, program.name)?;
    let agent = AgentFolder::new(&ground.paths.agents_dir, name);
    if agent.current().is_none() {
        let failure = Failure::usage(format!("{} has not installed {name}", program.name));
        return Err(failure.with_help("To do so:").with_example(format!("plugin install {name}")));
    }
    // Somebody chose that one; who wants the older one says so.
    let newer = Record::of(&agent)
        .filter(|there| version.is_none() && version::is_newer(&there.version, &package.version));
    if let Some(there) = newer {
        return Ok(Outcome::Newer(format!(
            "{name} {} is newer than {}, which {} was made for, and stays",
            there.version, package.version, program.name
        )));
    }
    let installed = into_place(ground, plugin, &package, version, manner, progress).await?;
    Ok(Outcome::Installed(Box::new(installed)))
}
