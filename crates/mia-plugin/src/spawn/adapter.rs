//! What makes one CLI different from another (M-25).

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use mia_api::{Image, PermissionPolicy, PermissionResolution, PluginError};

use super::out::Out;
use crate::login::Login;
use crate::package::Package;
use crate::sessions::SessionRecord;
use mia_api::Lack;

/// A CLI that prints one JSON object a line.
///
/// [`build_args`](CliAdapter::build_args) and [`parse_output`](CliAdapter::parse_output) are all
/// that is required. The value that is registered is a prototype: each attempt works on a clone of
/// its own, so an adapter may keep the state of one conversation with its child in itself.
pub trait CliAdapter: Clone + Send + Sync + 'static {
    /// How to start the CLI for this call.
    ///
    /// # Errors
    /// When the call asks for something that the agent can't do.
    fn build_args(&mut self, call: &Call<'_>) -> Result<Launch, PluginError>;

    /// Reads one line of stdout and tells `out` what it says. The line has no line end, and its
    /// invalid UTF-8 was replaced (M-14).
    ///
    /// # Errors
    /// With [`Noise`] for a line that is no event of this agent; it is counted and skipped (M-16).
    fn parse_output(&mut self, line: &str, out: &mut Out) -> Result<(), Noise>;

    /// What is known of the CLI beforehand.
    fn profile(&self) -> Profile {
        Profile::default()
    }

    /// A question that was put with [`Out::ask`] has its answer.
    fn on_permission(&mut self, _resolution: &PermissionResolution, _out: &mut Out) {}

    /// The politest way to end: what to try before TERM. What is written to `out` goes to stdin.
    fn interrupt(&mut self, _out: &mut Out) -> Interrupt {
        Interrupt::None
    }

    /// The child has exited, all its output was parsed, and no terminal message was among it. Says
    /// with `out` what that means, where this CLI ends without one or tells by its exit status.
    fn on_exit(&mut self, _exit: &Exit<'_>, _out: &mut Out) {}
}

/// What an adapter is asked to start.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Call<'a> {
    /// The prompt with its context.
    pub prompt: &'a str,
    /// Pictures.
    pub images: &'a [Image],
    /// The session to go on with.
    pub session: Option<&'a SessionRecord>,
    /// The model.
    pub model: Option<&'a str>,
    /// What the agent may do; none means its default mode.
    pub permissions: Option<PermissionPolicy>,
    /// True when somebody may answer questions.
    pub somebody_there: bool,
    /// Where it works.
    pub working_directory: &'a Path,
    /// The caller's HOME, where it has one.
    pub home: Option<&'a Path>,
    /// Arguments from the configuration.
    pub extra_args: &'a [String],
}

impl<'a> Call<'a> {
    /// A call with only what is required. Adapters get theirs from the spawn base; this is for
    /// their tests.
    #[must_use]
    pub fn new(prompt: &'a str, working_directory: &'a Path) -> Self {
        Self {
            prompt,
            images: &[],
            session: None,
            model: None,
            permissions: None,
            somebody_there: false,
            working_directory,
            home: None,
            extra_args: &[],
        }
    }
}

/// How to start a CLI.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Launch {
    /// Its arguments. The prompt belongs into stdin where the CLI takes it there (M-11).
    pub args: Vec<OsString>,
    /// Variables that this call needs.
    pub env: Vec<(OsString, OsString)>,
    /// What to write to stdin first. With no bytes and no dialogue stdin is null.
    pub stdin: Vec<u8>,
    /// True keeps stdin open for a dialogue until the terminal message (M-12).
    pub dialogue: bool,
}

impl Launch {
    /// A launch with these arguments.
    pub fn new<A: Into<OsString>>(args: impl IntoIterator<Item = A>) -> Self {
        Self { args: args.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// Adds one argument.
    pub fn arg(&mut self, arg: impl Into<OsString>) -> &mut Self {
        self.args.push(arg.into());
        self
    }
}

/// What is known of a CLI beforehand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// The program's name; empty means the plugin's name.
    pub program: String,
    /// Arguments that make it tell its version.
    pub version_args: Vec<String>,
    /// Variables that it is asked for its version with.
    pub version_env: Vec<(OsString, OsString)>,
    /// How a person installs it, as one command or sentence; where there is a `package`, people are
    /// told to let Mia install that instead.
    pub install: String,
    /// The package that `mia plugin install` installs; none where it can't.
    pub package: Option<Package>,
    /// Where it finds what it signs in with; none for one that needs no login.
    pub login: Option<Login>,
    /// Variables that it reads and that it is given whatever they look like: exact names, or
    /// prefixes that end in `*` (M-13).
    pub env: Vec<String>,
    /// True when it resumes a session only in the directory where that began.
    pub session_needs_cwd: bool,
    /// True when a resumed session keeps its id, so that another id means a fresh session.
    pub resume_keeps_id: bool,
    /// How long it may take to end by itself once it was interrupted, before TERM.
    pub interrupt_grace: Duration,
    /// What people expect of an agent and this one can't do.
    pub lacks: Vec<Lack>,
    /// What it does unasked when no permissions are chosen: one sentence without a full stop.
    pub own_rules: String,
}

impl Default for Profile {
    fn default() -> Self {
        Self {
            program: String::new(),
            version_args: vec!["--version".to_owned()],
            version_env: Vec::new(),
            install: String::new(),
            package: None,
            login: None,
            env: Vec::new(),
            session_needs_cwd: false,
            resume_keeps_id: true,
            interrupt_grace: Duration::from_secs(3),
            lacks: Vec::new(),
            own_rules: String::new(),
        }
    }
}

/// A polite way to end a CLI, tried before TERM.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Interrupt {
    /// There is none: begin with TERM.
    #[default]
    None,
    /// SIGINT to its group: it saves its session on it.
    Signal,
    /// What was just written to stdin asks it to.
    Written,
}

/// How the child ended.
#[derive(Debug, Clone, Copy)]
pub struct Exit<'a> {
    /// Its exit status.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// The last of what it wrote to stderr.
    pub stderr: &'a str,
}

/// A line that is no event.
#[derive(Debug)]
pub enum Noise {
    /// It is not a JSON object of the expected form.
    NotJson(serde_json::Error),
    /// It is an event of an unknown type.
    UnknownType(String),
}

impl From<serde_json::Error> for Noise {
    fn from(error: serde_json::Error) -> Self {
        Self::NotJson(error)
    }
}
