//! `mia serve`: the daemon.

use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use mia_config::Paths;
use mia_core::Core;
use mia_daemon::{End, Lock, LockError, Server, Socket, background, log};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::program::{Program, block_on};
use crate::setup;
use crate::signals::Signals;

/// How long connections may take to close at the end.
const CLOSING: Duration = Duration::from_secs(2);
/// How often it is looked whether the record is still there.
const LOOK: Duration = Duration::from_secs(1);
/// How often a daemon that can only read tries to write.
const RETRY: Duration = Duration::from_secs(5);
/// How long after the start, and how often, what is too old is taken off the record.
const PRUNE_FIRST: Duration = Duration::from_secs(60);
const PRUNE_EVERY: Duration = Duration::from_secs(60 * 60);

pub(crate) fn run(program: &Arc<Program>, in_background: bool) -> Result<ExitCode, Failure> {
    // Before the folder is left: MIA_HOME may be relative.
    let paths = setup::paths()?;
    if in_background {
        background::enter().map_err(|error| {
            Failure::environment(format!("can't leave the starter behind: {error}"))
        })?;
    }
    paths.ensure_state()?;
    let lock = match Lock::take(&setup::lock_file(program, &paths)) {
        Ok(lock) => lock,
        Err(held @ LockError::Held(_)) => {
            return Err(Failure::environment(held.to_string())
                .with_help("To see it:")
                .with_example("status"));
        }
        Err(error) => return Err(Failure::environment(error.to_string())),
    };
    let code = block_on(serve(program, &paths, in_background));
    drop(lock);
    code
}

async fn serve(
    program: &Arc<Program>,
    paths: &Paths,
    in_background: bool,
) -> Result<ExitCode, Failure> {
    let mut signals = Signals::listen()?;
    let server = setup::server(program, paths).await?;
    paths.ensure_socket_dir()?;
    let path = setup::socket(program, paths);
    let (socket, listener) = Socket::bind(&path).map_err(|error| {
        Failure::environment(format!("can't listen on {}: {error}", path.display()))
    })?;
    let serving = tokio::spawn(mia_daemon::serve(
        listener,
        mia_daemon::router(server.clone()),
        server.closes(),
    ));
    if in_background {
        log::to_file(&setup::log_file(paths))
            .and_then(|()| background::ready())
            .map_err(|error| Failure::environment(format!("can't write the log: {error}")))?;
    } else {
        log::to_stderr();
        if io::stderr().is_terminal() {
            eprintln!("{} listens on {}; Ctrl-C stops it", program.name, path.display());
        }
    }
    tracing::info!("started, version {}, process {}", mia_daemon::VERSION, std::process::id());
    if let Some(why) = server.read_only() {
        tracing::error!("nothing can be put on record: {why}");
    }
    let chores = tokio::spawn(chores(Arc::clone(program), paths.clone(), server.clone()));
    tokio::select! {
        () = server.asked_to_end() => {}
        _ = signals.next() => server.end(End::Patient),
    }
    tracing::info!("stopping, {} tasks to wait for", server.core().unfinished());
    let idle = async { server.core().idle().await };
    tokio::pin!(idle);
    loop {
        tokio::select! {
            () = &mut idle => break,
            // The second one is impatient.
            _ = signals.next() => server.end(End::Now),
        }
    }
    chores.abort();
    server.close_streams();
    drop(socket);
    let _ = tokio::time::timeout(CLOSING, serving).await;
    server.core().close().await;
    tracing::info!("stopped");
    Ok(Exit::Done.into())
}

/// What the daemon does beside answering.
async fn chores(program: Arc<Program>, paths: Paths, server: Server) {
    tokio::join!(mend(&program, &paths, &server), prune(&server), stay(&server));
}

/// Ends a daemon whose record was deleted, or has another file in its place: what it would write
/// there, nobody would ever see.
async fn stay(server: &Server) {
    let lost = loop {
        tokio::time::sleep(LOOK).await;
        if let Err(lost) = server.core().store().in_place() {
            break lost;
        }
    };
    tracing::error!("{lost}");
    server.end(End::Now);
}

/// While nothing can be put on record, tries to get out of that.
async fn mend(program: &Arc<Program>, paths: &Paths, server: &Server) {
    loop {
        tokio::time::sleep(RETRY).await;
        if server.read_only().is_none() {
            continue;
        }
        match setup::core_that_writes(program, paths).await {
            Ok(core) => {
                tracing::info!("the record can be written again");
                server.replace(core).close().await;
            }
            Err(error) => server.read_only_for(Some(error.in_short())),
        }
    }
}

/// Takes what is too old, or too much, off the record (M-70).
async fn prune(server: &Server) {
    let mut wait = PRUNE_FIRST;
    loop {
        tokio::time::sleep(wait).await;
        wait = PRUNE_EVERY;
        if server.read_only().is_some() {
            continue;
        }
        let core: Core = server.core();
        let history = core.plugins().config().history;
        let now = crate::time::now();
        match core.store().prune(history.keep, history.max_size, now).await {
            Ok(pruned) if pruned.tasks > 0 => {
                tracing::info!("{} tasks were taken off the record", pruned.tasks);
            }
            Ok(_) => {}
            Err(error) => tracing::warn!("nothing was taken off the record: {error}"),
        }
    }
}
