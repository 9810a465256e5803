//! A configuration that follows its file.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use crate::error::ConfigErrors;
use crate::load::{Loaded, Override};
use crate::model::Config;
use crate::paths::Paths;

/// What tells one content of a file from another without reading it.
type Stamp = Option<(u64, u64, u64, i64, i64)>;

/// The last good configuration of a file that may change (M-32, M-40).
#[derive(Debug)]
pub struct LiveConfig {
    paths: Paths,
    overrides: Vec<Override>,
    current: Arc<Loaded>,
    stamp: Stamp,
}

impl LiveConfig {
    /// Loads a first time; see [`Config::load`].
    ///
    /// # Errors
    ///
    /// As [`Config::load`]: there is no good configuration to keep yet.
    pub fn open(
        paths: Paths,
        var: &dyn Fn(&str) -> Option<OsString>,
        overrides: Vec<Override>,
    ) -> Result<Self, ConfigErrors> {
        let stamp = stamp(&paths.config_file);
        let current = Arc::new(Config::load(&paths, var, &overrides)?);
        Ok(Self { paths, overrides, current, stamp })
    }

    /// The last good configuration.
    #[must_use]
    pub fn current(&self) -> Arc<Loaded> {
        Arc::clone(&self.current)
    }

    /// Loads again when the file has changed since it was last looked at; says whether
    /// [`LiveConfig::current`] is another one now. Costs one `stat` when nothing changed.
    ///
    /// # Errors
    ///
    /// What is wrong with the file. The last good configuration stays, and the same content is
    /// reported once.
    pub fn refresh(
        &mut self,
        var: &dyn Fn(&str) -> Option<OsString>,
    ) -> Result<bool, ConfigErrors> {
        // Taken before the read: a change after it is seen next time.
        let stamp = stamp(&self.paths.config_file);
        if stamp == self.stamp {
            return Ok(false);
        }
        self.stamp = stamp;
        self.current = Arc::new(Config::load(&self.paths, var, &self.overrides)?);
        Ok(true)
    }
}

fn stamp(path: &Path) -> Stamp {
    let metadata = fs::metadata(path).ok()?;
    let (changed, nanos) = (metadata.ctime(), metadata.ctime_nsec());
    Some((metadata.dev(), metadata.ino(), metadata.len(), changed, nanos))
}
