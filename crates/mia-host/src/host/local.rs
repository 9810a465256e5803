//! This machine as a host. Everything that is started here is a child of the supervisor, and gone when the
//! host is closed or dropped.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt;
use futures::future::{BoxFuture, join_all};
use rustix::fs::Access;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};

use super::{
    ExecOutput, ExecProgram, ExecSpec, Host, HostError, HostInfo, HostProcess, ProcessControl,
    ProcessSpec,
};
use crate::kill::KillPlan;
use crate::{Child, ExitStatus, Process, Signal, SpawnSpec, Stdin, Supervisor};

/// The shell of [`ExecProgram::Shell`].
const SHELL: &str = "/bin/sh";

/// Where programs run that no plug has put anywhere else.
pub struct LocalHost {
    supervisor: Supervisor,
    info: HostInfo,
    /// What every program needs of the environment, and nothing else.
    env: Vec<(OsString, OsString)>,
    /// Started and not ended by us; none once the host is closed.
    processes: Mutex<Option<Vec<Arc<Process>>>>,
}

impl LocalHost {
    /// This machine, with that folder to work in. `env` is all that programs get beside what each is given:
    /// `PATH`, `HOME` and what else every program needs.
    #[must_use]
    pub fn new(supervisor: Supervisor, workspace: PathBuf, env: Vec<(OsString, OsString)>) -> Self {
        let of = |name: &str| {
            let found = env.iter().find(|(var, _)| var == name).map(|(_, value)| value.into());
            found.filter(|path: &PathBuf| path.is_absolute())
        };
        let info = HostInfo {
            kind: "local".to_owned(),
            os: std::env::consts::OS.to_owned(),
            arch: std::env::consts::ARCH.to_owned(),
            home: of("HOME").unwrap_or_else(|| "/".into()),
            tmpdir: of("TMPDIR").unwrap_or_else(|| "/tmp".into()),
            workspace,
            persistent: true,
        };
        Self { supervisor, info, env, processes: Mutex::new(Some(Vec::new())) }
    }

    fn processes(&self) -> MutexGuard<'_, Option<Vec<Arc<Process>>>> {
        self.processes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn start(
        &self,
        program: &OsStr,
        args: Vec<OsString>,
        cwd: Option<PathBuf>,
        env: Vec<(OsString, OsString)>,
    ) -> Result<Child, HostError> {
        if self.processes().is_none() {
            return Err(HostError::Closed);
        }
        let mut all = self.env.clone();
        all.retain(|(name, _)| !env.iter().any(|(other, _)| other == name));
        all.extend(env);
        let cwd = self.info.workspace.join(cwd.unwrap_or_default());
        let spec = SpawnSpec {
            program: find(program, &all, &cwd)?,
            args,
            env: all,
            cwd,
            stdin: Stdin::Piped,
        };
        let spawned = self.supervisor.spawn(spec).await;
        spawned.map_err(|error| HostError::Spawn(error.to_string().into()))
    }

    async fn run(&self, spec: ExecSpec) -> Result<ExecOutput, HostError> {
        let ExecSpec { program, cwd, env, stdin, max_output, check, timeout } = spec;
        let (program, args) = match program {
            ExecProgram::Shell(words) => (SHELL.into(), vec!["-c".into(), words.into()]),
            ExecProgram::Argv(argv) => {
                let mut argv = argv.into_iter();
                let program = argv.next().ok_or_else(|| HostError::new("no program to run"))?;
                (program, argv.collect())
            }
        };
        let Child { stdin: input, mut stdout, mut stderr, process } =
            self.start(&program, args, cwd, env).await?;
        let feed = async {
            if let Some(mut input) = input {
                // A program need not read what it is given.
                let _ = input.write_all(&stdin).await;
            }
        };
        let end = async {
            let ended = process.wait_exit().await;
            // What it has left behind would hold its output open.
            let swept = process.sweep().await;
            ended.and_then(|status| swept.map(|_| status))
        };
        let all = async {
            let (kept, said) = (keep(&mut stdout, max_output), keep(&mut stderr, max_output));
            tokio::join!(feed, kept, said, end)
        };
        let limit = timeout.map_or(std::time::Duration::MAX, |limit| limit);
        let name = Path::new(&program).display().to_string();
        let Ok(((), stdout, stderr, status)) = tokio::time::timeout(limit, all).await else {
            let _ = process.kill(KillPlan::default()).await;
            let message = format!("{name} did not end in {} s", limit.as_secs_f32());
            return Err(HostError::new(message));
        };
        let status = status.map_err(HostError::new)?;
        if check && !status.success() {
            let end = stderr.0.len().saturating_sub(4096);
            let said = String::from_utf8_lossy(stderr.0.get(end..).unwrap_or_default());
            return Err(HostError::Status { program: name, status, stderr: said.into() });
        }
        let truncated = stdout.1 || stderr.1;
        Ok(ExecOutput { status, stdout: stdout.0, stderr: stderr.0, truncated })
    }
}

/// Reads to the end, and keeps the first so many bytes. Says also whether there were more.
async fn keep(stream: &mut (impl AsyncRead + Unpin), most: usize) -> (Vec<u8>, bool) {
    let mut kept = Vec::new();
    let limit = u64::try_from(most).unwrap_or(u64::MAX);
    // A stream that breaks has ended.
    let _ = stream.take(limit).read_to_end(&mut kept).await;
    let more = tokio::io::copy(stream, &mut tokio::io::sink()).await.unwrap_or(0);
    (kept, more > 0)
}

/// The program's file: a name without a slash is looked for on the `PATH`.
fn find(program: &OsStr, env: &[(OsString, OsString)], cwd: &Path) -> Result<PathBuf, HostError> {
    if program.is_empty() {
        return Err(HostError::new("no program to run"));
    }
    if program.as_bytes().contains(&b'/') {
        return Ok(cwd.join(program));
    }
    let path = env.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.as_os_str());
    let folders = std::env::split_paths(path.unwrap_or(OsStr::new("/usr/bin:/bin")));
    let mut files =
        folders.filter(|folder| folder.is_absolute()).map(|folder| folder.join(program));
    files
        .find(|file| file.is_file() && rustix::fs::access(file, Access::EXEC_OK).is_ok())
        .ok_or_else(|| {
            let name = program.display();
            HostError::Spawn(format!("run {name}: it is not on the PATH of its host").into())
        })
}

impl Host for LocalHost {
    fn info(&self) -> BoxFuture<'_, Result<HostInfo, HostError>> {
        async { Ok(self.info.clone()) }.boxed()
    }

    /// What the program leaves behind ends with it.
    fn exec(&self, spec: ExecSpec) -> BoxFuture<'_, Result<ExecOutput, HostError>> {
        self.run(spec).boxed()
    }

    fn spawn(&self, spec: ProcessSpec) -> BoxFuture<'_, Result<HostProcess, HostError>> {
        async move {
            let child = self.start(&spec.program, spec.args, spec.cwd, spec.env).await?;
            let Child { stdin, stdout, stderr, process } = child;
            let process = Arc::new(process);
            match self.processes().as_mut() {
                Some(processes) => processes.push(Arc::clone(&process)),
                // It was closed meanwhile; the child goes with its handle.
                None => return Err(HostError::Closed),
            }
            let stdin = stdin.ok_or_else(|| HostError::new("the child has no stdin"))?;
            Ok(HostProcess {
                stdin: Box::new(stdin),
                stdout: Box::new(stdout),
                stderr: Box::new(stderr),
                control: Box::new(Control(process)),
            })
        }
        .boxed()
    }

    fn close(&self) -> BoxFuture<'_, Result<(), HostError>> {
        async {
            let processes = self.processes().take().unwrap_or_default();
            let ends = processes.iter().map(|process| process.kill(KillPlan::default()));
            let ends = join_all(ends).await;
            // Without a supervisor there are no children either.
            let left: u32 = ends.iter().flatten().map(|report| report.leftover.survivors).sum();
            match left {
                0 => Ok(()),
                left => Err(HostError::new(format!("{left} processes could not be ended"))),
            }
        }
        .boxed()
    }
}

impl fmt::Debug for LocalHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalHost").field("info", &self.info).finish_non_exhaustive()
    }
}

struct Control(Arc<Process>);

impl ProcessControl for Control {
    fn wait(&self) -> BoxFuture<'_, Result<ExitStatus, HostError>> {
        async { self.0.wait_exit().await.map_err(HostError::new) }.boxed()
    }

    fn kill(&self, signal: Signal) -> BoxFuture<'_, Result<(), HostError>> {
        async move {
            match signal {
                // With all that it has started, and once that is gone.
                Signal::Kill => {
                    self.0.kill(KillPlan::AT_ONCE).await.map_err(HostError::new)?;
                }
                Signal::Interrupt | Signal::Terminate => self.0.signal(signal),
            }
            Ok(())
        }
        .boxed()
    }
}
