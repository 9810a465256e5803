//! The signals that Mia sends.

/// A signal that Mia sends to a child's process group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Signal {
    /// SIGINT: what Ctrl-C sends. Some agents save their session on it.
    Interrupt,
    /// SIGTERM: please end.
    Terminate,
    /// SIGKILL: ended by the kernel, with no chance to clean up.
    Kill,
}

impl Signal {
    pub(crate) fn to_os(self) -> rustix::process::Signal {
        match self {
            Self::Interrupt => rustix::process::Signal::INT,
            Self::Terminate => rustix::process::Signal::TERM,
            Self::Kill => rustix::process::Signal::KILL,
        }
    }
}
