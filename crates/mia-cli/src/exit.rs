//! The exit status of a command, as docs/cli.md lists them.

use std::process::ExitCode;

use mia_api::PluginError;

/// How a command came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// It worked.
    Done,
    /// An agent was asked and failed, or its answer could not be written.
    Failed,
    /// Usage or configuration: a person can mend it there. `clap` ends with this one, too.
    Usage,
    /// Nobody could be asked, or something around Mia is missing or broken.
    Environment,
    /// A signal asked for the end.
    Interrupted,
    /// A dispatch failed; its error says which of these it is.
    Dispatch(u8),
}

impl Exit {
    /// That of a dispatch with this error.
    pub(crate) fn of(error: &PluginError) -> Self {
        Self::Dispatch(error.exit_code())
    }

    /// The number.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Environment => 3,
            Self::Interrupted => 130,
            Self::Dispatch(code) => code,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
