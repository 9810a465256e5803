//! A daemon that is measured from outside, in a home of its own.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use nix::sys::wait::waitpid;
use nix::time::clock_getcpuclockid;
use nix::unistd::Pid;
use serde_json::Value;

use super::child::Script;
use super::measure::{Run, run_beside};
use super::pairs::Setting;
use crate::Failure;

/// A home whose agent follows a script. Its daemon is stopped when this is dropped.
pub(super) struct Home<'a> {
    folder: PathBuf,
    mia: PathBuf,
    script: &'a Script,
}

/// A daemon that runs.
#[derive(Debug)]
pub(super) struct Daemon {
    pub(super) pid: u32,
    supervisor: u32,
    pub(super) socket: PathBuf,
}

impl<'a> Home<'a> {
    pub(super) fn new(
        setting: &Setting<'_>,
        name: &str,
        script: &'a Script,
    ) -> Result<Self, Failure> {
        let folder = setting.folder.join(name);
        fs::create_dir(&folder)?;
        let agent = setting.programs.fakecli()?;
        let binary = serde_json::to_string(&agent.to_string_lossy())?;
        let config = format!("plugins:\n  claude-code:\n    binary: {binary}\n");
        fs::write(folder.join("config.yaml"), config)?;
        Ok(Self { folder, mia: setting.programs.mia()?, script })
    }

    pub(super) fn database(&self) -> PathBuf {
        self.folder.join("mia.db")
    }

    /// `mia` in this home.
    pub(super) fn mia(&self, args: &[&str]) -> Command {
        let mut mia = self.script.command(&self.mia);
        mia.args(args).current_dir(&self.folder);
        mia.env("MIA_HOME", &self.folder).env("HOME", &self.folder).stdout(Stdio::piped());
        mia
    }

    /// `mia ask`, which is told nothing but the prompt.
    pub(super) fn ask(&self) -> Command {
        self.mia(&["ask", "--quiet", "--plugin", "claude-code", "hello"])
    }

    /// Starts the daemon, unless it runs.
    pub(super) fn start(&self) -> Result<Daemon, Failure> {
        run_beside(&mut self.mia(&["start", "--quiet"]), "")?;
        self.daemon()
    }

    /// The daemon that runs.
    pub(super) fn daemon(&self) -> Result<Daemon, Failure> {
        let status = run_beside(&mut self.mia(&["status", "--json"]), "")?.figures()?;
        let pid = status.get("pid").and_then(Value::as_u64).ok_or("the daemon has no pid")?;
        let socket = status.get("socket").and_then(Value::as_str).ok_or("it has no socket")?;
        let pid = u32::try_from(pid)?;
        // The supervisor is all that a daemon without work has below it.
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"))?;
        let mut supervisor = children.split_whitespace();
        let supervisor = supervisor.next().ok_or("the daemon has no supervisor")?.parse()?;
        Ok(Daemon { pid, supervisor, socket: socket.into() })
    }

    /// Stops the daemon, if one runs, and returns once nothing of it is left.
    pub(super) fn stop(&self) -> Result<(), Failure> {
        let daemon = self.daemon();
        run_beside(&mut self.mia(&["stop", "--now", "--quiet"]), "")?;
        if let Ok(daemon) = daemon {
            // Orphans, and so children of ours (`adopt_orphans`).
            for pid in [daemon.pid, daemon.supervisor] {
                let _ = waitpid(Pid::from_raw(i32::try_from(pid)?), None);
            }
        }
        Ok(())
    }
}

impl Drop for Home<'_> {
    fn drop(&mut self) {
        // A line that failed must not leave a daemon to the next one; one that is gone is no failure.
        let _ = self.stop();
    }
}

impl Daemon {
    /// The CPU time of the daemon, its supervisor and the agents that have ended.
    pub(super) fn cpu(&self) -> Result<Duration, Failure> {
        let mut sum = agents_of(self.supervisor)?;
        for pid in [self.pid, self.supervisor] {
            let clock = clock_getcpuclockid(Pid::from_raw(i32::try_from(pid)?))?;
            sum += Duration::from(clock.now()?);
        }
        Ok(sum)
    }

    /// What the daemon and its supervisor have resident, in KiB. Pages of the program's file that
    /// both use are counted twice.
    pub(super) fn resident_kib(&self) -> Result<f64, Failure> {
        self.both("VmRSS:")
    }

    /// The same without the program's file.
    pub(super) fn own_kib(&self) -> Result<f64, Failure> {
        self.both("RssAnon:")
    }

    fn both(&self, member: &str) -> Result<f64, Failure> {
        Ok(status_kib(self.pid, member)? + status_kib(self.supervisor, member)?)
    }

    /// The most that the daemon had resident since the last [`Daemon::forget_peak`], in KiB.
    pub(super) fn peak_kib(&self) -> Result<f64, Failure> {
        status_kib(self.pid, "VmHWM:")
    }

    pub(super) fn forget_peak(&self) -> Result<(), Failure> {
        Ok(fs::write(format!("/proc/{}/clear_refs", self.pid), "5")?)
    }

    /// Runs a client, with the daemon's time counted as its own.
    pub(super) fn client(&self, command: &mut Command) -> Result<Run, Failure> {
        let before = self.cpu()?;
        let mut run = run_beside(command, "")?;
        run.cpu += self.cpu()?.saturating_sub(before);
        Ok(run)
    }
}

fn status_kib(pid: u32, member: &str) -> Result<f64, Failure> {
    let text = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let value = text.lines().find_map(|line| line.strip_prefix(member));
    let number = value.and_then(|value| value.split_whitespace().next()?.parse().ok());
    number.ok_or_else(|| format!("process {pid} has no {member}").into())
}

/// The CPU time of a process's children that have ended, to 10 ms.
fn agents_of(pid: u32) -> Result<Duration, Failure> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name stands in parentheses and may hold any.
    let (_, fields) = stat.rsplit_once(") ").ok_or("a strange /proc/PID/stat")?;
    let ticks: u64 =
        fields.split(' ').skip(13).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    Ok(Duration::from_millis(ticks * 10))
}
