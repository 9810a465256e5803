//! What people expect of an agent, and not each can do.

use serde::{Deserialize, Serialize};

/// What people expect of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Ability {
    /// Its text streams while the model writes it.
    Deltas,
    /// It shows the model's thinking.
    Thoughts,
    /// A tool call shows when the tool begins, not only with its result.
    OpenTools,
    /// It asks before it does what it may not do unasked.
    Questions,
    /// It can be kept from changing anything.
    ReadOnly,
    /// Kept from changing anything, it also runs nothing that the folder brings along: hooks,
    /// plugins, servers.
    ForeignFolders,
    /// It can be allowed to change files, and nothing else, without being asked.
    Edit,
    /// It can be allowed to do anything without being asked.
    Full,
    /// The caller can choose its model.
    Model,
    /// It takes pictures.
    Images,
    /// It takes a prompt of a megabyte.
    LongPrompts,
    /// It tells how many tokens a dispatch took.
    Usage,
    /// It tells them for a dispatch with tools, too, which takes several requests.
    TurnUsage,
    /// It tells what a dispatch cost.
    Cost,
    /// It goes on with its session in a later turn.
    Resume,
    /// It goes on with a conversation whose last turn was aborted.
    ResumeAfterAbort,
    /// It asks again when the provider's stream is cut.
    Reconnects,
    /// It gives up on a provider that fails within 20 seconds.
    GivesUp,
    /// It tells when it asks the provider again.
    RetryNotices,
}

impl Ability {
    /// All of them, in the order in which people are told.
    pub const ALL: [Self; 19] = [
        Self::Deltas,
        Self::Thoughts,
        Self::OpenTools,
        Self::Questions,
        Self::ReadOnly,
        Self::ForeignFolders,
        Self::Edit,
        Self::Full,
        Self::Model,
        Self::Images,
        Self::LongPrompts,
        Self::Usage,
        Self::TurnUsage,
        Self::Cost,
        Self::Resume,
        Self::ResumeAfterAbort,
        Self::Reconnects,
        Self::GivesUp,
        Self::RetryNotices,
    ];

    /// In a few words, as the head of a row in a table.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Deltas => "text streams",
            Self::Thoughts => "thinking is shown",
            Self::OpenTools => "tools show when they begin",
            Self::Questions => "asks before it acts",
            Self::ReadOnly => "`read-only`",
            Self::ForeignFolders => "`read-only` in a foreign folder",
            Self::Edit => "`edit`",
            Self::Full => "`full`",
            Self::Model => "the model can be chosen",
            Self::Images => "pictures",
            Self::LongPrompts => "prompts of 1 MB",
            Self::Usage => "tokens",
            Self::TurnUsage => "tokens of a turn with tools",
            Self::Cost => "cost",
            Self::Resume => "goes on with its session",
            Self::ResumeAfterAbort => "goes on after an abort",
            Self::Reconnects => "asks again after a cut stream",
            Self::GivesUp => "gives up on a failing provider",
            Self::RetryNotices => "tells that it tries again",
        }
    }
}

/// An ability that an agent has not, or not as people expect it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Lack {
    /// What it can't do.
    pub ability: Ability,
    /// How a person notices that: one sentence without a full stop.
    pub shows: String,
}

impl Lack {
    /// A lack and how it shows.
    pub fn new(ability: Ability, shows: impl Into<String>) -> Self {
        Self { ability, shows: shows.into() }
    }
}
