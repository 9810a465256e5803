//! The core: registry of plugins, dispatcher, permission broker.
//!
//! [`Core`] is what every door of Mia opens on: the command line in its own process, later the
//! daemon. [`Core::dispatch`] puts a prompt on record, waits for the conversation's turn, asks a
//! plugin and gives the events.

mod availability;
mod breaker;
mod broker;
mod conversation;
mod core;
mod dispatcher;
mod every;
mod fallback;
mod feed;
mod gate;
mod meter;
mod no_record;
mod plugins;
mod recorder;
mod registry;
mod ring;
mod sessions;
mod settings;
mod status;
mod task;
mod track;
mod weighted;

pub use self::core::{Core, CoreSetup, Fresh, OpenError, Source};
pub use broker::{AnswerError, PermissionBroker};
pub use conversation::Deleted;
pub use dispatcher::{DispatchRequest, Refused};
pub use every::{AllEvents, AnyEvent};
pub use feed::TaskEvents;
pub use meter::{Meter, Moment};
pub use no_record::NoRecord;
pub use plugins::{NoPlugin, Plugins};
pub use registry::{BrokenPlugin, Registry, RegistryError};
