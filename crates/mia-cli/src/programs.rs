//! Programs that Mia itself runs for its own ends: `npm`, `node`, `git`.

use std::convert::Infallible;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mia_host::kill::KillPlan;
use mia_host::{Child, ExitStatus, SpawnSpec, StderrTail, Stdin, Supervisor};
use mia_plugin::Environment;

/// How much of what a program says is kept, in bytes: the last of it.
const KEPT: usize = 32 * 1024;
/// How long output is still read once the program is gone; a helper may hold its pipes open.
const DRAIN: Duration = Duration::from_millis(200);

/// What a program is run with.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<OsString>,
    pub(crate) env: Vec<(OsString, OsString)>,
    pub(crate) cwd: PathBuf,
    /// How long it may take.
    pub(crate) limit: Duration,
}

/// What came of it.
#[derive(Debug)]
pub(crate) struct Said {
    /// None when it was ended for it took too long.
    pub(crate) exit: Option<ExitStatus>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Said {
    pub(crate) fn ok(&self) -> bool {
        self.exit.is_some_and(ExitStatus::success)
    }
}

/// Runs a program to its end. Nothing that it started lives on then, and neither when the future is
/// dropped.
///
/// # Errors
/// With a sentence's end, when it could not be started.
pub(crate) async fn run(supervisor: &Supervisor, run: Run) -> Result<Said, String> {
    let Run { program, args, env, cwd, limit } = run;
    let spec = SpawnSpec { program, args, env, cwd, stdin: Stdin::Null };
    let child = supervisor.spawn(spec).await.map_err(|error| error.to_string())?;
    let Child { mut stdout, mut stderr, process, stdin: _ } = child;
    let (mut out, mut err) = (StderrTail::new(KEPT), StderrTail::new(KEPT));
    let ended = {
        let mut read = async || {
            // What can't be read is judged by the exit.
            let _ = tokio::join!(out.drain(&mut stdout), err.drain(&mut stderr));
        };
        let read_all = async {
            read().await;
            std::future::pending::<Infallible>().await
        };
        let ended = async {
            match tokio::time::timeout(limit, process.wait_exit()).await {
                Ok(exit) => exit.map(Some),
                Err(_) => process.kill(KillPlan::default()).await.map(|_| None),
            }
        };
        let ended = tokio::select! {
            ended = ended => ended,
            never = read_all => match never {},
        };
        let _ = tokio::time::timeout(DRAIN, read()).await;
        ended
    };
    let exit = ended.map_err(|lost| lost.to_string())?;
    let _ = process.sweep().await;
    Ok(Said { exit, stdout: out.text(), stderr: err.text() })
}

/// The program of that name on the `PATH`, if there is one.
pub(crate) fn on_path(environment: &Environment, name: &str) -> Option<PathBuf> {
    let path = environment.get("PATH")?;
    std::env::split_paths(path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|candidate| is_program(candidate))
}

/// Whether a file is there that somebody may run.
pub(crate) fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}
