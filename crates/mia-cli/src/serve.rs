//! `mia serve`: the daemon.

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use mia_config::Paths;
use mia_daemon::{End, Limits, Lock, LockError, Server, Socket, background, log};
use mia_host::descriptors;
use tokio::task::{JoinError, JoinSet};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::program::{Program, block_on};
use crate::retention;
use crate::setup;
use crate::signals::Signals;

/// How often it is looked whether the record is still there.
const LOOK: Duration = Duration::from_secs(1);
/// How often it is looked whether a process is dead that has accepted something.
const RECOVER: Duration = Duration::from_secs(5);
/// How often a daemon that can only read tries to write.
const RETRY: Duration = Duration::from_secs(5);

pub(crate) fn run(program: &Arc<Program>, in_background: bool) -> Result<ExitCode, Failure> {
    // Before the folder is left: MIA_HOME may be relative.
    let paths = setup::paths()?;
    if in_background {
        background::enter().map_err(|error| {
            Failure::environment(format!("can't leave the starter behind: {error}"))
        })?;
    }
    paths.ensure_state()?;
    let mut lock = match Lock::take(&setup::lock_file(program, &paths)) {
        Ok(lock) => lock,
        Err(held @ LockError::Held(_)) => {
            return Err(Failure::environment(held.to_string())
                .with_help("To see it:")
                .with_example("status"));
        }
        Err(error) => return Err(Failure::environment(error.to_string())),
    };
    let code = block_on(serve(program, &paths, &mut lock, in_background));
    drop(lock);
    code
}

async fn serve(
    program: &Arc<Program>,
    paths: &Paths,
    lock: &mut Lock,
    in_background: bool,
) -> Result<ExitCode, Failure> {
    let mut signals = Signals::listen()?;
    // Before anything can be accepted.
    if in_background {
        log::to_file(&setup::log_file(program, paths))
            .map_err(|error| Failure::environment(format!("can't write the log: {error}")))?;
    } else {
        log::to_stderr();
    }
    // A connection is a descriptor, and the usual 1024 are soon gone.
    let limits = Limits::within(descriptors::raise());
    let server = setup::server(program, paths).await?;
    let mut doors =
        Doors { paths, path: setup::socket(program, paths), limits, open: JoinSet::new() };
    let listens = doors.open(&server);
    let mut socket = match listens {
        Ok(socket) => socket,
        Err(failure) => {
            server.core().close().await;
            return Err(failure);
        }
    };
    lock.listens_on(&doors.path);
    if in_background {
        // The starter hears the end of its pipe, or waits a while for it in vain.
        if let Err(error) = background::ready() {
            tracing::warn!("can't tell the starter that all is well: {error}");
        }
    } else if io::stderr().is_terminal() {
        eprintln!("{} listens on {}; Ctrl-C stops it", program.name, doors.path.display());
    }
    notify(sd_notify::NotifyState::Ready);
    let (pid, connections) = (std::process::id(), doors.limits.connections);
    let version = mia_daemon::VERSION;
    tracing::info!("started, version {version}, process {pid}, for {connections} connections");
    if let Some(why) = server.read_only() {
        tracing::error!("nothing can be put on record: {why}");
    }
    let mut chores = tokio::spawn(chores(Arc::clone(program), paths.clone(), server.clone()));
    loop {
        tokio::select! {
            () = server.asked_to_end() => break,
            _ = signals.next() => server.end(End::Patient),
            () = tokio::time::sleep(LOOK) => {
                if lock.is_in_place(&setup::lock_file(program, paths)) {
                    doors.see_to(&mut socket, &server);
                } else {
                    // The socket may be the next one's.
                    tracing::error!("the lock was taken away: another daemon may begin, so this one ends");
                    server.end(End::Patient);
                }
            }
            // Neither ends by itself. Without it this would be a daemon that nobody can reach, or that
            // looks after nothing.
            Some(ended) = doors.open.join_next() => {
                tracing::error!("nobody listens any more: {}", end_of(ended));
                server.end(End::Now);
            }
            ended = &mut chores => {
                tracing::error!("nobody looks after the record any more: {}", end_of(ended));
                server.end(End::Now);
            }
        }
    }
    notify(sd_notify::NotifyState::Stopping);
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
    // They have a limit of their own.
    while doors.open.join_next().await.is_some() {}
    server.core().close().await;
    tracing::info!("stopped");
    Ok(Exit::Done.into())
}

fn end_of(ended: Result<(), JoinError>) -> String {
    ended.map_or_else(|error| error.to_string(), |()| "it came to its end".to_owned())
}

/// Where clients come in: usually one socket. When that was taken away (by somebody who cleans up, or with
/// the user's last login) there is another one in its place.
struct Doors<'a> {
    paths: &'a Paths,
    path: PathBuf,
    limits: Limits,
    open: JoinSet<()>,
}

impl Doors<'_> {
    fn open(&mut self, server: &Server) -> Result<Socket, Failure> {
        self.paths.ensure_socket_dir()?;
        let (socket, listener) = Socket::bind(&self.path).map_err(|error| {
            Failure::environment(format!("can't listen on {}: {error}", self.path.display()))
        })?;
        self.open.spawn(mia_daemon::serve(
            listener,
            mia_daemon::router(server.clone()),
            server.closes(),
            self.limits.clone(),
        ));
        Ok(socket)
    }

    /// Makes the socket anew when it is not in its place any more.
    fn see_to(&mut self, socket: &mut Socket, server: &Server) {
        if socket.is_in_place() {
            return;
        }
        match self.open(server) {
            Ok(new) => {
                tracing::warn!("the socket was taken away; there is another one");
                *socket = new;
            }
            // It is tried again in a moment.
            Err(failure) => tracing::debug!("{}", failure.in_short()),
        }
    }
}

/// Tells systemd, when that has started this.
fn notify(state: sd_notify::NotifyState<'_>) {
    if let Err(error) = sd_notify::notify(&[state]) {
        tracing::warn!("can't tell who started this: {error}");
    }
}

/// What the daemon does beside answering.
async fn chores(program: Arc<Program>, paths: Paths, server: Server) {
    tokio::join!(
        mend(&program, &paths, &server),
        retention::keep_to(&server),
        recover(&server),
        stay(&server)
    );
}

/// Ends what another process had accepted (`--no-daemon`) that was killed meanwhile.
async fn recover(server: &Server) {
    loop {
        tokio::time::sleep(RECOVER).await;
        if server.read_only().is_some() {
            continue;
        }
        match server.core().store().recover().await {
            Ok(ended) => {
                for task in ended {
                    tracing::info!("task {}: interrupted, its process was killed", task.task_id);
                }
            }
            Err(error) => tracing::warn!("what dead processes left can't be ended: {error}"),
        }
    }
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
    tracing::error!("the record was deleted, moved or replaced, so this daemon ends: {lost}");
    server.end(End::Now);
}

/// While nothing can be put on record, tries to get out of that.
async fn mend(program: &Arc<Program>, paths: &Paths, server: &Server) {
    loop {
        tokio::time::sleep(RETRY).await;
        if server.read_only().is_none() || server.is_ending() {
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
