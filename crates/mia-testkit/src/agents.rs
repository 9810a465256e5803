//! The real agents, at the versions that `tests/agents/package.json` pins.
//!
//! `cargo xtask test` installs them (`npm ci` in `tests/agents`). The programs are run in a [`RealHome`]: no
//! network but loopback, an own HOME, an otherwise empty environment, a dummy key.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::fakellm::FakeLlm;

/// The folder that `npm ci` fills, in the root of the repository.
#[must_use]
pub fn folder() -> PathBuf {
    root().join("tests/agents")
}

fn root() -> PathBuf {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    crates.and_then(Path::parent).expect("the crate lies in crates/").to_path_buf()
}

/// The real Claude Code, if it is installed.
///
/// Its npm package is a shim over a native program in a package for the platform; that program is run, so
/// neither node nor the package's install script is needed.
#[must_use]
pub fn claude() -> Option<PathBuf> {
    let platform = match std::env::consts::ARCH {
        "x86_64" => "linux-x64",
        "aarch64" => "linux-arm64",
        _ => return None,
    };
    let musl = if cfg!(target_env = "musl") { "-musl" } else { "" };
    let package = format!("node_modules/@anthropic-ai/claude-code-{platform}{musl}/claude");
    Some(folder().join(package)).filter(|path| path.is_file())
}

/// What a test does first that needs a real agent and found none: says that it is skipped; in CI it fails instead.
///
/// # Panics
/// When `CI` is `true`.
pub fn skip_or_fail(agent: &str) {
    let what = format!(
        "real agent {agent}: it is not installed in {}; `cargo xtask test` does that",
        folder().display()
    );
    assert!(std::env::var_os("CI").is_none_or(|ci| ci != "true"), "{what}");
    println!("SKIPPED {what}");
}

/// A home and a working directory for one real agent, removed when dropped.
#[derive(Debug)]
pub struct RealHome {
    folder: TempDir,
    url: String,
}

impl RealHome {
    /// Makes them, for an agent that asks the model server `llm`.
    ///
    /// # Panics
    /// When there is no place for them: they must not lie under the system's temp folder, where some agents refuse to put
    /// their helper programs.
    #[must_use]
    pub fn new(llm: &FakeLlm) -> Self {
        Self::at(llm.url())
    }

    /// The same for a model server given by its address.
    ///
    /// # Panics
    /// As [`RealHome::new`].
    #[must_use]
    pub fn at(url: &str) -> Self {
        let temp = std::env::temp_dir();
        let candidates =
            [root().join("target/real-homes"), PathBuf::from("/var/tmp/mia-real-homes")];
        let folder = candidates
            .iter()
            .filter(|folder| !folder.starts_with(&temp))
            .find_map(|folder| {
                std::fs::create_dir_all(folder).ok()?;
                tempfile::Builder::new().prefix("agent-").tempdir_in(folder).ok()
            })
            .expect("a writable folder outside the system's temp folder");
        for name in ["home", "work"] {
            std::fs::create_dir(folder.path().join(name)).expect("a fresh folder");
        }
        Self { folder, url: url.to_owned() }
    }

    /// The agent's HOME.
    #[must_use]
    pub fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// The directory that it works in.
    #[must_use]
    pub fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    /// All of its environment.
    #[must_use]
    pub fn env(&self) -> Vec<(String, String)> {
        let home = self.home().to_string_lossy().into_owned();
        let pairs = [
            ("PATH", "/usr/bin:/bin"),
            ("HOME", home.as_str()),
            ("LANG", "C.UTF-8"),
            ("ANTHROPIC_BASE_URL", self.url.as_str()),
            ("ANTHROPIC_API_KEY", "dummy"),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            ("CLAUDE_CODE_MAX_RETRIES", "1"),
            ("DISABLE_AUTOUPDATER", "1"),
            // Allows bypassPermissions to root, whom CI runs as.
            ("IS_SANDBOX", "1"),
        ];
        pairs.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    /// A command for a program with this environment, in this directory.
    #[must_use]
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear().envs(self.env()).current_dir(self.work());
        command
    }
}
