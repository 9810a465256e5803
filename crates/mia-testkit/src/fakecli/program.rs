//! The fake CLI as a test sees it: a path to spawn, and its scripts.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// The script used by every run.
pub(super) const SCRIPT: &str = "fakecli.script";
/// The name under which a binary is the fake CLI, script or not.
pub(super) const NAME: &str = "fakecli";

/// A fake CLI in a folder, which has to be the test's own: the scripts lie beside the program.
#[derive(Debug)]
pub struct FakeCli {
    path: PathBuf,
    queued: AtomicU32,
}

impl FakeCli {
    /// Puts a program named `fakecli` into `dir`.
    #[must_use]
    pub fn new(dir: &Path) -> Self {
        Self::named(dir, NAME)
    }

    /// Puts a program with another name into `dir`, to be found on a PATH under it. It is the fake CLI
    /// only while a script lies beside it, so this writes an empty one.
    #[must_use]
    pub fn named(dir: &Path, name: &str) -> Self {
        let path = dir.join(name);
        let this_binary = std::env::current_exe().expect("the path of the test binary");
        symlink(this_binary, &path)
            .expect("a folder of the test's own, without such a program yet");
        let cli = Self { path, queued: AtomicU32::new(0) };
        if name != NAME {
            cli.script("");
        }
        cli
    }

    /// The path to spawn.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A path beside the program, as relative paths in the script mean it.
    #[must_use]
    pub fn beside(&self, name: &str) -> PathBuf {
        self.path.with_file_name(name)
    }

    /// Sets what every run does that has no script of its own.
    pub fn script(&self, text: &str) -> &Self {
        fs::write(self.beside(SCRIPT), text).expect("a writable folder");
        self
    }

    /// Queues what one run does: the first call is for the first run, and so on.
    pub fn next_script(&self, text: &str) -> &Self {
        let number = self.queued.fetch_add(1, Ordering::Relaxed);
        fs::write(self.beside(&format!("{SCRIPT}.{number:06}")), text).expect("a writable folder");
        self
    }
}

/// Puts the fake CLI into `dir` and returns the path to spawn; its script is `fakecli.script` there.
#[must_use]
pub fn program(dir: &Path) -> PathBuf {
    FakeCli::new(dir).path
}
