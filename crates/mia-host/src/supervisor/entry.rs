//! How a process becomes a supervisor: the first thing in `main`, or even before it.

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGPIPE, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::low_level::{exit, pipe};

use super::marker::Token;
use super::process;
use super::protocol::is_connection;

/// The argument that asks a program to be a supervisor.
pub(crate) const SENTINEL: &str = "--mia-supervisor-v1";

/// Turns this process into a supervisor and never returns, when it was started as one; otherwise
/// does nothing, at the cost of a look at the arguments.
///
/// To be called as the first thing of every `main` of a program that uses
/// [`Supervisor`](super::Supervisor), before any thread, argument parser or runtime starts. It
/// also works from a constructor that runs before `main`.
pub fn enter_if_asked() {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().as_deref() != Some(OsStr::new(SENTINEL)) {
        return;
    }
    let token = arguments.next().and_then(|token| Token::from_os(&token));
    // Somebody may have typed the argument by hand.
    let (Some(token), true) = (token, is_connection(std::io::stdin())) else { exit(2) };
    exit(i32::from(become_supervisor(token).is_err()))
}

/// Whether this very process was started to be a supervisor. When it still gets to ask, its
/// `main` didn't call [`enter_if_asked`], and starting another one would go on for ever.
pub(crate) fn was_asked() -> bool {
    std::env::args_os().nth(1).as_deref() == Some(OsStr::new(SENTINEL))
}

fn become_supervisor(token: Token) -> std::io::Result<()> {
    let socket = std::io::stdin().as_fd().try_clone_to_owned()?;
    let null: OwnedFd = std::fs::File::options().read(true).write(true).open("/dev/null")?.into();
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    drop(null);
    close_inherited(&[socket.as_fd()])?;

    // An own session: a terminal's Ctrl-C and hang-up reach neither us nor any agent. It fails
    // only where we lead a group already, which does no harm.
    let _ = rustix::process::setsid();
    let _ = rustix::process::chdir("/");
    // Not "mia": `pkill mia` and `killall mia` should leave the one that cleans up after it.
    let _ = rustix::thread::set_name(c"agent-keeper");
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;

    // Handlers and not SIG_IGN, which our children would inherit.
    let deaf = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1, SIGUSR2] {
        signal_hook::flag::register(signal, Arc::clone(&deaf))?;
    }
    let (child_ended, waker) = UnixStream::pair()?;
    child_ended.set_nonblocking(true)?;
    pipe::register(SIGCHLD, waker)?;

    process::run(socket, child_ended, token)
}

/// Closes every descriptor above 2 but these: what this process's parent left open on exec. A lock or a
/// pipe must not stay open for as long as a process lives that has nothing to do with it.
///
/// To be called before this process has opened anything that it wants to keep.
///
/// # Errors
/// When the list of open descriptors can't be read.
pub fn close_inherited(keep: &[std::os::fd::BorrowedFd<'_>]) -> std::io::Result<()> {
    use std::os::fd::AsRawFd;
    let open: Vec<i32> = std::fs::read_dir("/proc/self/fd")?
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect();
    let kept = |fd: i32| fd <= 2 || keep.iter().any(|keep| keep.as_raw_fd() == fd);
    for fd in open.into_iter().filter(|fd| !kept(*fd)) {
        // The list's own descriptor is among them and closed already: that error is no news.
        let _ = nix::unistd::close(fd);
    }
    Ok(())
}
