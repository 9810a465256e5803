//! What was looked at, and what came of it.

use serde::Serialize;

/// What a check is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Group {
    Files,
    Daemon,
    Tools,
    Agents,
}

impl Group {
    pub(super) const ALL: [Self; 4] = [Self::Files, Self::Daemon, Self::Tools, Self::Agents];

    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Files => "Files",
            Self::Daemon => "Daemon",
            Self::Tools => "Tools",
            Self::Agents => "Agents",
        }
    }
}

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Status {
    /// It works.
    Ok,
    /// Good to know.
    Info,
    /// Something will not work as a person may expect.
    Warning,
    /// It keeps Mia, or the agent that is asked, from working.
    Failure,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Check {
    pub(super) group: Group,
    /// A stable name, for programs too.
    pub(super) name: String,
    pub(super) status: Status,
    /// What was found.
    pub(super) message: String,
    /// What to do.
    pub(super) hint: Option<String>,
}

impl Check {
    pub(super) fn ok(group: Group, name: impl Into<String>, message: impl Into<String>) -> Self {
        Self { group, name: name.into(), status: Status::Ok, message: message.into(), hint: None }
    }

    pub(super) fn info(group: Group, name: impl Into<String>, message: impl Into<String>) -> Self {
        Self { status: Status::Info, ..Self::ok(group, name, message) }
    }

    pub(super) fn warning(
        group: Group,
        name: impl Into<String>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self { status: Status::Warning, ..Self::ok(group, name, message) }.with_hint(hint)
    }

    pub(super) fn failure(
        group: Group,
        name: impl Into<String>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self { status: Status::Failure, ..Self::ok(group, name, message) }.with_hint(hint)
    }

    pub(super) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into()).filter(|hint| !hint.is_empty());
        self
    }
}
