//! The one vocabulary of Mia: events, errors, requests and results.
//!
//! Everything that crosses a border (a plugin's output, `ask --json`, history, later the HTTP API)
//! is one of these plain serde types. They hold no behaviour beyond naming, and depend on nothing
//! of ours.
//!
//! - [`Event`] is what happened in a task, in order; [`EventBody`] lists the kinds.
//! - [`PluginError`] is the one error a dispatch can end with; [`DispatchResult`] the one success.
//! - [`DispatchOptions`] and [`PluginContext`] are what a plugin is told beside the prompt.

mod dispatch;
mod error;
mod event;
mod id;
mod permission;
mod result;
mod tool;
mod usage;
mod weight;

pub use dispatch::{
    Attachment, DispatchOptions, Image, Mode, PermissionPolicy, PluginContext, UnknownPolicy,
};
pub use error::{Cause, ErrorCode, Partial, Phase, PluginError};
pub use event::{Event, EventBody, NoticeKind, PlanEntry};
pub use id::{BadId, ConversationId, TaskId};
pub use permission::{
    OptionKind, PermissionOption, PermissionRequest, PermissionResolution, ResolvedBy,
};
pub use result::{Attempt, DispatchResult, StopReason};
pub use tool::{Location, ToolCallInfo, ToolContent, ToolKind, ToolResultInfo, ToolStatus};
pub use usage::{ContextUsage, Usage};
pub use weight::json_weight;
