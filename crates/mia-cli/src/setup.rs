//! Finding the user's files and opening what a command needs.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use mia_config::{Config, LiveConfig, Loaded, Paths, Surroundings};
use mia_core::{Core, CoreSetup, Fresh, NoRecord, Plugins, Registry, RegistryError, Source};
use mia_daemon::{About, Connection, Holder, Lock, Places, Server};
use mia_host::{Supervisor, SupervisorProgram};
use mia_plugin::{Environment, Services};
use mia_store::{OpenOptions, Store, StoreErrorKind};

use crate::client::Client;
use crate::daemon::Starter;
use crate::failure::Failure;
use crate::program::{Door, Program};

/// The name of the usual Mia.
const USUAL: &str = "mia";

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

/// The name of a file of the daemon's: a Mia of another name has its own.
fn file_of_daemon(program: &Program, ending: &str) -> String {
    match program.name {
        USUAL => format!("daemon.{ending}"),
        name => format!("{name}.{ending}"),
    }
}

/// The daemon's socket.
pub(crate) fn socket(program: &Program, paths: &Paths) -> PathBuf {
    match program.name {
        // Its path may have been shortened.
        USUAL => paths.socket.clone(),
        _ => paths.socket.with_file_name(file_of_daemon(program, "sock")),
    }
}

/// Where the daemon is to be found: where it says that it listens, which is elsewhere when it was started
/// with another environment; else where this process would listen.
pub(crate) fn way_to_daemon(program: &Program, paths: &Paths) -> PathBuf {
    match Lock::look(&lock_file(program, paths)) {
        Ok(Holder::Somebody(Some(About { socket: Some(socket), .. }))) => socket.into_path(),
        _ => socket(program, paths),
    }
}

/// The file whose lock tells who is the daemon.
pub(crate) fn lock_file(program: &Program, paths: &Paths) -> PathBuf {
    paths.state_dir.join(file_of_daemon(program, "lock"))
}

/// Where a daemon in the background says what it has to say.
pub(crate) fn log_file(program: &Program, paths: &Paths) -> PathBuf {
    paths.logs_dir.join(file_of_daemon(program, "log"))
}

/// Runs a command with the API behind that door.
pub(crate) async fn with_client<T>(
    program: &Arc<Program>,
    door: Door,
    command: impl AsyncFnOnce(&Client) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let client = client(program, door).await?;
    let outcome = command(&client).await;
    client.close().await;
    outcome
}

async fn client(program: &Arc<Program>, door: Door) -> Result<Client, Failure> {
    let paths = paths()?;
    match door {
        Door::Here => {
            let server = server(program, &paths).await?;
            let core = server.core();
            Ok(Client::in_process(Connection::within(mia_daemon::router(server)), core))
        }
        Door::Daemon => {
            let socket = way_to_daemon(program, &paths);
            let starter = Starter::new(socket.clone());
            let listens = mia_daemon::somebody_listens(&socket).await.map_err(|error| {
                Failure::environment(format!("can't use the socket {}: {error}", socket.display()))
            })?;
            if !listens {
                // Its mistakes are told best here, in their lines.
                config(&paths)?;
                starter.start().await?;
            }
            Ok(Client::of_daemon(Connection::over(socket), starter))
        }
    }
}

/// Opens a core, and the API over it.
pub(crate) async fn server(program: &Arc<Program>, paths: &Paths) -> Result<Server, Failure> {
    let files = Files::open(program, paths)?;
    paths.ensure_state()?;
    // It gets ready while the store is opened.
    let supervisor = supervisor()?;
    let (store, read_only) = store(paths).await?;
    let core = core(files, store, supervisor).await?;
    let places = Places {
        config_file: paths.config_file.clone(),
        runs_dir: paths.runs_dir.clone(),
        socket: socket(program, paths),
    };
    let server = Server::new(core, places, Environment::of_this_process());
    server.read_only_for(read_only);
    Ok(server)
}

/// Opens a core whose record can be written. Nothing is started when it can't.
pub(crate) async fn core_that_writes(
    program: &Arc<Program>,
    paths: &Paths,
) -> Result<Core, Failure> {
    let store = Store::open(&paths.database, OpenOptions::default()).await?;
    core(Files::open(program, paths)?, store, supervisor()?).await
}

fn supervisor() -> Result<Supervisor, Failure> {
    let supervisor = Supervisor::new(SupervisorProgram::default());
    supervisor.start().map_err(|error| Failure::environment(format!("can't {error}")))?;
    Ok(supervisor)
}

async fn core(files: Files, store: Store, supervisor: Supervisor) -> Result<Core, Failure> {
    let setup = CoreSetup {
        registry: files.program.registry(&files.paths)?,
        config: files.live.current().config.clone(),
        store,
        supervisor,
        environment: Environment::of_this_process(),
        installed_agents: Some(files.paths.agents_dir.clone()),
        source: Some(Box::new(files)),
    };
    Ok(Core::open(setup).await?)
}

/// The record; one that can't be written is at least read.
async fn store(paths: &Paths) -> Result<(Store, Option<String>), Failure> {
    let error = match Store::open(&paths.database, OpenOptions::default()).await {
        Ok(store) => return Ok((store, None)),
        Err(error) => error,
    };
    let readable = matches!(
        error.kind(),
        StoreErrorKind::DiskFull
            | StoreErrorKind::ReadOnly
            | StoreErrorKind::Locked
            | StoreErrorKind::Permission
    );
    if !readable {
        return Err(error.into());
    }
    match Store::open(&paths.database, OpenOptions::read()).await {
        Ok(store) => Ok((store, Some(error.to_string()))),
        Err(_) => Err(error.into()),
    }
}

/// The files that configuration and plugins come from.
struct Files {
    program: Arc<Program>,
    paths: Paths,
    live: LiveConfig,
    manifests: Vec<(PathBuf, Option<SystemTime>)>,
}

impl Files {
    fn open(program: &Arc<Program>, paths: &Paths) -> Result<Self, Failure> {
        let live = LiveConfig::open(paths.clone(), &no_variable, Vec::new())?;
        let manifests = manifests(&paths.plugins_dir);
        Ok(Self { program: Arc::clone(program), paths: paths.clone(), live, manifests })
    }
}

/// `MIA_ACTIVE_PLUGIN` comes with each prompt, from who asks.
fn no_variable(_: &str) -> Option<OsString> {
    None
}

fn manifests(folder: &Path) -> Vec<(PathBuf, Option<SystemTime>)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<_> = entries
        .map(|entry| {
            let changed = std::fs::metadata(entry.path()).and_then(|about| about.modified());
            (entry.path(), changed.ok())
        })
        .collect();
    files.sort();
    files
}

impl Source for Files {
    fn refresh(&mut self) -> Result<Option<Fresh>, String> {
        let before = self.live.current();
        let changed = self.live.refresh(&no_variable).map_err(|mistakes| mistakes.to_string())?;
        let manifests = manifests(&self.paths.plugins_dir);
        let other_manifests = manifests != self.manifests;
        if !changed && !other_manifests {
            return Ok(None);
        }
        let config = self.live.current().config.clone();
        let same = before.config.plugins == config.plugins
            && before.config.streams == config.streams
            && !other_manifests;
        let registry = match same {
            true => None,
            false => {
                let registry = self.program.registry(&self.paths);
                Some(registry.map_err(|error| error.to_string())?)
            }
        };
        self.manifests = manifests;
        Ok(Some(Fresh { config, registry }))
    }
}

/// The plugins without a store: to look at agents, and to install them.
pub(crate) struct Ground {
    pub(crate) paths: Paths,
    pub(crate) plugins: Arc<Plugins>,
    pub(crate) supervisor: Supervisor,
    pub(crate) environment: Environment,
}

impl Ground {
    /// Ends everything that was started to look.
    pub(crate) async fn close(&self) {
        self.supervisor.shutdown().await;
    }
}

/// The plugins, initialized. Nothing is created, and nothing needs to be there.
pub(crate) async fn ground(program: &Program) -> Result<Ground, Failure> {
    ground_of(|paths| program.registry(paths)).await
}

/// The same with these plugins.
pub(crate) async fn ground_of(
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
