//! `mia start`, `stop`, `restart`, `status`, `logs`: the daemon from outside.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use mia_api::{DaemonStatus, Stop};
use mia_daemon::{ClientError, Connection, Lock, background, log};
use serde::Serialize;

use crate::args::{LogsArgs, StopArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::manual::{print, print_json};
use crate::program::{Program, block_on};
use crate::setup;
use crate::status::Status;
use crate::tasks;
use crate::terminal::{Look, Terminal, clean, write};
use crate::time::took;

/// How often the daemon is looked at while it stops.
const LOOK: Duration = Duration::from_millis(50);

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
    let socket = setup::socket(program, &setup::paths()?);
    Ok((Connection::over(socket.clone()), Starter::new(socket)))
}

async fn look(connection: &Connection) -> Result<Option<DaemonStatus>, Failure> {
    match connection.get("/v1/status").await {
        Ok(status) => Ok(Some(status)),
        Err(error) if error.is_gone() => Ok(None),
        Err(error) => Err(error.into()),
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
    let pid = status.map(|status| format!(" (process {})", status.pid)).unwrap_or_default();
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
    let asked: Result<DaemonStatus, _> = connection.post("/v1/stop", &Stop { now }).await;
    let mut tasks = match asked {
        Ok(status) => status.tasks,
        Err(ClientError::NotRunning(_)) => return Ok(false),
        Err(error) if error.is_gone() => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    let began = Instant::now();
    let terminal = Terminal::of_stderr();
    let mut status = Status::new(terminal);
    if !tasks.is_empty() && !quiet && !now {
        let count = tasks.len();
        let what = if count == 1 { "task" } else { "tasks" };
        status.line(
            &format!("waiting for {count} {what} to end; `{} stop --now` interrupts", program.name),
            Look::Plain,
        );
        for line in tasks::table(&tasks).lines() {
            status.line(&format!("  {line}"), Look::Dim);
        }
    }
    // The lock is what tells: the socket goes first.
    let lock = setup::lock_file(program, paths);
    loop {
        if Lock::is_free(&lock) {
            status.clear();
            return Ok(true);
        }
        if !quiet {
            if let Ok(Some(now)) = look(connection).await {
                tasks = now.tasks;
            }
            let what = if tasks.len() == 1 { "task" } else { "tasks" };
            status.show(&format!("stopping, {} {what} left", tasks.len()), began);
        }
        tokio::time::sleep(LOOK).await;
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
    let status = block_on(look(&connection))?;
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
    if status.tasks.is_empty() {
        text.push_str("nothing waits and nothing runs\n");
    } else {
        text.push_str(&tasks::table(&status.tasks));
    }
    print(text.as_bytes())?;
    Ok(code.into())
}

pub(crate) fn logs(args: &LogsArgs) -> Result<ExitCode, Failure> {
    let path = setup::log_file(&setup::paths()?);
    let failed =
        |error: io::Error| Failure::environment(format!("can't read {}: {error}", path.display()));
    let (text, end) = log::tail(&path, args.lines).map_err(failed)?;
    let printed = print(&text)?;
    if !args.follow {
        if end == 0 {
            write("the daemon has said nothing yet\n");
        }
        return Ok(printed);
    }
    let followed = block_on(async {
        Ok(log::follow(&path, end, |text| {
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
