//! A person with a home, a project and perhaps an agent.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use mia_testkit::fakecli::FakeCli;
use tempfile::TempDir;

/// What a command came to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ran {
    /// None when a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Ran {
    /// Fails the test, showing all, unless it came to this code.
    #[track_caller]
    pub(crate) fn code(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:?}");
        self
    }

    /// Fails the test unless stderr has all of these.
    #[track_caller]
    pub(crate) fn says(self, texts: &[&str]) -> Self {
        for text in texts {
            assert!(self.err.contains(text), "no {text:?} in:\n{}", self.err);
        }
        self
    }
}

/// A folder with a home, the files of Mia, a project and a folder of programs, which is all that is
/// on `PATH`.
#[derive(Debug)]
pub(crate) struct Person {
    folder: TempDir,
}

impl Drop for Person {
    fn drop(&mut self) {
        if self.mia_home().join("daemon.sock").exists() {
            let _ = self.mia(&["stop", "--now", "--quiet"]).output();
        }
    }
}

impl Person {
    pub(crate) fn new() -> Self {
        let folder = TempDir::new().unwrap();
        for name in ["home", "mia", "project", "bin"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        Self { folder }
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// `MIA_HOME`.
    pub(crate) fn mia_home(&self) -> PathBuf {
        self.folder.path().join("mia")
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.mia_home().join("mia.db")
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    pub(crate) fn write(&self, file: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.project().join(file);
        fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn configure(&self, yaml: &str) -> &Self {
        fs::write(self.mia_home().join("config.yaml"), yaml).unwrap();
        self
    }

    /// Installs a `claude` that does this each time.
    pub(crate) fn claude(&self, script: &str) -> FakeCli {
        let cli = FakeCli::named(&self.folder.path().join("bin"), "claude");
        cli.script(script);
        cli
    }

    /// The binary in the project, with nothing in its environment that is not said here.
    pub(crate) fn mia(&self, args: &[&str]) -> Command {
        let mut mia = Command::new(env!("CARGO_BIN_EXE_mia"));
        mia.args(args);
        self.surround(&mut mia);
        mia
    }

    /// Gives a command this person's environment.
    pub(crate) fn surround(&self, command: &mut Command) {
        command
            .env_clear()
            .env("HOME", self.folder.path().join("home"))
            .env("MIA_HOME", self.mia_home())
            .env("PATH", self.folder.path().join("bin"))
            .current_dir(self.project())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        self.mia(args).output().unwrap().into()
    }

    /// Runs it with that on stdin.
    pub(crate) fn pipe(&self, input: impl AsRef<[u8]>, args: &[&str]) -> Ran {
        let mut child = self.mia(args).stdin(Stdio::piped()).spawn().unwrap();
        // It may end without having read all.
        let _ = child.stdin.take().unwrap().write_all(input.as_ref());
        child.wait_with_output().unwrap().into()
    }

    pub(crate) fn start(&self, args: &[&str]) -> Child {
        self.mia(args).spawn().unwrap()
    }

    /// Asks the guide, for which nothing needs to be installed.
    pub(crate) fn ask_guide(&self, args: &[&str]) -> Ran {
        self.run(&[&["ask", "--plugin", "guide"], args].concat())
    }

    /// What `mia log --json` tells.
    pub(crate) fn log(&self) -> serde_json::Value {
        let ran = self.run(&["log", "--json"]).code(0);
        serde_json::from_str(&ran.out).unwrap()
    }
}
