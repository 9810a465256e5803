//! A script agent that needs a newer node than there is.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use mia_api::PluginError;
use mia_core::NoRecord;
use mia_host::{Supervisor, SupervisorProgram};
use mia_plugin::{
    AgentFolder, Call, CliAdapter, CodingPlugin, Environment, Launch, Noise, Out, Package,
    PluginConfig, Profile, Services, SpawnPlugin,
};
use mia_testkit as _;
use pretty_assertions::assert_eq;

use super::build::{Built, Plan};
use super::progress::Progress;

/// An agent that is a script for node 22.
#[derive(Debug, Clone)]
struct Scripted;

impl CliAdapter for Scripted {
    fn build_args(&mut self, _: &Call<'_>) -> Result<Launch, PluginError> {
        Ok(Launch::default())
    }

    fn parse_output(&mut self, _: &str, _: &mut Out) -> Result<(), Noise> {
        Ok(())
    }

    fn profile(&self) -> Profile {
        let package = Package::new("scripted", "1.0.0").program("scripted/cli.js").node(22);
        Profile { package: Some(package), ..Profile::default() }
    }
}

struct World {
    folder: tempfile::TempDir,
    supervisor: Supervisor,
    environment: Environment,
}

/// Brings the script, and the node if it is asked for.
const NPM: &str = r#"PATH=/usr/bin:/bin
mkdir -p node_modules/scripted
echo '{"version": "1.0.0"}' > node_modules/scripted/package.json
printf '#!/usr/bin/env node\nconsole.log("no shell runs this")' > node_modules/scripted/cli.js
chmod 755 node_modules/scripted/cli.js
node=$(sed -n 's/.*"\(node-linux-.*\)": "22".*/\1/p' package.json)
[ -z "$node" ] && exit 0
mkdir -p node_modules/$node/bin
echo '{"version": "22.1.0"}' > node_modules/$node/package.json
cp "$HOME/node" node_modules/$node/bin/node
"#;

impl World {
    fn new(node: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let world = Self {
            supervisor: Supervisor::new(SupervisorProgram::default()),
            environment: [("PATH", folder.path()), ("HOME", folder.path())].into_iter().collect(),
            folder,
        };
        world.program("npm", NPM);
        world.program(
            "node",
            &format!("[ \"$1\" = --version ] && echo {node} && exit\necho here \"$@\"\n"),
        );
        fs::create_dir(world.folder.path().join("agent")).unwrap();
        world
    }

    fn program(&self, name: &str, script: &str) {
        let path = self.folder.path().join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn agent(&self) -> AgentFolder {
        AgentFolder::new(self.folder.path(), "agent")
    }

    async fn build(&self) -> Built {
        let plugin = SpawnPlugin::new("scripted", "1.0.0", Scripted);
        let services = Services {
            supervisor: self.supervisor.clone(),
            sessions: Arc::new(NoRecord),
            environment: self.environment.clone(),
            installed_agents: None,
        };
        plugin.initialize(PluginConfig::new("scripted"), services).await.unwrap();
        let package = plugin.package().unwrap();
        let plan = Plan {
            plugin: &plugin,
            package: &package,
            version: "1.0.0",
            agent: &self.agent(),
            supervisor: &self.supervisor,
            environment: &self.environment,
            limit: Duration::from_secs(20),
        };
        plan.build(&mut Progress::new(true)).await.unwrap()
    }
}

/// What the program says, moved to wherever.
fn says(program: &Path, path: &Path) -> String {
    let said = Command::new(program).args(["a b", "c"]).env("PATH", path).output().unwrap();
    String::from_utf8(said.stdout).unwrap()
}

#[tokio::test]
async fn m_010_an_agent_gets_its_own_node_where_the_one_here_is_too_old() {
    let world = World::new("v20.1.0");
    // Copied by npm as the new one.
    world.program("node", "[ \"$1\" = --version ] && echo v20.1.0 && exit\necho \"$@\"\n");
    let (folder, record) = world.build().await.switch(&world.agent()).unwrap();
    assert_eq!(record.node.as_deref(), Some("22.1.0"));
    fs::remove_file(world.folder.path().join("node")).unwrap();
    let program = world.agent().program("scripted").unwrap().0;
    assert_eq!(program, folder.join("bin/scripted"));
    let said = says(&program, Path::new("/usr/bin:/bin"));
    assert!(said.ends_with("node_modules/scripted/cli.js a b c\n"), "{said}");
}

#[tokio::test]
async fn m_010_a_node_that_is_new_enough_is_used() {
    let world = World::new("v22.0.0");
    let (folder, record) = world.build().await.switch(&world.agent()).unwrap();
    assert_eq!(record.node, None);
    let target = fs::read_link(folder.join("bin/scripted")).unwrap();
    assert_eq!(target, PathBuf::from("../node_modules/scripted/cli.js"));
    let path = format!("{}:/usr/bin:/bin", world.folder.path().display());
    assert!(says(&folder.join("bin/scripted"), Path::new(&path)).starts_with("here "));
}

#[tokio::test]
async fn m_010_what_was_built_and_not_wanted_is_gone() {
    let world = World::new("v22.0.0");
    drop(world.build().await);
    assert_eq!(fs::read_dir(world.agent().path()).unwrap().count(), 0);
}
