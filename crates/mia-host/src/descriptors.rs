//! How many descriptors this process may open.

use std::process::Child;
use std::sync::OnceLock;

use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit, setrlimit};

/// What the limit was before it was raised.
static BEFORE: OnceLock<Rlimit> = OnceLock::new();

/// Raises the limit of this process as far as the system lets it, and says what it is now. Who has many
/// connections needs that.
///
/// What a [`Supervisor`](crate::Supervisor) starts has the limit that this process began with: programs
/// that use `select` break where descriptors have high numbers.
pub fn raise() -> u64 {
    let before = *BEFORE.get_or_init(|| getrlimit(Resource::Nofile));
    let raised = Rlimit { current: before.maximum, ..before };
    // Where it fails, it is as it was.
    let _ = setrlimit(Resource::Nofile, raised);
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Gives a process that was just started, and with it all that it will start, the limit from before.
pub(crate) fn as_before(process: &Child) {
    let pid = i32::try_from(process.id()).ok().and_then(Pid::from_raw);
    if let (Some(before), Some(pid)) = (BEFORE.get(), pid) {
        // Where it fails it may open more, which most programs don't mind.
        let _ = prlimit(Some(pid), Resource::Nofile, *before);
    }
}
