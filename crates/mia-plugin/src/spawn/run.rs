//! One child's life: bytes in, events out, until it and all that it started are gone.

use std::time::Duration;

use futures::future::BoxFuture;
use mia_api::{ErrorCode, Phase, PluginError};
use mia_host::framing::{LineEvent, LineReader};
use mia_host::kill::KillReport;
use mia_host::{Child, ExitStatus, SpawnError, SpawnSpec, StderrTail, SupervisorLost};
use tokio::time::Instant;

use super::adapter::{CliAdapter, Exit};
use super::failure::{Cut, spawn_failure};
use super::life::{Life, Next, Start};
use super::out::{Out, Terminal};

/// How long a start that is not wanted any more is waited for.
const UNDO: Duration = Duration::from_secs(5);

/// What came of a child.
#[derive(Debug)]
pub(super) struct Ran {
    pub(super) out: Out,
    pub(super) exit: Option<ExitStatus>,
    /// True when we ended it: its exit then says nothing.
    pub(super) by_us: bool,
    pub(super) cut: Option<Cut>,
    pub(super) stderr: String,
}

/// Lives through one child.
///
/// Dropping the future kills the child with its whole tree.
///
/// # Errors
/// When it could not be started.
pub(super) async fn run<A: CliAdapter>(
    spec: SpawnSpec,
    start: Start<'_, A>,
) -> Result<Ran, PluginError> {
    let (plugin, max_line, keep_background) = (start.plugin, start.max_line, start.keep_background);
    let requests = start.requests.clone();
    let mut tail = StderrTail::new(start.stderr_tail);
    let mut life = Life::new(start);
    let aborted =
        |out| Ran { out, exit: None, by_us: true, cut: Some(Cut::Aborted), stderr: String::new() };
    if requests.count() > 0 {
        return Ok(aborted(life.out));
    }
    let deadline = life.watch.deadline().map(|(at, _)| at);
    let mut spawning = Box::pin(life.start.supervisor.spawn(spec));
    let child = tokio::select! {
        biased;
        child = &mut spawning => {
            child.map_err(|e| spawn_failure(plugin, &life.start.profile.install, &e))?
        }
        () = requests.more_than(0) => {
            undo(spawning).await;
            return Ok(aborted(life.out));
        }
        () = sleep_until(deadline) => {
            undo(spawning).await;
            let message = "the agent could not be started in time";
            let error = PluginError::new(ErrorCode::Timeout, plugin, message);
            return Err(error.with_phase(Phase::Start));
        }
    };
    let Child { stdin, stdout, mut stderr, process } = child;
    let mut lines = LineReader::new(stdout, max_line);
    life.stdin.open(stdin);
    let mut aborts = 0;
    let mut ending: Option<BoxFuture<'_, Result<KillReport, SupervisorLost>>> = None;

    loop {
        life.hand_on();
        let wake = match life.next(lines.bytes_seen(), Instant::now()) {
            Next::Wait(wake) => wake,
            Next::Kill(plan) => {
                ending = Some(Box::pin(process.kill(plan)));
                continue;
            }
            Next::Over => break,
        };
        // In no fixed order: whatever is ready gets its turn, also beside a stream that never ends.
        tokio::select! {
            () = requests.more_than(aborts) => {
                aborts = requests.count();
                if life.abort() {
                    process.hurry();
                }
            }
            ready = life.start.events.ready(), if !life.pending.is_empty() => match ready {
                Ok(()) => life.push_pending(),
                Err(_) => life.unread(),
            },
            () = life.start.events.closed(), if !life.unread => life.unread(),
            status = process.wait_exit(), if life.exit.is_none() && ending.is_none() => {
                match status {
                    Ok(status) => life.exit = Some(status),
                    Err(lost) => life.lost(lost),
                }
            }
            report = until_some(&mut ending) => {
                ending = None;
                match report {
                    Ok(report) => life.ended(report),
                    Err(lost) => life.lost(lost),
                }
            }
            line = lines.next(), if life.stdout_open && life.pending.is_empty() => {
                // A pipe that can't be read says nothing more.
                let mut next = line.unwrap_or_default();
                life.stdout_open = next.is_some();
                while let Some(line) = next {
                    match line {
                        LineEvent::Line(line) => life.line(&line.to_str_lossy()),
                        LineEvent::TooLong { .. } => life.overflow(),
                    }
                    next = lines.next_buffered();
                }
            }
            read = tail.fill_from(&mut stderr), if life.stderr_open => {
                life.stderr_open = matches!(read, Ok(1..));
                life.watch.heard(Instant::now());
            }
            () = life.stdin.write() => {}
            answer = life.questions.next() => life.answered(answer),
            () = until_some(&mut life.recording) => life.recording = None,
            () = sleep_until(wake) => {}
        }
    }
    drop(ending);

    let stderr = tail.text();
    let Life { start, mut out, exit, by_us, mut cut, unread, .. } = life;
    if out.terminal().is_none() && cut.is_none() {
        let status = exit.unwrap_or(ExitStatus { code: None, signal: None });
        let exit = Exit { code: status.code, signal: status.signal, stderr: &stderr };
        let mut adapter = start.adapter;
        adapter.on_exit(&exit, &mut out);
        // Somebody asked for the end of what ended by itself, and it had not answered.
        if aborts > 0 && !matches!(out.terminal(), Some(Terminal::Complete(_))) {
            cut = Some(Cut::Aborted);
        }
    }
    out.noise_total();
    if !unread {
        for event in out.take_events() {
            // A few events over the bound; the reader may be long in coming.
            let _ = start.events.push(event);
        }
    }
    if keep_background && cut.is_none() {
        process.release();
    }
    Ok(Ran { out, exit, by_us, cut, stderr })
}

/// Ends a child that is just being started, and waits until it is gone: who asked for the end may
/// rely on that (M-24).
async fn undo(spawning: impl Future<Output = Result<Child, SpawnError>>) {
    let gone = async {
        if let Ok(child) = spawning.await {
            // A supervisor that was killed has taken it along.
            let _ = child.process.sweep().await;
        }
    };
    // A supervisor that does not answer can't be waited for; it sweeps what was dropped.
    let _ = tokio::time::timeout(UNDO, gone).await;
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

async fn until_some<T>(future: &mut Option<BoxFuture<'_, T>>) -> T {
    match future {
        Some(future) => future.await,
        None => std::future::pending().await,
    }
}
