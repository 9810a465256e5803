//! Asking a program for its version.

use std::convert::Infallible;
use std::path::PathBuf;
use std::time::Duration;

use mia_host::{Child, SpawnSpec, StderrTail, Stdin};
use tokio::io::AsyncReadExt;

use super::adapter::Profile;
use super::binary::Found;
use super::environment;
use super::plugin::Ready;
use crate::contract::{Environment, Probe};

/// How long a program may take to tell its version (M-33): a little less than the 5 s after which
/// nobody waits any more, so that it is told which program that was.
pub(super) const LIMIT: Duration = Duration::from_millis(4800);
/// How long what it said is read once it is gone; a helper may hold its stdout open.
const DRAIN: Duration = Duration::from_millis(100);
/// How much of what it says is read, in bytes.
const MOST: usize = 4096;

/// Asks the program for its version. Answers within that time; nothing of it lives on.
pub(super) async fn version(
    ready: &Ready,
    profile: &Profile,
    found: &Found,
    environment: &Environment,
    limit: Duration,
) -> Probe {
    let own = &profile.version_env;
    let composed = environment::compose(environment, &profile.env, &ready.config, own, &[].into());
    let spec = SpawnSpec {
        program: found.path.clone(),
        args: profile.version_args.iter().map(Into::into).collect(),
        env: composed.variables,
        cwd: PathBuf::from("/"),
        stdin: Stdin::Null,
    };
    let mut probe =
        Probe { binary: Some(found.path.clone()), found_by: Some(found.by), ..Probe::default() };
    let told = async {
        let child = ready.services.supervisor.spawn(spec).await.map_err(|e| e.to_string())?;
        said_by(child).await
    };
    match tokio::time::timeout(limit, told).await {
        Ok(Ok(text)) => {
            probe.version = text
                .lines()
                .next()
                .map(|line| line.trim().chars().filter(|c| !c.is_control()).take(100).collect());
        }
        Ok(Err(problem)) => {
            let arguments = profile.version_args.join(" ");
            probe.problem = Some(format!("{} {arguments} failed: {problem}", found.path.display()));
        }
        Err(_) => {
            let (path, seconds) = (found.path.display(), limit.as_secs_f32().round());
            probe.problem = Some(format!("{path} did not tell its version in {seconds} s"));
        }
    }
    probe
}

/// What a child prints until it exits well. Both its pipes are drained (M-12).
async fn said_by(child: Child) -> Result<String, String> {
    let Child { mut stdout, mut stderr, process, stdin: _ } = child;
    let mut text = Vec::new();
    let mut tail = StderrTail::new(0);
    let mut read = async || {
        let mut chunk = [0; 512];
        while let Ok(count @ 1..) = stdout.read(&mut chunk).await {
            let room = MOST.saturating_sub(text.len()).min(count);
            text.extend_from_slice(chunk.get(..room).unwrap_or_default());
        }
    };
    let exit = {
        let both = async {
            // What can't be read is judged by the exit.
            let _ = tokio::join!(read(), tail.drain(&mut stderr));
            std::future::pending::<Infallible>().await
        };
        tokio::select! {
            exit = process.wait_exit() => exit.map_err(|lost| lost.to_string())?,
            never = both => match never {},
        }
    };
    let _ = tokio::time::timeout(DRAIN, read()).await;
    let _ = process.sweep().await;
    if exit.success() {
        Ok(String::from_utf8_lossy(&text).into_owned())
    } else {
        Err(format!("it ended with {exit}"))
    }
}
