//! Running a subject, and what it cost: wall time, CPU time of its whole tree.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use rustix::process::{WaitOptions, getpid, set_child_subreaper, wait};
use serde_json::Value;

use crate::Failure;

/// What a run cost, and what it printed.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) wall: Duration,
    /// User and system time of the program and of everything that it started.
    pub(crate) cpu: Duration,
    pub(crate) stdout: String,
}

/// Makes what a subject leaves behind our own, so that its time can be counted: a supervisor ends
/// just after its `mia`.
pub(crate) fn adopt_orphans() -> Result<(), Failure> {
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// Runs a program to its end; it must end well. The command must say nothing of its streams.
pub(crate) fn run(command: &mut Command, stdin: &str) -> Result<Run, Failure> {
    let before = cpu_of_children()?;
    command.stdout(Stdio::piped());
    let mut run = run_beside(command, stdin)?;
    // Waits for the orphans too: until there are no children.
    while wait(WaitOptions::empty()).is_ok() {}
    run.cpu = cpu_of_children()?.saturating_sub(before);
    Ok(run)
}

/// The same for a program that talks to another one, which runs on and whose time is not counted. The
/// command says where its output goes.
pub(crate) fn run_beside(command: &mut Command, stdin: &str) -> Result<Run, Failure> {
    let name = command.get_program().to_string_lossy().into_owned();
    let before = cpu_of_children()?;
    let began = Instant::now();
    command.stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("can't run {name}: {error}"))?;
    if let Some(mut pipe) = child.stdin.take() {
        // A child that reads nothing may be gone by now.
        let _ = pipe.write_all(stdin.as_bytes());
    }
    let output = child.wait_with_output()?;
    let wall = began.elapsed();
    let cpu = cpu_of_children()?.saturating_sub(before);
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{name} ended with {}: {}", output.status, said.trim()).into());
    }
    Ok(Run { wall, cpu, stdout: String::from_utf8_lossy(&output.stdout).into_owned() })
}

impl Run {
    /// The figures that a mode of `mia-bench` printed.
    pub(crate) fn figures(&self) -> Result<Value, Failure> {
        Ok(serde_json::from_str(&self.stdout)?)
    }
}

/// A number among printed figures.
pub(crate) fn number(figures: &Value, name: &str) -> Result<f64, Failure> {
    let value = figures.get(name).and_then(Value::as_f64);
    value.ok_or_else(|| format!("there is no {name} in {figures}").into())
}

fn cpu_of_children() -> Result<Duration, Failure> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let time = |time: nix::sys::time::TimeVal| {
        let seconds = u64::try_from(time.tv_sec()).unwrap_or_default();
        let micros = u64::try_from(time.tv_usec()).unwrap_or_default();
        Duration::from_secs(seconds) + Duration::from_micros(micros)
    };
    Ok(time(usage.user_time()) + time(usage.system_time()))
}
