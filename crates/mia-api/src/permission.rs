//! Questions that an agent asks before it acts.

use serde::{Deserialize, Serialize};

/// What an answer means, in ACP's words. Agents name their options differently; choose by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum OptionKind {
    /// Allow this one.
    AllowOnce,
    /// Allow this and the like from now on.
    AllowAlways,
    /// Refuse this one.
    RejectOnce,
    /// Refuse this and the like from now on.
    RejectAlways,
}

/// One possible answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct PermissionOption {
    /// The answer's id.
    pub id: String,
    /// The answer for people.
    pub name: String,
    /// What it means.
    pub kind: OptionKind,
}

/// A question of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct PermissionRequest {
    /// The question's id, unique in its task.
    pub id: String,
    /// The tool call that it is about.
    pub tool_call_id: String,
    /// One line for people: what the agent wants to do.
    pub title: String,
    /// The possible answers.
    pub options: Vec<PermissionOption>,
}

impl PermissionRequest {
    /// The id of the first option of that kind.
    #[must_use]
    pub fn option(&self, kind: OptionKind) -> Option<&str> {
        self.options.iter().find(|o| o.kind == kind).map(|o| o.id.as_str())
    }
}

/// Who answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ResolvedBy {
    /// A person, or a program on their behalf.
    Client,
    /// A rule.
    Policy,
    /// Nobody was there to be asked, so it was denied.
    Nobody,
    /// The task was aborted or ended.
    End,
}

/// The answer to a [`PermissionRequest`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct PermissionResolution {
    /// The question's id.
    pub id: String,
    /// The chosen option; none means that it was not answered and counts as refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub option_id: Option<String>,
    /// Who answered.
    pub by: ResolvedBy,
}
