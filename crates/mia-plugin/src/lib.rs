//! The plugin contract, and the spawn base that makes a CLI plugin one small file.
//!
//! - [`CodingPlugin`] is what the dispatcher talks to. [`Dispatch`] is what it is given,
//!   [`EventSink`] takes what it says.
//! - [`SpawnPlugin`] is a [`CodingPlugin`] for any CLI that prints one JSON object a line; what
//!   makes one CLI different from another is its [`CliAdapter`].
//! - [`DispatchCallbacks`] are the page's five callbacks, as a view of the events.
//! - `conformance`, with the feature of that name, is the suite that every plugin has to pass.

mod callbacks;
#[cfg(feature = "conformance")]
pub mod conformance;
mod contract;
mod installed;
mod login;
mod package;
mod permissions;
mod sessions;
mod sink;
mod slots;
mod spawn;
pub mod surrogate;

pub use callbacks::{DispatchCallbacks, dispatch_with_callbacks};
pub use contract::{CodingPlugin, Dispatch, Environment, Inherit, PluginConfig, Probe, Services};
pub use installed::{AgentFolder, Claim, Hold};
pub use login::{Login, LoginFile, SignIn};
pub use mia_api::{Ability, Lack};
pub use package::{Package, npm_cpu};
pub use permissions::{Nobody, Permissions, ask};
pub use sessions::{SessionKey, SessionRecord, Sessions, SessionsError};
pub use sink::{EventSink, EventStream, SinkError, event_channel};
pub use slots::{Requests, Slot, Slots};
pub use spawn::{
    Call, CliAdapter, Exit, Interrupt, Launch, Noise, Out, Profile, SpawnPlugin, Terminal,
};
