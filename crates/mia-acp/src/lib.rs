//! ACP for Mia: its messages as the text that came, and the mapping between its `session/update` and our
//! events (M-05).
//!
//! What is in a message is JSON here and not the schema crate's types, which drop what they don't know.
//!
//! | file | what |
//! |---|---|
//! | `frame` | a message, and where its members lie |
//! | `id`, `method`, `request_error` | what is in an envelope |
//! | `update` | [`from_update`] and [`to_update`], and why nothing is lost |
//! | `project` | the members of an update that an event has a word for |
//! | `nearest` | the update that says most of an event |
//! | `content` | what tools produced, both ways |
//! | `meta` | what the nearest update has no word for |

mod content;
mod frame;
mod id;
mod meta;
mod method;
mod nearest;
mod project;
mod request_error;
mod update;

pub use frame::{Frame, Kind, NotAFrame};
pub use id::Id;
pub use method::{AgentMethod, ClientMethod};
pub use request_error::RequestError;
pub use update::{Unwritable, from_update, to_update};
