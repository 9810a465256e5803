//! How a command fails: what is said on stderr, and the exit status.

use std::fmt;
use std::process::ExitCode;

use mia_api::PluginError;
use mia_config::{ConfigErrors, EditError, KeyError, PathsError};
use mia_core::{NoPlugin, OpenError, Refused, RegistryError};
use mia_store::StoreError;

/// Something that ends a command.
#[derive(Debug)]
pub(crate) struct Failure {
    message: String,
    help: Option<String>,
    code: u8,
}

/// Bad usage or configuration.
const USAGE: u8 = 2;
/// Nothing could be started.
const ENVIRONMENT: u8 = 3;

impl Failure {
    /// The person can mend it on the command line or in the configuration: status 2.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { message: message.into(), help: None, code: USAGE }
    }

    /// Something around Mia is missing or broken: status 3.
    pub(crate) fn environment(message: impl Into<String>) -> Self {
        Self { message: message.into(), help: None, code: ENVIRONMENT }
    }

    pub(crate) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    pub(crate) fn report(&self) {
        // There is nowhere to tell that stderr is closed.
        let _ = std::io::Write::write_fmt(&mut std::io::stderr(), format_args!("{self}\n"));
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.code)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.message)?;
        if let Some(help) = &self.help {
            for line in help.lines() {
                write!(f, "\n  {line}")?;
            }
        }
        Ok(())
    }
}

impl From<PathsError> for Failure {
    fn from(error: PathsError) -> Self {
        Self::usage(format!("can't {error}"))
    }
}

impl From<ConfigErrors> for Failure {
    fn from(errors: ConfigErrors) -> Self {
        Self::usage(format!("the configuration has mistakes\n{errors}"))
    }
}

impl From<KeyError> for Failure {
    fn from(error: KeyError) -> Self {
        Self::usage(error.to_string())
    }
}

impl From<EditError> for Failure {
    fn from(error: EditError) -> Self {
        Self::usage(format!("can't {error}"))
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
    let mut text = format!("error: {}: {}", error.plugin_name, error.message);
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
