//! The core: registry of plugins, dispatcher, permission broker.
//!
//! [`Core`] is what every door of Mia opens on: the command line in its own process, later the
//! daemon. [`Core::dispatch`] puts a prompt on record, waits for the conversation's turn, asks a
//! plugin and gives the events.

mod breaker;
mod broker;
mod core;
mod dispatcher;
mod fallback;
mod no_record;
mod plugins;
mod recorder;
mod registry;
mod sessions;
mod settings;
mod task;
mod track;
mod weighted;

pub use self::core::{Core, CoreSetup, OpenError};
pub use broker::{AnswerError, PermissionBroker};
pub use dispatcher::{DispatchRequest, Refused, TaskEvents};
pub use no_record::NoRecord;
pub use plugins::{NoPlugin, Plugins};
pub use registry::{BrokenPlugin, Registry, RegistryError};
