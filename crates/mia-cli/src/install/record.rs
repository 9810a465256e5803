//! What is installed: a small file in each version's folder.

use std::fs;
use std::io;
use std::path::Path;

use mia_plugin::AgentFolder;
use serde::{Deserialize, Serialize};

const FILE: &str = "installed.json";

/// What was installed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) package: String,
    pub(super) version: String,
    /// The version of the node that it runs with, when that is one of its own.
    pub(super) node: Option<String>,
    /// The size of all its files.
    pub(super) bytes: u64,
}

impl Record {
    /// That of the version that is run. None where Mia has installed none, or it can't be read.
    pub(super) fn of(agent: &AgentFolder) -> Option<Self> {
        let text = fs::read(agent.current()?.join(FILE)).ok()?;
        serde_json::from_slice(&text).ok()
    }

    pub(super) fn write(&self, version: &Path) -> io::Result<()> {
        fs::write(version.join(FILE), serde_json::to_vec_pretty(self)?)
    }
}
