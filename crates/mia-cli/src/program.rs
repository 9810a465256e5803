//! The way of a command from `main` to its exit status.

use std::fmt;
use std::process::ExitCode;
use std::sync::Arc;

use clap::FromArgMatches;
use mia_config::Paths;
use mia_core::{Registry, RegistryError};

use crate::args::{Cli, Command};
use crate::failure::Failure;
use crate::{
    ask, config, conversation, daemon, doctor, log, manifests, manual, plugin, serve, tasks, usage,
};

/// Registers plugins of one's own.
type Register = Box<dyn Fn(&mut Registry) -> Result<(), RegistryError> + Send + Sync>;

/// Where the core of a command is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Door {
    /// In the daemon, which is started where it doesn't run.
    Daemon,
    /// In this process.
    Here,
}

/// A Mia: its name, and the plugins that it has beside the built-in ones.
pub struct Program {
    pub(crate) name: &'static str,
    register: Vec<Register>,
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Program {
    /// A Mia whose binary has that name.
    #[must_use]
    pub fn new(name: &'static str) -> Self {
        Self { name, register: Vec::new() }
    }

    /// The same with more plugins. They are selectable by the names that they are registered with.
    #[must_use]
    pub fn with_plugins(
        mut self,
        register: impl Fn(&mut Registry) -> Result<(), RegistryError> + Send + Sync + 'static,
    ) -> Self {
        self.register.push(Box::new(register));
        self
    }

    /// All plugins: the built-in ones, one's own, then those of the user's manifests.
    pub(crate) fn registry(&self, paths: &Paths) -> Result<Registry, RegistryError> {
        let mut registry = self.built_in()?;
        manifests::register(&mut registry, &paths.plugins_dir);
        Ok(registry)
    }

    /// The plugins that this program was built with.
    pub(crate) fn built_in(&self) -> Result<Registry, RegistryError> {
        let mut registry = Registry::new();
        for plugin in mia_agents::built_in() {
            let name = plugin.name().to_owned();
            registry.register_shared(&name, plugin)?;
        }
        for register in &self.register {
            register(&mut registry)?;
        }
        Ok(registry)
    }
}

/// Runs a command line to its end. The first thing in `main`: this process may have been started
/// as a supervisor, and then never comes back from here.
#[must_use]
pub fn run(program: Program) -> ExitCode {
    mia_host::supervisor::enter_if_asked();
    let command = crate::args::command(program.name);
    let matches = command.get_matches();
    let cli = match Cli::from_arg_matches(&matches) {
        Ok(cli) => cli,
        Err(error) => error.format(&mut crate::args::command(program.name)).exit(),
    };
    let quiet = cli.quiet;
    let program = Arc::new(program);
    let door = if cli.no_daemon { Door::Here } else { Door::Daemon };
    let outcome = match cli.command {
        Command::Ask(args) => ask::run(&program, door, *args, quiet),
        Command::Watch(args) => ask::watch(&program, door, &args, quiet),
        Command::Tasks { json } => tasks::list(&program, door, json),
        Command::Abort(args) => tasks::abort(&program, door, &args),
        Command::Plugin(args) => plugin::run(&program, door, args.action, quiet),
        Command::Config(args) => config::run(&program, args.action),
        Command::Log(args) => log::run(&program, door, &args),
        Command::Usage(args) => usage::run(&program, door, &args),
        Command::Conversation(args) => conversation::run(&program, door, args.action),
        Command::Gc(args) => conversation::gc(&program, door, &args),
        Command::Start => daemon::start(&program, quiet),
        Command::Stop(args) => daemon::stop(&program, &args, quiet),
        Command::Restart(args) => daemon::restart(&program, &args, quiet),
        Command::Status { json } => daemon::status(&program, json),
        Command::Logs(args) => daemon::logs(&program, &args),
        Command::Serve { background } => serve::run(&program, background),
        Command::Doctor { json } => doctor::run(&program, json),
        Command::Completions { shell } => manual::completions(program.name, shell),
        Command::Man { command } => manual::man(program.name, command.as_deref()),
    };
    match outcome {
        Ok(code) => code,
        Err(failure) => {
            failure.report(program.name);
            failure.exit().into()
        }
    }
}

/// Runs a future to its end on a runtime of its own.
pub(crate) fn block_on<T>(future: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Failure::environment(format!("can't start: {error}")))?;
    let outcome = runtime.block_on(future);
    // A thread that still waits for the system must not hold the exit up.
    runtime.shutdown_background();
    outcome
}
