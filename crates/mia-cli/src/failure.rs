//! How a command fails: what is said on stderr, and the exit status.

use std::process::ExitCode;

use mia_api::PluginError;
use mia_config::{ConfigErrors, EditError, KeyError, PathsError};
use mia_core::{NoPlugin, OpenError, Refused, RegistryError};
use mia_store::StoreError;

use crate::mistake;
use crate::terminal::{Terminal, clean_lines, write};

/// Something that ends a command.
#[derive(Debug)]
pub(crate) struct Failure {
    message: String,
    /// Mistakes in the configuration, below the message.
    mistakes: Option<ConfigErrors>,
    /// What to do, one line each.
    help: Option<String>,
    code: u8,
}

/// An agent was asked, and it failed or its answer could not be given.
const FAILED: u8 = 1;
/// Bad usage or configuration.
const USAGE: u8 = 2;
/// Nothing could be started.
const ENVIRONMENT: u8 = 3;

impl Failure {
    fn new(message: impl Into<String>, code: u8) -> Self {
        Self { message: message.into(), mistakes: None, help: None, code }
    }

    /// There was an answer, and it could not be given: status 1.
    pub(crate) fn answer(message: impl Into<String>) -> Self {
        Self::new(message, FAILED)
    }

    /// The person can mend it on the command line or in the configuration: status 2.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(message, USAGE)
    }

    /// Something around Mia is missing or broken: status 3.
    pub(crate) fn environment(message: impl Into<String>) -> Self {
        Self::new(message, ENVIRONMENT)
    }

    pub(crate) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    fn with_mistakes(mut self, mistakes: ConfigErrors) -> Self {
        self.mistakes = Some(mistakes);
        self
    }

    /// Tells it on stderr. On a terminal mistakes are shown in their lines.
    pub(crate) fn report(&self) {
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
            text.push_str(&format!("\n  {line}"));
        }
        text.push('\n');
        write(&text);
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.code)
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

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::environment(format!("can't {error}"))
    }
}

impl From<RegistryError> for Failure {
    fn from(error: RegistryError) -> Self {
        Self::usage(error.to_string())
    }
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Store(error) => error.into(),
            OpenError::Plugin(error) => Self::usage(error.to_string()),
        }
    }
}

impl From<NoPlugin> for Failure {
    fn from(error: NoPlugin) -> Self {
        match error {
            NoPlugin::Registry(error) => error.into(),
            NoPlugin::NoneInstalled { known } => {
                let mut help = String::from("Mia knows these agents:\n");
                for (name, install) in known {
                    help.push_str(&format!("  {name:<12}  {install}\n"));
                }
                help.push_str(
                    "To try Mia without an agent:\n  mia ask --plugin guide \"what is this repository?\"",
                );
                Self::environment("no coding agent is installed").with_help(help)
            }
        }
    }
}

impl From<Refused> for Failure {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::NoPlugin(error) => error.into(),
            Refused::Store(error) => error.into(),
            other => Self::usage(other.to_string()),
        }
    }
}

/// What a failed dispatch says on stderr: what happened, what the agent said, what to do.
pub(crate) fn describe(error: &PluginError) -> String {
    let mut text = format!("{}: {}", error.plugin_name, error.message);
    if let Some(detail) = &error.detail {
        text.push_str(&format!("\n  {detail}"));
    }
    if let Some(stderr) = &error.stderr_tail {
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
    text
}
