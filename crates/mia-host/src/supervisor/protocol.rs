//! What Mia and its supervisor say to each other, over one `SOCK_SEQPACKET` socket.
//!
//! A message is one packet and small. What may be large, a child's arguments and environment,
//! lies in a memory file whose descriptor travels beside the packet, so no socket limit applies.

use std::io::{IoSlice, IoSliceMut, Read, Seek, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use serde::{Deserialize, Serialize};

use crate::ExitStatus;

/// The largest packet, in bytes; every message is far below it.
const PACKET: usize = 512;
/// The memory file and the child's three standard streams.
pub(crate) const SPAWN_DESCRIPTORS: usize = 4;
/// The largest body of a spawn request, in bytes. The kernel's own limit for a program's
/// arguments and environment together is 6 MiB.
pub(crate) const BODY_LIMIT: usize = 16 << 20;

/// From Mia to the supervisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Request {
    /// Start a child; beside it travel a memory file with a [`SpawnBody`], stdin, stdout, stderr.
    Spawn { id: u64 },
    /// Send a signal to the child's group.
    Signal { id: u64, signal: i32 },
    /// Kill what is left of the child's tree and forget it.
    Sweep { id: u64 },
    /// Forget the child and let its tree live.
    Release { id: u64 },
}

/// From the supervisor to Mia.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Reply {
    /// The supervisor runs; always the first message.
    Ready,
    /// The child runs.
    Spawned { id: u64, pid: i32, start: u64 },
    /// The child could not be started, for this `errno`. There will be no other word of it.
    SpawnFailed { id: u64, errno: i32 },
    /// The child itself has ended. What it started may live on.
    Exited { id: u64, status: ExitStatus },
    /// Nothing of the child's tree runs any more, except `survivors` that could not be killed.
    Swept { id: u64, killed: u32, survivors: u32 },
}

/// What to start, in the memory file of a [`Request::Spawn`].
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SpawnBody<'a> {
    #[serde(borrow)]
    pub(crate) program: Bytes<'a>,
    #[serde(borrow)]
    pub(crate) args: Vec<Bytes<'a>>,
    #[serde(borrow)]
    pub(crate) env: Vec<(Bytes<'a>, Bytes<'a>)>,
    #[serde(borrow)]
    pub(crate) cwd: Bytes<'a>,
}

/// Raw bytes, written as a block and not one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bytes<'a>(pub(crate) &'a [u8]);

impl Serialize for Bytes<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Bytes<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <&[u8]>::deserialize(deserializer).map(Self)
    }
}

/// Writes a body into a new memory file.
pub(crate) fn write_body(body: &SpawnBody<'_>) -> Result<OwnedFd, Errno> {
    let bytes = postcard::to_stdvec(body).map_err(|_| Errno::INVAL)?;
    if bytes.len() > BODY_LIMIT {
        return Err(Errno::TOOBIG);
    }
    let fd = rustix::fs::memfd_create("mia-spawn", rustix::fs::MemfdFlags::CLOEXEC)?;
    let mut file = std::fs::File::from(fd);
    file.write_all(&bytes).map_err(errno_of)?;
    Ok(file.into())
}

/// Reads the bytes of a body back.
pub(crate) fn read_body(fd: OwnedFd) -> Result<Vec<u8>, Errno> {
    let mut file = std::fs::File::from(fd);
    let len = usize::try_from(file.metadata().map_err(errno_of)?.len()).unwrap_or(usize::MAX);
    if len > BODY_LIMIT {
        return Err(Errno::TOOBIG);
    }
    file.rewind().map_err(errno_of)?;
    let mut bytes = Vec::with_capacity(len);
    file.read_to_end(&mut bytes).map_err(errno_of)?;
    Ok(bytes)
}

/// The `errno` in an error of the standard library, which is not always there.
pub(crate) fn errno_of(error: std::io::Error) -> Errno {
    error.raw_os_error().map_or(Errno::IO, Errno::from_raw_os_error)
}

/// Sends one message without ever waiting; `AGAIN` when the socket is full. All or nothing.
pub(crate) fn send(
    socket: BorrowedFd<'_>,
    message: &impl Serialize,
    descriptors: &[BorrowedFd<'_>],
) -> Result<(), Errno> {
    let mut packet = [0_u8; PACKET];
    let packet = postcard::to_slice(message, &mut packet).map_err(|_| Errno::MSGSIZE)?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(SPAWN_DESCRIPTORS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() && !control.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(Errno::MSGSIZE);
    }
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    rustix::io::retry_on_intr(|| sendmsg(socket, &[IoSlice::new(packet)], &mut control, flags))?;
    Ok(())
}

/// Receives one message without ever waiting: `None` at the end of the connection, `AGAIN` when
/// there is nothing yet, `BADMSG` for one that makes no sense.
pub(crate) fn receive<M: for<'de> Deserialize<'de>>(
    socket: BorrowedFd<'_>,
) -> Result<Option<(M, Vec<OwnedFd>)>, Errno> {
    let mut packet = [0_u8; PACKET];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(SPAWN_DESCRIPTORS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
    let received = rustix::io::retry_on_intr(|| {
        recvmsg(socket, &mut [IoSliceMut::new(&mut packet)], &mut control, flags)
    })?;
    let descriptors = control
        .drain()
        .filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
            _ => None,
        })
        .flatten()
        .collect();
    if received.bytes == 0 {
        return Ok(None);
    }
    let packet = packet.get(..received.bytes).ok_or(Errno::BADMSG)?;
    let message = postcard::from_bytes(packet).map_err(|_| Errno::BADMSG)?;
    Ok(Some((message, descriptors)))
}

/// The two ends of a new connection.
pub(crate) fn connection() -> Result<(OwnedFd, OwnedFd), Errno> {
    rustix::net::socketpair(
        rustix::net::AddressFamily::UNIX,
        rustix::net::SocketType::SEQPACKET,
        rustix::net::SocketFlags::CLOEXEC,
        None,
    )
}

/// Whether a descriptor is a socket of the kind that [`connection`] makes.
pub(crate) fn is_connection(fd: impl AsFd) -> bool {
    rustix::net::sockopt::socket_type(fd) == Ok(rustix::net::SocketType::SEQPACKET)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_comes_back_as_it_was() {
        let big = vec![0xff_u8; 3 << 20];
        let body = SpawnBody {
            program: Bytes(b"/bin/sh"),
            args: vec![Bytes(b""), Bytes(b"\xff\n")],
            env: vec![(Bytes(b"A"), Bytes(&big))],
            cwd: Bytes(b"/"),
        };
        let bytes = read_body(write_body(&body).unwrap()).unwrap();
        assert_eq!(postcard::from_bytes::<SpawnBody<'_>>(&bytes).unwrap(), body);
    }

    #[test]
    fn a_body_over_the_limit_is_refused() {
        let big = vec![0_u8; BODY_LIMIT];
        let body = SpawnBody { program: Bytes(&big), args: vec![], env: vec![], cwd: Bytes(b"/") };
        assert_eq!(write_body(&body).unwrap_err(), Errno::TOOBIG);
    }

    #[test]
    fn messages_keep_their_borders_and_the_end_is_seen() {
        let (here, there) = connection().unwrap();
        let request = Request::Signal { id: u64::MAX, signal: 15 };
        send(here.as_fd(), &request, &[]).unwrap();
        send(here.as_fd(), &Request::Sweep { id: 1 }, &[here.as_fd()]).unwrap();
        let (first, descriptors) = receive::<Request>(there.as_fd()).unwrap().unwrap();
        assert_eq!((first, descriptors.len()), (request, 0));
        let (second, descriptors) = receive::<Request>(there.as_fd()).unwrap().unwrap();
        assert_eq!((second, descriptors.len()), (Request::Sweep { id: 1 }, 1));
        assert_eq!(receive::<Request>(there.as_fd()).unwrap_err(), Errno::AGAIN);
        drop((here, descriptors));
        assert!(receive::<Request>(there.as_fd()).unwrap().is_none());
    }
}
