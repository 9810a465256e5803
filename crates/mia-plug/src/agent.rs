//! The draft of the agent's process.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

/// How the agent is to be started. One per run: inner plugs see what outer ones wrote, and may change it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentDraft {
    /// The program, by path or by a name on the `PATH` of its host.
    pub command: OsString,
    /// Its arguments, without the program.
    pub args: Vec<OsString>,
    /// Its variables beside the few that every program needs.
    pub env: BTreeMap<OsString, OsString>,
    /// Its folder; the host's workspace when there is none.
    pub cwd: Option<PathBuf>,
}
