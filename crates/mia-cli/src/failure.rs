//! How a command fails: what is said on stderr, with which exit status.

use mia_api::{Attempt, ErrorCode, PluginError, Problem};
use mia_config::{ConfigErrors, EditError, KeyError, PathsError};
use mia_core::{OpenError, RegistryError};
use mia_daemon::ClientError;
use mia_store::StoreError;

use crate::exit::Exit;
use crate::mistake;
use crate::terminal::{Terminal, clean, clean_lines, write};

/// Something that ends a command.
#[derive(Debug)]
pub(crate) struct Failure {
    message: String,
    /// Mistakes in the configuration, below the message.
    mistakes: Option<ConfigErrors>,
    /// What to do, one line each.
    help: Option<String>,
    /// The arguments of a command that helps; its name is known where it is told.
    example: Option<String>,
    exit: Exit,
}

impl Failure {
    fn new(message: impl Into<String>, exit: Exit) -> Self {
        Self { message: message.into(), mistakes: None, help: None, example: None, exit }
    }

    /// There was an answer, and it could not be given.
    pub(crate) fn answer(message: impl Into<String>) -> Self {
        Self::new(message, Exit::Failed)
    }

    /// The person can mend it on the command line or in the configuration.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(message, Exit::Usage)
    }

    /// Something around Mia is missing or broken.
    pub(crate) fn environment(message: impl Into<String>) -> Self {
        Self::new(message, Exit::Environment)
    }

    /// A signal asked for the end.
    pub(crate) fn interrupted(message: impl Into<String>) -> Self {
        Self::new(message, Exit::Interrupted)
    }

    pub(crate) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Ends the help with a command of this program.
    pub(crate) fn with_example(mut self, arguments: impl Into<String>) -> Self {
        self.example = Some(arguments.into());
        self
    }

    fn with_mistakes(mut self, mistakes: ConfigErrors) -> Self {
        self.mistakes = Some(mistakes);
        self
    }

    /// Tells it on stderr, for a program of that name. On a terminal mistakes are shown in their
    /// lines.
    pub(crate) fn report(&self, program: &str) {
        let terminal = Terminal::of_stderr();
        let mut text = terminal.error(&clean_lines(&self.message));
        if let Some(mistakes) = &self.mistakes {
            text.push('\n');
            if terminal.there {
                text.push_str(&mistake::in_their_lines(mistakes, terminal));
            } else {
                text.push_str(&mistakes.to_string());
            }
        }
        for line in self.help.iter().flat_map(|help| help.lines()) {
            text.push_str(&format!("\n  {}", clean(line)));
        }
        if let Some(arguments) = &self.example {
            text.push_str(&format!("\n    {program} {arguments}"));
        }
        text.push('\n');
        write(&text);
    }

    /// What happened, without what to do: for a list of things that don't work.
    pub(crate) fn in_short(&self) -> String {
        let mistakes = self.mistakes.as_ref().map(|m| format!(":\n{m}")).unwrap_or_default();
        format!("{}{mistakes}", self.message)
    }

    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }
}

impl From<PathsError> for Failure {
    fn from(error: PathsError) -> Self {
        Self::usage(format!("can't {error}"))
    }
}

impl From<ConfigErrors> for Failure {
    fn from(errors: ConfigErrors) -> Self {
        Self::usage("the configuration has mistakes").with_mistakes(errors)
    }
}

impl From<KeyError> for Failure {
    fn from(error: KeyError) -> Self {
        Self::usage(error.to_string())
    }
}

impl From<EditError> for Failure {
    fn from(error: EditError) -> Self {
        match error {
            EditError::Key(error) => error.into(),
            EditError::Folder(error) => error.into(),
            EditError::Value(mistakes) => {
                Self::usage("that value doesn't fit").with_mistakes(mistakes)
            }
            EditError::Invalid(mistakes) => {
                Self::usage("the file has mistakes; fix them first").with_mistakes(mistakes)
            }
            EditError::Rejected(mistakes) => {
                Self::usage("that would leave the file invalid").with_mistakes(mistakes)
            }
            other => Self::usage(format!("can't {other}")),
        }
    }
}

/// What a person can do about a daemon that does not answer.
pub(crate) fn how_to_end(pid: impl std::fmt::Display) -> String {
    format!(
        "`kill -CONT {pid}` wakes it if it was suspended; else `kill -9 {pid}` ends it, and the\n\
         next command starts another: what it has accepted stays on record"
    )
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Refused(problem) => (*problem).into(),
            silent @ ClientError::Silent { pid: Some(pid), .. } => {
                Self::environment(silent.to_string()).with_help(how_to_end(pid))
            }
            silent @ ClientError::Silent { pid: None, .. } => Self::environment(silent.to_string())
                .with_help("it has no room for another connection; try again in a while"),
            other => Self::environment(other.to_string())
                .with_help("To see how the daemon is:")
                .with_example("status"),
        }
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        let exit = match problem.exit_code {
            1 => Exit::Failed,
            3 => Exit::Environment,
            _ => Exit::Usage,
        };
        let failure = Self::new(problem.message, exit);
        Self { help: problem.help, example: problem.command, ..failure }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::environment(error.to_string())
    }
}

impl From<RegistryError> for Failure {
    fn from(error: RegistryError) -> Self {
        match error {
            RegistryError::Disabled { name, enabled } => {
                let enabled = enabled.join(", ");
                Self::usage(format!("the plugin {name:?} is disabled; enabled: {enabled}"))
                    .with_help("To enable it:")
                    .with_example(format!("config set plugins.{name}.enabled true"))
            }
            RegistryError::Broken(broken) => {
                let hint = broken.hint.clone();
                Self::usage(RegistryError::Broken(broken).to_string()).with_help(hint)
            }
            other => Self::usage(other.to_string()),
        }
    }
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Self {
        let OpenError::Store(error) = error;
        error.into()
    }
}

/// What a failed dispatch says on stderr: what happened, what the agent said, what to do.
pub(crate) fn describe(error: &PluginError) -> String {
    let mut text = format!("{}: {}", error.plugin_name, error.message);
    if let Some(detail) = &error.detail {
        text.push_str(&format!("\n  {detail}"));
    }
    // What the agent told by itself, or somebody wanted, is not explained by what it wrote there.
    let explains = !matches!(error.code, ErrorCode::Aborted | ErrorCode::ProviderError);
    if let Some(stderr) = error.stderr_tail.as_ref().filter(|_| explains) {
        let lines: Vec<_> = stderr.lines().filter(|line| !line.trim().is_empty()).collect();
        for line in lines.iter().skip(lines.len().saturating_sub(5)) {
            text.push_str(&format!("\n  | {line}"));
        }
    }
    if let Some(wait) = error.retry_after_ms {
        text.push_str(&format!("\n  the provider asks to wait {} s", wait.div_ceil(1000)));
    }
    if let Some(hint) = &error.hint {
        text.push_str(&format!("\n  {hint}"));
    }
    let told = |attempt: &&Attempt| attempt.plugin != error.plugin_name;
    for attempt in error.attempts.iter().filter(told) {
        let Some(error) = &attempt.error else { continue };
        text.push_str(&format!("\nalso asked, {}: {}", attempt.plugin, error.message));
        if let Some(hint) = &error.hint {
            text.push_str(&format!("\n  {hint}"));
        }
    }
    text
}
