//! What is installed: a small file in each version's folder.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use mia_plugin::AgentFolder;
use rustix::fs::{Mode, OFlags};
use serde::{Deserialize, Serialize};

pub(super) const FILE: &str = "installed.json";
/// The most of it that is read, in bytes.
const MOST: u64 = 64 * 1024;

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
        // A FIFO in its place must not be waited for.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::open(agent.current()?.join(FILE), flags, Mode::empty()).ok()?;
        let file = Some(File::from(file)).filter(|f| f.metadata().is_ok_and(|a| a.is_file()))?;
        let mut text = Vec::new();
        file.take(MOST).read_to_end(&mut text).ok()?;
        serde_json::from_slice(&text).ok()
    }

    pub(super) fn write(&self, version: &Path) -> io::Result<()> {
        fs::write(version.join(FILE), serde_json::to_vec_pretty(self)?)
    }
}
