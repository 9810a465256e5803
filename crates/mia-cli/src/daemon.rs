//! `mia start`, `stop`, `restart`, `status`, `logs`: the daemon from outside.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use mia_api::{DaemonStatus, Stop};
use mia_daemon::{ClientError, Connection, Holder, Lock, Patience, background, log};
use serde::Serialize;

use crate::args::{LogsArgs, StopArgs};
use crate::exit::Exit;
use crate::failure::{Failure, how_to_end};
use crate::manual::{print, print_json};
use crate::program::{Program, block_on};
use crate::setup;
use crate::status::Status;
use crate::tasks;
use crate::terminal::{Look, Terminal, clean, write};
use crate::time::took;

/// How often the daemon is looked at while it stops.
const LOOK: Duration = Duration::from_millis(50);
/// How often it is asked what it still waits for.
const COUNT: Duration = Duration::from_secs(1);
/// How long a daemon may take to say how it is. Where all its places are taken by clients that do
/// nothing, they are free after 10 s.
const QUICK: Duration = Duration::from_secs(15);
/// How long a daemon that takes no more connections may take to end: some seconds are its own limits.
const LAST: Duration = Duration::from_secs(30);

/// Starts the daemon of a program.
#[derive(Debug, Clone)]
pub(crate) struct Starter {
    socket: PathBuf,
}

impl Starter {
    pub(crate) fn new(socket: PathBuf) -> Self {
        Self { socket }
    }

    /// Starts it, unless it runs. True when this one was started.
    pub(crate) async fn start(&self) -> Result<bool, Failure> {
        let program = std::env::current_exe().map_err(|error| {
            Failure::environment(format!("can't find this program's own file: {error}"))
        })?;
        background::start(&program, &["serve", "--background"], &self.socket).await.map_err(
            |error| {
                Failure::environment(error.to_string())
                    .with_help("--no-daemon runs everything in one process, without it")
            },
        )
    }
}

/// The daemon's socket.
fn reach(program: &Program) -> Result<(Connection, Starter), Failure> {
    let socket = setup::way_to_daemon(program, &setup::paths()?);
    let quick = Patience { head: QUICK, ..Patience::default() };
    let connection = Connection::over(socket.clone()).with_patience(quick);
    Ok((connection, Starter::new(socket)))
}

async fn look(connection: &Connection) -> Result<Option<DaemonStatus>, ClientError> {
    match connection.get("/v1/status").await {
        Ok(status) => Ok(Some(status)),
        Err(error) if error.is_gone() => Ok(None),
        Err(error) => Err(error),
    }
}

pub(crate) fn start(program: &Program, quiet: bool) -> Result<ExitCode, Failure> {
    let paths = setup::paths()?;
    // Its mistakes are told best here.
    setup::config(&paths)?;
    let (connection, starter) = reach(program)?;
    let (new, status) = block_on(async {
        let new = starter.start().await?;
        Ok((new, look(&connection).await?))
    })?;
    if quiet {
        return Ok(Exit::Done.into());
    }
    let pid = status.as_ref().map(|status| format!(" (process {})", status.pid));
    let pid = pid.unwrap_or_default();
    if status.is_some_and(|status| status.stopping) {
        let message = format!("the daemon{pid} is about to stop, and takes no prompts");
        return Err(Failure::environment(message)
            .with_help("It waits for what it has accepted. To interrupt that and begin anew:")
            .with_example("restart --now"));
    }
    let what = if new { "started" } else { "runs already" };
    print(format!("the daemon {what}{pid}\n").as_bytes())
}

pub(crate) fn stop(program: &Program, args: &StopArgs, quiet: bool) -> Result<ExitCode, Failure> {
    let paths = setup::paths()?;
    let (connection, _) = reach(program)?;
    let stopped = block_on(end(program, &paths, &connection, args.now, quiet))?;
    match (quiet, stopped) {
        (true, _) => Ok(Exit::Done.into()),
        (false, true) => print(b"the daemon has stopped\n"),
        (false, false) => print(b"no daemon runs\n"),
    }
}

pub(crate) fn restart(
    program: &Program,
    args: &StopArgs,
    quiet: bool,
) -> Result<ExitCode, Failure> {
    let paths = setup::paths()?;
    setup::config(&paths)?;
    let (connection, _) = reach(program)?;
    block_on(end(program, &paths, &connection, args.now, quiet))?;
    start(program, quiet)
}

/// Stops the daemon, and returns once it and what it had started are gone. False when none runs.
async fn end(
    program: &Program,
    paths: &mia_config::Paths,
    connection: &Connection,
    now: bool,
    quiet: bool,
) -> Result<bool, Failure> {
    let lock = setup::lock_file(program, paths);
    let asked = match ask_to_end(connection, &lock, now).await? {
        Asked::Ends(status) => status,
        Asked::HasEnded => return Ok(true),
        Asked::Nobody => return Ok(false),
    };
    let began = Instant::now();
    let mut status = Status::new(Terminal::of_stderr());
    let mut left = asked.tasks.len();
    if left > 0 && !quiet && !now {
        let what = if left == 1 { "task" } else { "tasks" };
        status.line(
            &format!("waiting for {left} {what} to end; `{} stop --now` interrupts", program.name),
            Look::Plain,
        );
        for line in tasks::table(&asked.tasks).lines() {
            status.line(&format!("  {line}"), Look::Dim);
        }
    }
    // The lock is what tells: the socket goes first.
    let (mut gone, mut counted) = (None, began);
    while let Holder::Somebody(holder) = holder(&lock)? {
        let holder = holder.map(|about| about.pid);
        if holder.is_some_and(|pid| pid != asked.pid) {
            // Somebody has started the next one meanwhile.
            break;
        }
        if counted.elapsed() >= COUNT {
            counted = Instant::now();
            match look(connection).await {
                Ok(Some(now)) => left = now.tasks.len(),
                Ok(None) if gone.get_or_insert(counted).elapsed() > LAST => {
                    status.clear();
                    return Err(stuck(holder));
                }
                Err(silent @ ClientError::Silent { .. }) => {
                    status.clear();
                    return Err(silent.into());
                }
                // The lock says the rest.
                Ok(None) | Err(_) => {}
            }
        }
        if !quiet {
            let what = if left == 1 { "task" } else { "tasks" };
            status.show(&format!("stopping, {left} {what} left"), began);
        }
        tokio::time::sleep(LOOK).await;
    }
    status.clear();
    Ok(true)
}

/// What came of asking a daemon to end.
enum Asked {
    /// It does, once what it has accepted is over.
    Ends(Box<DaemonStatus>),
    /// It was about to, and is gone.
    HasEnded,
    /// None runs.
    Nobody,
}

/// Asks the daemon to end. One that has the lock and nobody can reach is about to listen, or to end, or
/// makes its socket anew.
async fn ask_to_end(connection: &Connection, lock: &Path, now: bool) -> Result<Asked, Failure> {
    let began = Instant::now();
    let mut seen = false;
    loop {
        match connection.post("/v1/stop", &Stop { now }).await {
            Ok(status) => return Ok(Asked::Ends(Box::new(status))),
            Err(error) if error.is_gone() => {}
            Err(error) => return Err(error.into()),
        }
        match holder(lock)? {
            Holder::Nobody if seen => return Ok(Asked::HasEnded),
            Holder::Nobody => return Ok(Asked::Nobody),
            Holder::Somebody(about) if began.elapsed() > LAST => {
                return Err(stuck(about.map(|about| about.pid)));
            }
            Holder::Somebody(_) => seen = true,
        }
        tokio::time::sleep(LOOK).await;
    }
}

fn holder(lock: &Path) -> Result<Holder, Failure> {
    Lock::look(lock).map_err(|error| Failure::environment(error.to_string()))
}

/// A daemon that nobody can reach and that does not end.
fn stuck(pid: Option<u32>) -> Failure {
    let process = pid.map(|pid| format!(" (process {pid})")).unwrap_or_default();
    let message = format!("the daemon{process} can't be reached, and does not end");
    let failure = Failure::environment(message);
    match pid {
        Some(pid) => failure.with_help(how_to_end(pid)),
        None => failure,
    }
}

/// What `status --json` says when no daemon runs, or beside what the daemon says.
#[derive(Debug, Serialize)]
struct Told {
    running: bool,
    #[serde(flatten)]
    status: Option<DaemonStatus>,
}

pub(crate) fn status(program: &Program, json: bool) -> Result<ExitCode, Failure> {
    let (connection, _) = reach(program)?;
    let status = block_on(async { Ok(look(&connection).await?) })?;
    let code = if status.is_some() { Exit::Done } else { Exit::Environment };
    if json {
        print_json(&Told { running: status.is_some(), status })?;
        return Ok(code.into());
    }
    let Some(status) = status else {
        print(b"no daemon runs; it starts when it is needed\n")?;
        return Ok(code.into());
    };
    let uptime = took(Duration::from_millis(status.uptime_ms));
    let mut text = format!(
        "the daemon runs: process {}, version {}, for {uptime}, on {}\n",
        status.pid,
        clean(&status.version),
        status.socket.as_path().display()
    );
    if status.version != mia_daemon::VERSION {
        text.push_str(&format!(
            "this is version {}: `{} restart` brings the daemon to it\n",
            mia_daemon::VERSION,
            program.name
        ));
    }
    if status.stopping {
        text.push_str("it is about to stop, and takes no prompts\n");
    }
    if let Some(why) = &status.read_only {
        text.push_str(&format!("nothing can be put on record: {}\n", clean(why)));
    }
    if let Some(mistake) = &status.configuration {
        text.push_str(&format!(
            "the configuration has mistakes, and the last good one is in force: {}\n",
            clean(mistake)
        ));
    }
    for resting in &status.resting {
        let left = took(Duration::from_millis(resting.left_ms));
        let name = clean(&resting.plugin);
        text.push_str(&format!(
            "{name} has failed several times in a row, and is left alone for {left}\n"
        ));
    }
    if status.tasks.is_empty() {
        text.push_str("nothing waits and nothing runs\n");
    } else {
        text.push_str(&tasks::table(&status.tasks));
    }
    print(text.as_bytes())?;
    Ok(code.into())
}

pub(crate) fn logs(program: &Program, args: &LogsArgs) -> Result<ExitCode, Failure> {
    let path = setup::log_file(program, &setup::paths()?);
    let failed =
        |error: io::Error| Failure::environment(format!("can't read {}: {error}", path.display()));
    let mut reader = log::Reader::open(&path).map_err(failed)?;
    let text = reader.last(args.lines).map_err(failed)?;
    let printed = print(&text)?;
    if !args.follow {
        if text.is_empty() && args.lines > 0 {
            write("the daemon has said nothing yet\n");
        }
        return Ok(printed);
    }
    let followed = block_on(async {
        Ok(reader
            .follow(|text| {
                let mut out = io::stdout().lock();
                out.write_all(text).and_then(|()| out.flush())
            })
            .await)
    })?;
    match followed {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(failed(error)),
        _ => Ok(Exit::Done.into()),
    }
}
