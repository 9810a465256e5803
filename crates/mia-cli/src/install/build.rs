//! From nothing to a version that starts.

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use mia_host::Supervisor;
use mia_plugin::{AgentFolder, CodingPlugin, Environment, Package};
use serde_json::{Value, json};

use super::npm::Npm;
use super::progress::Progress;
use super::record::Record;
use super::{node, sweep, version};
use crate::failure::Failure;

/// How long a program that was just installed may take to tell its version: nothing of it is in the
/// disk's cache, perhaps.
const FIRST_START: Duration = Duration::from_secs(30);

/// What is to be built, and with what.
#[derive(Debug)]
pub(super) struct Plan<'a> {
    pub(super) plugin: &'a dyn CodingPlugin,
    pub(super) package: &'a Package,
    /// The version, or a tag.
    pub(super) version: &'a str,
    pub(super) agent: &'a AgentFolder,
    pub(super) supervisor: &'a Supervisor,
    pub(super) environment: &'a Environment,
    pub(super) limit: Duration,
}

/// A folder that is removed again unless it was finished.
#[derive(Debug)]
struct Site {
    path: PathBuf,
    finished: bool,
}

impl Drop for Site {
    fn drop(&mut self) {
        if !self.finished {
            // The next installation removes what stays.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// A version that was built and starts, and is not run yet.
#[derive(Debug)]
pub(super) struct Built {
    site: Site,
    pub(super) record: Record,
}

impl Plan<'_> {
    /// Builds it. Until [`Built::switch`], nothing of what is there changes; when the future is
    /// dropped, nothing is left.
    pub(super) async fn build(&self, progress: &mut Progress) -> Result<Built, Failure> {
        let npm = Npm::find(self.environment)?;
        let Package { name, .. } = self.package;
        let asked = format!("{name} {}", self.version);
        let own_node = self.own_node(progress).await;
        let site =
            self.begin(own_node.is_some()).map_err(|error| self.cant("be written", &error))?;
        let fetch = npm.install(self.supervisor, &site.path, name, self.limit);
        progress.during(&format!("npm installs {asked}"), fetch).await?;

        let told = installed_version(&site.path, name).ok_or_else(|| {
            Failure::environment(format!("npm said that all is well, and did not install {asked}"))
                .with_help(
                    "npm's own settings may keep it from that, such as dry-run or \
                     package-lock-only; `npm config list` shows them",
                )
        })?;
        let node = own_node.and_then(|_| installed_version(&site.path, &node::package()));
        progress
            .during(&format!("looking whether {name} {told} starts"), self.prove(&site, &node))
            .await?;
        let record = self.finish(&site, told, node).await;
        let record = record.map_err(|error| self.cant("be written", &error))?;
        Ok(Built { site, record })
    }

    /// The major version of the node that has to be installed beside the agent, if any.
    async fn own_node(&self, progress: &mut Progress) -> Option<u32> {
        let wanted = self.package.node?;
        let found = node::version(self.supervisor, self.environment).await;
        if found.as_deref().and_then(node::major).is_some_and(|major| major >= wanted) {
            return None;
        }
        let found = found.map_or("there is none".to_owned(), |v| format!("the one here is {v}"));
        let plugin = self.plugin.name();
        progress.note(&format!("{plugin} needs node {wanted} and {found}: it gets its own"));
        Some(wanted)
    }

    /// The folder, with what npm is asked for.
    fn begin(&self, own_node: bool) -> io::Result<Site> {
        let path = self.agent.path().join(AgentFolder::unfinished_name());
        fs::create_dir(&path)?;
        let site = Site { path, finished: false };
        let mut wanted = json!({ &self.package.name: self.version });
        if let (true, Some(major), Value::Object(wanted)) =
            (own_node, self.package.node, &mut wanted)
        {
            wanted.insert(node::package(), major.to_string().into());
        }
        let description = "Installed by Mia";
        let file = json!({ "private": true, "description": description, "dependencies": wanted });
        fs::write(site.path.join("package.json"), serde_json::to_vec_pretty(&file)?)?;
        fs::create_dir(site.path.join("bin"))?;
        Ok(site)
    }

    /// Puts the first program into place that tells its version.
    async fn prove(&self, site: &Site, own_node: &Option<String>) -> Result<(), Failure> {
        let name = self.package.name.as_str();
        let place = site.path.join("bin").join(&self.package.command);
        let mut problem = None;
        for program in self.package.program_paths() {
            if !site.path.join("node_modules").join(&program).is_file() {
                continue;
            }
            put(&place, &program, own_node.is_some()).map_err(|e| self.cant("be written", &e))?;
            match self.plugin.probe_program(&place, FIRST_START).await.problem {
                None => return Ok(()),
                Some(said) => problem = Some(said),
            }
        }
        let cpu = std::env::consts::ARCH;
        Err(match problem {
            Some(said) => Failure::environment(format!("{name} was fetched and does not start"))
                .with_help(format!("{said}\nwhat was installed before stays as it was")),
            None => Failure::environment(format!("{name} has no program for this machine ({cpu})"))
                .with_help("another version may have one: --version, or the agent's own installer"),
        })
    }

    async fn finish(
        &self,
        site: &Site,
        version: String,
        node: Option<String>,
    ) -> io::Result<Record> {
        let folder = site.path.clone();
        let measured = tokio::task::spawn_blocking(move || sweep::size(&folder)).await;
        let bytes = measured.unwrap_or(0);
        let record = Record { package: self.package.name.clone(), version, node, bytes };
        record.write(&site.path)?;
        AgentFolder::make_holdable(&site.path)?;
        Ok(record)
    }

    fn cant(&self, what: &str, error: &io::Error) -> Failure {
        let folder = self.agent.path().display();
        Failure::environment(format!("the folder {folder} can't {what}: {error}"))
    }
}

impl Built {
    /// Makes it the version that is run, in one step. Its folder.
    pub(super) fn switch(mut self, agent: &AgentFolder) -> Result<(PathBuf, Record), Failure> {
        let failed = |error: io::Error| {
            let folder = agent.path().display();
            Failure::environment(format!("the folder {folder} can't be written: {error}"))
        };
        // The same version may be there and run, or have been damaged.
        let version = &self.record.version;
        let mut names = std::iter::once(version.clone())
            .chain((2_u32..).map(|count| format!("{version}_{count}")));
        let name = names.find(|name| fs::symlink_metadata(agent.path().join(name)).is_err());
        let name = name.unwrap_or_else(|| version.clone());
        let folder = agent.path().join(&name);
        fs::rename(&self.site.path, &folder).map_err(failed)?;
        self.site.path = folder.clone();
        agent.switch_to(&name).map_err(failed)?;
        self.site.finished = true;
        Ok((folder, self.record.clone()))
    }
}

/// Makes `place` run a program of `node_modules`, with the node that is installed there if asked.
fn put(place: &Path, program: &Path, own_node: bool) -> io::Result<()> {
    match fs::remove_file(place) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let modules = Path::new("../node_modules");
    if !own_node {
        return symlink(modules.join(program), place);
    }
    let node = node::program();
    let script = format!(
        "#!/bin/sh\n\
         # Made by Mia: this agent needs a newer node than was found when it was installed.\n\
         modules=\"${{0%/*}}/../node_modules\"\n\
         exec \"$modules/{node}\" \"$modules/{}\" \"$@\"\n",
        program.display()
    );
    fs::write(place, script)?;
    fs::set_permissions(place, fs::Permissions::from_mode(0o755))
}

/// The version of a package that npm installed.
fn installed_version(folder: &Path, package: &str) -> Option<String> {
    let text = fs::read(folder.join("node_modules").join(package).join("package.json")).ok()?;
    let about: Value = serde_json::from_slice(&text).ok()?;
    let version = about.get("version")?.as_str()?;
    version::is_version(version).then(|| version.to_owned())
}
