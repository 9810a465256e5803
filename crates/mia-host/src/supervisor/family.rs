//! Whose process is whose, below the supervisor.
//!
//! Everything that a child starts stays below the supervisor, so the question is never *whether*
//! a process is ours, only to which child it belongs. What hangs below a child's leader is that
//! child's. A process that lost its parents is adopted by the supervisor; then what we saw of it
//! earlier decides, or its marker, or else it belongs to *one of* the children that were alive
//! when it was first noticed, and it is ended when all of these have.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rustix::process::{Pid, Signal, WaitOptions};

use super::marker::{MARKER, Token};
use crate::proc::{self, ProcessId, Stat};

/// A child that the supervisor started: the leader of its group.
#[derive(Clone, Copy, Debug)]
struct Leader {
    process: ProcessId,
    /// Its tree is being ended; nothing is spared for its sake any more.
    sweeping: bool,
}

/// All children and what is known of their trees.
#[derive(Debug)]
pub(super) struct Family {
    me: i32,
    token: Token,
    leaders: BTreeMap<u64, Leader>,
    /// Children whose trees were let go, for as long as something of theirs runs.
    released: BTreeSet<u64>,
    /// Processes seen below a leader, so that they are known when they lose their parents.
    seen: HashMap<ProcessId, u64>,
    /// Processes that lost their parents, each with the children that it may belong to.
    adopted: HashMap<ProcessId, BTreeSet<u64>>,
}

impl Family {
    pub(super) fn new(me: i32, token: Token) -> Self {
        Self {
            me,
            token,
            leaders: BTreeMap::new(),
            released: BTreeSet::new(),
            seen: HashMap::new(),
            adopted: HashMap::new(),
        }
    }

    /// A child was started.
    pub(super) fn join(&mut self, id: u64, process: ProcessId) {
        self.leaders.insert(id, Leader { process, sweeping: false });
    }

    /// From now on what may belong to this child need not be spared for it.
    pub(super) fn begin_sweep(&mut self, id: u64) {
        if let Some(leader) = self.leaders.get_mut(&id) {
            leader.sweeping = true;
        }
    }

    /// Nothing of this child is left.
    pub(super) fn leave(&mut self, id: u64) {
        self.leaders.remove(&id);
        self.seen.retain(|_, owner| *owner != id);
    }

    /// This child's tree lives on without us, and is spared to the end.
    pub(super) fn release(&mut self, id: u64) {
        self.snapshot(id);
        if let Some(leader) = self.leaders.remove(&id) {
            self.released.insert(id);
            self.adopted.insert(leader.process, BTreeSet::from([id]));
        }
        self.tend();
    }

    /// Looks at the processes directly below us: reaps adopted ones that have ended, finds out
    /// whose the new ones are, and ends those whose children have all ended.
    pub(super) fn tend(&mut self) {
        let mut adopted = HashMap::new();
        for pid in proc::children(self.me) {
            if self.leaders.values().any(|leader| leader.process.pid == pid) {
                continue;
            }
            let Some(stat) = Stat::read(pid).filter(|stat| stat.parent == self.me) else {
                continue;
            };
            if stat.is_zombie() {
                reap(pid);
                // One whose first thread has ended looks like a zombie while its other threads
                // have not, and has its children as long: they are known below it.
                if proc::children(pid).is_empty() {
                    continue;
                }
            }
            let owners = match self.adopted.remove(&stat.id) {
                Some(owners) if owners.len() == 1 => owners,
                // While a program is being replaced by another its marker can't be read: so one
                // that may be several children's is looked at again, each time.
                Some(owners) => self.owner_of(&stat).map_or(owners, |id| BTreeSet::from([id])),
                None => self.owners_of(&stat),
            };
            if owners.is_disjoint(&self.released)
                && !owners.iter().any(|id| self.leaders.contains_key(id))
            {
                proc::signal(stat.id, Signal::KILL);
            }
            adopted.insert(stat.id, owners);
        }
        // A list of children may miss one while another is ending.
        let missed = self.adopted.drain().filter(|(top, _)| proc::is_alive(*top));
        adopted.extend(missed);
        // Whatever lives on of a released child has its topmost process here.
        let lives = |id: &u64| adopted.values().any(|owners| owners.contains(id));
        let over: Vec<u64> = self.released.iter().copied().filter(|id| !lives(id)).collect();
        self.adopted = adopted;
        for id in over {
            self.released.remove(&id);
            self.leave(id);
        }
    }

    /// Whose a process without parents is, if anything tells.
    fn owner_of(&self, stat: &Stat) -> Option<u64> {
        let group_of =
            |(id, leader): (&u64, &Leader)| (leader.process.pid == stat.group).then_some(*id);
        self.seen
            .get(&stat.id)
            .copied()
            // A leader's group can't be anybody else's before the leader was reaped.
            .or_else(|| self.leaders.iter().find_map(group_of))
            .or_else(|| {
                let marker = proc::environment_value(stat.id.pid, MARKER)?;
                self.token.child_in(&marker)
            })
    }

    fn owners_of(&self, stat: &Stat) -> BTreeSet<u64> {
        match self.owner_of(stat) {
            Some(id) => BTreeSet::from([id]),
            None => self.leaders.keys().chain(&self.released).copied().collect(),
        }
    }

    /// Remembers what a child's tree consists of now, so that each process of it is known even
    /// when it loses its parents and hides its environment.
    pub(super) fn snapshot(&mut self, id: u64) {
        // What lost its parents since the last time is known by that last time only.
        self.tend();
        self.seen.retain(|_, owner| *owner != id);
        self.members(id);
    }

    /// What still runs of a child's tree, its leader not included, as far as nobody else may own
    /// it. What is certainly the child's is remembered.
    pub(super) fn members(&mut self, id: u64) -> Vec<ProcessId> {
        self.tend();
        let mut members = Vec::new();
        if let Some(leader) = self.leaders.get(&id) {
            members.extend(below(leader.process));
        }
        for (top, owners) in &self.adopted {
            if owners.contains(&id) && (owners.len() == 1 || !self.is_spared(owners)) {
                members.push(*top);
                members.extend(below(*top));
            }
        }
        self.seen.extend(members.iter().map(|member| (*member, id)));
        members
    }

    /// Everything that still runs below us, leaders included, but for what was released.
    pub(super) fn everyone(&mut self) -> Vec<ProcessId> {
        self.tend();
        let tops = self.adopted.iter().filter(|(_, owners)| owners.is_disjoint(&self.released));
        let leaders = self.leaders.values().map(|leader| leader.process);
        let roots: Vec<ProcessId> = tops.map(|(top, _)| *top).chain(leaders).collect();
        let alive = roots.iter().copied().filter(|root| proc::is_alive(*root));
        alive.chain(roots.iter().copied().flat_map(below)).collect()
    }

    /// Whether one of the children that may own it still needs it.
    fn is_spared(&self, owners: &BTreeSet<u64>) -> bool {
        owners.iter().any(|id| {
            self.released.contains(id)
                || self.leaders.get(id).is_some_and(|leader| !leader.sweeping)
        })
    }
}

fn below(root: ProcessId) -> impl Iterator<Item = ProcessId> {
    proc::descendants(root.pid).into_iter().map(|stat| stat.id)
}

/// Takes the status of an ended child, so that its pid is free again.
pub(super) fn reap(pid: i32) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = rustix::process::waitpid(Some(pid), WaitOptions::NOHANG);
    }
}
