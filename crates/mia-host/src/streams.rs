//! A child's standard streams.

use std::io;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};
use tokio::net::unix::pipe;

use crate::spawn::{SpawnError, Stdin};

/// The room that the kernel keeps for output that nobody has read yet, in bytes: fewer changes
/// between writer and reader than with the default of 64 KiB.
const STDOUT_ROOM: usize = 256 << 10;

/// Our ends of a child's three streams, and the ends that travel to the supervisor.
#[derive(Debug)]
pub(crate) struct Streams {
    pub(crate) stdin: Option<pipe::Sender>,
    pub(crate) stdout: pipe::Receiver,
    pub(crate) stderr: pipe::Receiver,
    pub(crate) theirs: [OwnedFd; 3],
}

impl Streams {
    /// Opens them; within a tokio runtime only.
    pub(crate) fn open(stdin: Stdin) -> Result<Self, SpawnError> {
        Self::try_open(stdin).map_err(|error| {
            match error.raw_os_error().map(Errno::from_raw_os_error) {
                Some(Errno::MFILE | Errno::NFILE) => SpawnError::TooManyFiles,
                _ => SpawnError::Pipes(error),
            }
        })
    }

    fn try_open(stdin: Stdin) -> io::Result<Self> {
        let (stdin, their_stdin) = match stdin {
            Stdin::Null => (None, std::fs::File::open("/dev/null")?.into()),
            Stdin::Piped => {
                let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
                (Some(pipe::Sender::from_owned_fd(writer)?), reader)
            }
        };
        let (stdout, their_stdout) = pipe_with(PipeFlags::CLOEXEC)?;
        let (stderr, their_stderr) = pipe_with(PipeFlags::CLOEXEC)?;
        // Refused where this user's pipes hold too much already; the default serves as well.
        let _ = fcntl_setpipe_size(&stdout, STDOUT_ROOM);
        Ok(Self {
            stdin,
            stdout: pipe::Receiver::from_owned_fd(stdout)?,
            stderr: pipe::Receiver::from_owned_fd(stderr)?,
            theirs: [their_stdin, their_stdout, their_stderr],
        })
    }
}
