//! Finding the user's files and opening what a command needs.

use std::path::PathBuf;
use std::sync::Arc;

use mia_config::{Config, Loaded, Paths, Surroundings};
use mia_core::{Core, CoreSetup, NoRecord, Plugins, Registry, RegistryError};
use mia_host::{Supervisor, SupervisorProgram};
use mia_plugin::{Environment, Services};
use mia_store::{Access, OpenOptions, Store};

use crate::client::Client;
use crate::failure::Failure;
use crate::program::Program;

/// Where the user's files are.
pub(crate) fn paths() -> Result<Paths, Failure> {
    Ok(Paths::discover(&Surroundings {
        var: &|name| std::env::var_os(name),
        cwd: &std::env::current_dir,
        account_home: &std::env::home_dir,
    })?)
}

/// The configuration in force.
pub(crate) fn config(paths: &Paths) -> Result<Loaded, Failure> {
    Ok(Config::load(paths, &|name| std::env::var_os(name), &[])?)
}

/// The store, for a command that only looks. None when nothing was ever recorded.
pub(crate) async fn store_to_read(paths: &Paths) -> Result<Option<Store>, Failure> {
    if !paths.database.exists() {
        return Ok(None);
    }
    let options = OpenOptions { access: Access::Read, ..OpenOptions::default() };
    Ok(Some(Store::open(&paths.database, options).await?))
}

/// A client with the core in this process.
pub(crate) async fn client(program: &Program) -> Result<Client, Failure> {
    let paths = paths()?;
    let loaded = config(&paths)?;
    let registry = program.registry(&paths)?;
    paths.ensure_state()?;
    let supervisor = Supervisor::new(SupervisorProgram::default());
    // It gets ready while the store is opened.
    supervisor.start().map_err(|error| Failure::environment(format!("can't {error}")))?;
    let store = Store::open(&paths.database, OpenOptions::default()).await?;
    let core = Core::open(CoreSetup {
        registry,
        config: loaded.config,
        store,
        supervisor,
        environment: Environment::of_this_process(),
        installed_agents: Some(paths.agents_dir),
    })
    .await?;
    Ok(Client::in_process(core))
}

/// The plugins without a store: to look at agents, and to install them.
pub(crate) struct Ground {
    pub(crate) paths: Paths,
    pub(crate) plugins: Arc<Plugins>,
    pub(crate) supervisor: Supervisor,
    pub(crate) environment: Environment,
}

/// The plugins, initialized. Nothing is created, and nothing needs to be there.
pub(crate) async fn ground(program: &Program) -> Result<Ground, Failure> {
    client_of(|paths| program.registry(paths)).await
}

/// The same with these plugins.
pub(crate) async fn client_of(
    registry: impl FnOnce(&Paths) -> Result<Registry, RegistryError>,
) -> Result<Ground, Failure> {
    let paths = paths()?;
    let loaded = config(&paths)?;
    let registry = registry(&paths)?;
    let supervisor = Supervisor::new(SupervisorProgram::default());
    let environment = Environment::of_this_process();
    let services = Services {
        supervisor: supervisor.clone(),
        sessions: Arc::new(NoRecord),
        environment: environment.clone(),
        installed_agents: Some(paths.agents_dir.clone()),
    };
    let plugins = Plugins::initialize(registry, loaded.config, services).await;
    Ok(Ground { paths, plugins: Arc::new(plugins), supervisor, environment })
}

/// The working directory, absolute; symbolic links in it stay.
pub(crate) fn working_directory(asked: Option<PathBuf>) -> Result<PathBuf, Failure> {
    match asked {
        Some(path) if path.is_absolute() => Ok(path),
        asked => {
            let here = std::env::current_dir().map_err(|error| {
                Failure::usage(format!("the working directory can't be found: {error}"))
                    .with_help("it was deleted, perhaps; go to another one or use --cwd")
            })?;
            Ok(match asked {
                Some(path) => here.join(path),
                None => here,
            })
        }
    }
}
