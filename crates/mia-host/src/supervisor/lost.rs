//! What is done when the supervisor itself was killed: its children lost their parent and live on
//! somewhere else in the process tree.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::marker::{MARKER, Token};
use crate::proc::{self, ProcessId};

const LIMIT: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(5);

/// Kills the known children, everything that carries the supervisor's marker, and everything
/// below these, until nothing of it is left or 3 s have passed. Blocks.
pub(super) fn sweep(token: &Token, known: &[ProcessId]) {
    let began = Instant::now();
    loop {
        let found = members(token, known);
        if found.is_empty() || began.elapsed() > LIMIT {
            return;
        }
        for process in found {
            proc::signal(process, Signal::KILL);
        }
        // Nobody tells us when they are gone: they are not our children.
        std::thread::sleep(PAUSE);
    }
}

fn members(token: &Token, known: &[ProcessId]) -> Vec<ProcessId> {
    let everybody = proc::all();
    let is_root = |process: ProcessId| {
        known.contains(&process)
            || proc::environment_value(process.pid, MARKER)
                .is_some_and(|marker| token.child_in(&marker).is_some())
    };
    let mut pids: HashSet<i32> =
        everybody.iter().map(|s| s.id).filter(|id| is_root(*id)).map(|id| id.pid).collect();
    // A child can have a lower pid than its parent, so one pass over the list isn't enough.
    loop {
        let before = pids.len();
        let below = everybody.iter().filter(|stat| pids.contains(&stat.parent));
        let below: Vec<i32> = below.map(|stat| stat.id.pid).collect();
        pids.extend(below);
        if pids.len() == before {
            break;
        }
    }
    pids.remove(&std::process::id().cast_signed());
    everybody
        .iter()
        .filter(|stat| pids.contains(&stat.id.pid) && !stat.is_zombie())
        .map(|stat| stat.id)
        .collect()
}
