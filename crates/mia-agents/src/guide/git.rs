//! Running the user's git: read-only, no locks, no pager, no editor, no prompt, nothing of the
//! repository's that would run a program.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use mia_host::kill::KillPlan;
use mia_host::{SpawnSpec, Stdin};
use mia_plugin::{Dispatch, Environment, Services};
use tokio::io::{AsyncRead, AsyncReadExt};

use super::prose;
use super::stop::{Ended, Stop};

/// How long git may take.
const LIMIT: Duration = Duration::from_secs(10);

/// How much git may print, in bytes.
const MOST: usize = 512 * 1024;

/// How much of git's complaint is kept, in bytes.
const COMPLAINT: usize = 4 * 1024;

/// The variables that git gets of the caller's. Others would lead it to another repository, or to
/// programs of somebody's choice.
const PASSED: [&str; 5] = ["PATH", "HOME", "XDG_CONFIG_HOME", "TMPDIR", "USER"];

/// What git printed.
#[derive(Debug)]
pub(super) struct Printed {
    bytes: Vec<u8>,
    /// True when there was more.
    pub(super) truncated: bool,
}

impl Printed {
    /// It, as text.
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

/// The user's git in the working directory of a dispatch.
#[derive(Debug)]
pub(super) struct Git<'a> {
    cwd: &'a Path,
    services: &'a Services,
    environment: &'a Environment,
}

impl<'a> Git<'a> {
    /// The git of a dispatch.
    pub(super) fn new(dispatch: &'a Dispatch, services: &'a Services) -> Self {
        let cwd = &dispatch.options.working_directory;
        Self { cwd, services, environment: &dispatch.environment }
    }

    /// Whether there is a repository, as far as the eye can see: `.git` here or above.
    pub(super) fn is_in_a_repository(&self) -> bool {
        self.cwd.ancestors().any(|folder| folder.join(".git").exists())
    }

    /// Runs git. The error is for people; git has ended, or there was none.
    ///
    /// When the future is dropped git is killed.
    pub(super) async fn run(
        &self,
        arguments: &[&str],
        stop: &Stop,
    ) -> Result<Result<Printed, String>, Ended> {
        let Some(program) = self.program() else {
            return Ok(Err("git is not installed, or not on the PATH".to_owned()));
        };
        const SETTINGS: [&str; 8] = [
            "--no-optional-locks",
            "--no-pager",
            "-c",
            "core.fsmonitor=false",
            "-c",
            "core.quotePath=false",
            "-c",
            "log.showSignature=false",
        ];
        let spec = SpawnSpec {
            program,
            args: SETTINGS.iter().chain(arguments).map(OsString::from).collect(),
            env: self.variables(),
            cwd: self.cwd.to_owned(),
            stdin: Stdin::Null,
        };
        // Not dropped half-way: what was just started could then only be ended later than we return.
        let mut child = match self.services.supervisor.spawn(spec).await {
            Ok(child) => child,
            Err(error) => return Ok(Err(format!("failed to {error}"))),
        };
        let work = async {
            let (out, complaint) =
                tokio::join!(read(&mut child.stdout, MOST), read(&mut child.stderr, COMPLAINT),);
            let exit = if out.truncated { None } else { child.process.wait_exit().await.ok() };
            (out, complaint, exit)
        };
        let ran = stop.or(tokio::time::timeout(LIMIT, work)).await;
        // Whatever became of it, nothing of git is left when the caller goes on.
        let _ = child.process.kill(KillPlan::AT_ONCE).await;
        Ok(match ran? {
            Ok((out, _, None)) if out.truncated => Ok(out),
            Ok((out, _, Some(exit))) if exit.success() => Ok(out),
            Ok((_, complaint, _)) => {
                let text = prose::clean(&complaint.text());
                let line = text.lines().next().unwrap_or("git failed and did not say why");
                Err(line.to_owned())
            }
            Err(_) => Err(format!("git took more than {} s", LIMIT.as_secs())),
        })
    }

    fn program(&self) -> Option<PathBuf> {
        let path =
            self.environment.get("PATH").or_else(|| self.services.environment.get("PATH"))?;
        std::env::split_paths(path)
            .filter(|folder| folder.is_absolute())
            .map(|folder| folder.join("git"))
            .find(|program| program.is_file())
    }

    fn variables(&self) -> Vec<(OsString, OsString)> {
        let value =
            |name: &str| self.environment.get(name).or_else(|| self.services.environment.get(name));
        let passed = PASSED.iter().filter_map(|name| Some((*name, value(name)?)));
        let ours = [
            ("GIT_EDITOR", ":"),
            ("GIT_OPTIONAL_LOCKS", "0"),
            ("GIT_PAGER", "cat"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("LC_ALL", "C.UTF-8"),
        ];
        passed
            .chain(ours.map(|(name, value)| (name, OsStr::new(value))))
            .map(|(name, value)| (name.into(), value.into()))
            .collect()
    }
}

/// Reads to the end, or until there is too much.
async fn read(from: &mut (impl AsyncRead + Unpin), most: usize) -> Printed {
    let mut printed = Printed { bytes: Vec::new(), truncated: false };
    // One byte more tells whether that was all.
    let mut bounded = from.take(most as u64 + 1);
    let _ = bounded.read_to_end(&mut printed.bytes).await;
    printed.truncated = printed.bytes.len() > most;
    printed.bytes.truncate(most);
    printed
}
