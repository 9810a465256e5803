//! The child that `fork-sleeper` leaves behind.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio, exit};
use std::time::Duration;

use super::play::ignore;
use super::program::NAME;

/// The first argument that makes the fake CLI a sleeper.
pub(super) const ARGUMENT: &str = "--fakecli-sleeper";

/// How long a sleeper sleeps, so that one forgotten by a broken test is not there for ever.
const SLEEP: Duration = Duration::from_secs(600);

/// Starts a sleeper and returns once its pid is in `file`.
pub(super) fn start(file: &Path, options: &[String]) -> io::Result<()> {
    let has = |option: &str| options.iter().any(|given| given == option);
    let mut command = Command::new(std::env::current_exe()?);
    command.arg0(NAME).arg(ARGUMENT).arg(file).args(options).stdin(Stdio::null());
    if !has("hold-stdout") {
        command.stdout(Stdio::null()).stderr(Stdio::null());
    }
    if has("clean-env") {
        command.env_clear();
    }
    let mut child = command.spawn()?;
    while !file.exists() {
        if let Some(status) = child.try_wait()? {
            return Err(io::Error::other(format!("the sleeper ended: {status}")));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// The sleeper itself.
pub(super) fn sleep(file: &OsStr, options: &[OsString]) -> ! {
    let has = |option: &str| options.iter().any(|given| given == option);
    if has("stubborn") {
        for signal in [
            rustix::process::Signal::TERM,
            rustix::process::Signal::INT,
            rustix::process::Signal::HUP,
        ] {
            ignore(signal).expect("a signal that can be ignored");
        }
    }
    if has("setsid") {
        rustix::process::setsid().expect("a fresh child is no group leader");
    }
    // Written aside and renamed: who sees the file finds the whole pid in it.
    let aside = Path::new(file).with_extension("writing");
    std::fs::write(&aside, std::process::id().to_string()).expect("a writable folder");
    std::fs::rename(&aside, file).expect("a writable folder");
    let until = std::time::Instant::now() + SLEEP;
    while std::time::Instant::now() < until {
        std::thread::sleep(Duration::from_secs(1));
    }
    exit(0)
}
