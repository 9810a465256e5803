//! Starting the daemon, and becoming one.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use mia_plugin::Environment;

use crate::client::somebody_listens;
use crate::lock::OTHER;

/// How long a daemon may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(20);

/// What of its starter's environment the daemon keeps beside what every program needs: nothing that
/// could be a secret. What an agent needs comes with each prompt.
const KEPT: [&str; 2] = ["MIA_HOME", "RUST_BACKTRACE"];

/// Why the daemon could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// It ended at once.
    #[error("the daemon could not start: {}", .0.trim())]
    Ended(String),
    /// It is there and does not answer.
    #[error("the daemon did not answer on {} within 10 s", .0.display())]
    Silent(PathBuf),
    /// The socket can't be used.
    #[error("can't use the socket {}: {source}", path.display())]
    Socket {
        /// The socket.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The program could not be run.
    #[error("can't run {}: {source}", program.display())]
    Run {
        /// The program.
        program: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// Starts the daemon where nobody listens on the socket, and returns once somebody does: this one, or
/// one that another process has started at the same time. True when this one was started.
///
/// The program is run with these arguments and nearly no environment; it is to call [`enter`] first.
///
/// # Errors
/// When nobody listens in the end; with what the daemon said.
pub async fn start(program: &Path, args: &[&str], socket: &Path) -> Result<bool, StartError> {
    let began = Instant::now();
    loop {
        let listens = async || {
            let failed = |source| StartError::Socket { path: socket.to_owned(), source };
            somebody_listens(socket).await.map_err(failed)
        };
        if listens().await? {
            return Ok(false);
        }
        let said = run(program, args).await?;
        if listens().await? {
            return Ok(said.is_empty());
        }
        if !said.is_empty() && !said.contains(OTHER) {
            return Err(StartError::Ended(said));
        }
        if began.elapsed() > PATIENCE {
            return Err(StartError::Silent(socket.to_owned()));
        }
        // Another one is about to be ready, or about to end.
        tokio::time::sleep(LOOK).await;
    }
}

/// Runs the program until it is ready or has ended. Returns what it said: nothing when it is ready.
async fn run(program: &Path, args: &[&str]) -> Result<String, StartError> {
    let failed = |source| StartError::Run { program: program.to_owned(), source };
    let own = KEPT.iter().filter_map(|name| Some((*name, std::env::var_os(name)?)));
    let mut child = Command::new(program)
        .args(args)
        .env_clear()
        .envs(Environment::of_this_process().what_programs_need())
        .envs(own)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let pipe = child.stderr.take();
    let (said, hears) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let mut text = Vec::new();
        // Its end is the sign that the daemon is ready, or has ended.
        if let Some(pipe) = pipe {
            let _ = pipe.take(64 * 1024).read_to_end(&mut text);
        }
        let _ = said.send(String::from_utf8_lossy(&text).into_owned());
        // So that it is no zombie if it ends before this process does.
        let _ = child.wait();
    });
    let said = tokio::time::timeout(PATIENCE, hears).await;
    Ok(said.ok().and_then(Result::ok).unwrap_or_default())
}

/// Leaves the starter behind: its session, its folder, its descriptors. To be called before this
/// process has opened anything. What is said on stderr still reaches the starter, until [`ready`].
///
/// # Errors
/// What the system says.
pub fn enter() -> io::Result<()> {
    mia_host::supervisor::close_inherited(&[])?;
    // It fails only where this process leads a group already, which does no harm.
    let _ = rustix::process::setsid();
    rustix::process::chdir("/")?;
    Ok(())
}

/// Tells the starter that all is well, by closing the way to it.
///
/// # Errors
/// What the system says.
pub fn ready() -> io::Result<()> {
    let null = File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    Ok(())
}
