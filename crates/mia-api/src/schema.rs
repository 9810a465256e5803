//! The types of the API as JSON Schemas, from the types themselves, and the OpenAPI document that
//! carries them. Only with the feature `schema`.
//!
//! A schema says what serde does. Of what Mia sends: a member that is always there is required,
//! with null where it may be nothing, and one that is left out when it is nothing is optional and
//! never null. Of what Mia is sent: a member may be left out or null wherever both are read as
//! nothing.
//!
//! - [`components`] are the schemas of [`TYPES`], by the types' names.
//! - [`document`] is an OpenAPI document of nothing but these; the daemon adds its requests.
//! - [`to_json`] and [`to_text`] write a document the same way each time.

mod form;
mod written;

pub use form::{to_json, to_text};

use utoipa::openapi::{Components, ComponentsBuilder, Info, OpenApi, Paths};
use utoipa::{PartialSchema, ToSchema};

use crate::{
    Ability, Aborted, Attachment, Attempt, AttemptRecord, Cause, Cleaned, Cleanup, ContextUsage,
    ConversationId, ConversationRecord, ConversationSummary, DaemonStatus, DispatchAccepted,
    DispatchBody, DispatchResult, EnvVar, ErrorCode, ErrorSummary, Event, EventBody, Gap, Image,
    Lack, Location, Mode, NoticeKind, OptionKind, OsText, Partial, PermissionAnswer,
    PermissionOption, PermissionPolicy, PermissionRequest, PermissionResolution, Phase, PlanEntry,
    PluginError, PluginStatus, Problem, Rename, ResolvedBy, Resting, ResumePoint, Stop, StopReason,
    Surroundings, Switch, Switched, TaskId, TaskRecord, TaskStatus, TaskSummary, Tested,
    ToolCallInfo, ToolContent, ToolKind, ToolRecord, ToolResultInfo, ToolStatus, Usage,
    UsageReport, UsageRow,
};

macro_rules! types {
    ($($name:ident),* $(,)?) => {
        /// The names of all types that cross the API; each is a component of the document.
        pub const TYPES: &[&str] = &[$(stringify!($name)),*];

        /// The schemas of all types that cross the API.
        #[must_use]
        pub fn components() -> Components {
            let components = ComponentsBuilder::new();
            $(let components = components.schema(<$name>::name(), <$name>::schema());)*
            components.build()
        }
    };
}

types! {
    Ability, Aborted, Attachment, Attempt, AttemptRecord, Cause, Cleaned, Cleanup, ContextUsage, ConversationId,
    ConversationRecord, ConversationSummary, DaemonStatus, DispatchAccepted, DispatchBody,
    DispatchResult, EnvVar, ErrorCode, ErrorSummary, Event, EventBody, Gap, Image, Lack, Location,
    Mode, NoticeKind, OptionKind, OsText, Partial, PermissionAnswer, PermissionOption,
    PermissionPolicy, PermissionRequest, PermissionResolution, Phase, PlanEntry, PluginError,
    PluginStatus, Problem, Rename, Resting, ResolvedBy, ResumePoint, Stop, StopReason, Surroundings, Switch,
    Switched, TaskId, TaskRecord, TaskStatus, TaskSummary, Tested, ToolCallInfo, ToolContent, ToolKind,
    ToolRecord, ToolResultInfo, ToolStatus, Usage, UsageReport, UsageRow,
}

/// An OpenAPI 3.1 document that has the types alone.
#[must_use]
pub fn document() -> OpenApi {
    let mut info = Info::new("Mia", env!("CARGO_PKG_VERSION"));
    info.description = Some("The API of Mia's daemon.".to_owned());
    let mut document = OpenApi::new(info, Paths::new());
    document.components = Some(components());
    document
}
