//! How much one connection may take, and all of them together.

use std::time::Duration;

/// How many connections may be open at most.
const CONNECTIONS: usize = 8192;
/// How many descriptors are left for the record, the log and the agents; of few, half.
const OTHERS: usize = 512;
/// How much of bodies may be held at once, in bytes.
const BODIES: usize = 256 * 1024 * 1024;

/// What connections may take. The default is what `mia serve` has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// How many may be open, 8192. More wait in the system's queue until one closes, which takes 4096,
    /// or what `net.core.somaxconn` says; the next are told to try again.
    pub connections: usize,
    /// How long the head of a request may take, and a connection without a request may stay: 10 s.
    pub head: Duration,
    /// How large the head of a request may be, in bytes: 64 KiB.
    pub head_size: usize,
    /// How long a body may make no progress: 30 s.
    pub body: Duration,
    /// How long a body may take in all: 10 min.
    pub whole_body: Duration,
    /// How much of the bodies of all connections may be held at once, in bytes: 256 MiB. It is taken as
    /// they come and given back with the answer. What is made of a body while it is read takes about as
    /// much again.
    pub bodies: usize,
    /// How long a body may wait for room among the others: 10 s. Then it is refused, and its sender told
    /// to try again.
    pub room: Duration,
    /// How long the rest of a body that nobody wants is read, so that its sender gets to the answer:
    /// 10 s.
    pub rest: Duration,
    /// How long a client may take nothing of an answer that is there: 1 h. That is generous, because a
    /// watcher may be suspended (Ctrl-Z) and what is kept for it is bounded. One that is dropped goes on
    /// where it stood; one that is `attached` takes its task with it.
    pub unread: Duration,
    /// How long open connections may take to close at the end: 2 s.
    pub closing: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: CONNECTIONS,
            head: Duration::from_secs(10),
            head_size: 64 * 1024,
            body: Duration::from_secs(30),
            whole_body: Duration::from_secs(10 * 60),
            bodies: BODIES,
            room: Duration::from_secs(10),
            rest: Duration::from_secs(10),
            unread: Duration::from_secs(60 * 60),
            closing: Duration::from_secs(2),
        }
    }
}

impl Limits {
    /// The default for a process that may open so many descriptors: connections never take all of them.
    #[must_use]
    pub fn within(descriptors: u64) -> Self {
        let descriptors = usize::try_from(descriptors).unwrap_or(usize::MAX);
        let free = descriptors.saturating_sub(OTHERS).max(descriptors / 2);
        Self { connections: free.clamp(1, CONNECTIONS), ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_descriptors_for_the_rest() {
        for (descriptors, connections) in
            [(0, 1), (64, 32), (1024, 512), (4096, 3584), (20_000, 8192), (u64::MAX, 8192)]
        {
            assert_eq!(Limits::within(descriptors).connections, connections, "of {descriptors}");
        }
    }
}
