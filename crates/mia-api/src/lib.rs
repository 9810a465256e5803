//! The one vocabulary of Mia: events, errors, requests and results.
//!
//! Everything that crosses a border (a plugin's output, `ask --json`, history, the HTTP API)
//! is one of these plain serde types. They hold no behaviour beyond naming, and depend on nothing
//! of ours.
//!
//! - [`Event`] is what happened in a task, in order; [`EventBody`] lists the kinds.
//! - [`PluginError`] is the one error a dispatch can end with; [`DispatchResult`] the one success.
//! - [`DispatchOptions`] and [`PluginContext`] are what a plugin is told beside the prompt.

mod ability;
mod dispatch;
mod error;
mod event;
mod http;
mod id;
mod os_text;
mod permission;
mod plugin;
mod read;
mod record;
mod result;
mod resume;
#[cfg(feature = "schema")]
pub mod schema;
mod tool;
mod usage;
mod weight;

pub use ability::{Ability, Lack};
pub use dispatch::{
    Attachment, DispatchOptions, Image, Mode, PermissionPolicy, PluginContext, UnknownPolicy,
};
pub use error::{Cause, ErrorCode, Partial, Phase, PluginError};
pub use event::{Event, EventBody, NoticeKind, PlanEntry};
pub use http::{
    Aborted, Cleaned, Cleanup, DaemonStatus, DispatchAccepted, DispatchBody, EnvVar, Gap,
    PermissionAnswer, Problem, Rename, Resting, Stop, Surroundings, Switch, Switched, Tested,
};
pub use id::{BadId, ConversationId, TaskId};
pub use os_text::OsText;
pub use permission::{
    OptionKind, PermissionOption, PermissionRequest, PermissionResolution, ResolvedBy,
};
pub use plugin::PluginStatus;
pub use record::{
    AttemptRecord, ConversationRecord, ConversationSummary, ErrorSummary, TaskRecord, TaskStatus,
    TaskSummary, ToolRecord, UsageReport, UsageRow,
};
pub use result::{Attempt, DispatchResult, StopReason};
pub use resume::{BadResumePoint, ResumePoint};
pub use tool::{Location, ToolCallInfo, ToolContent, ToolKind, ToolResultInfo, ToolStatus};
pub use usage::{ContextUsage, Usage};
pub use weight::json_weight;
