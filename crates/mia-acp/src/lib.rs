//! ACP for Mia: so far the mapping between its `session/update` and our events (M-05).
//!
//! Updates are JSON values here and not the schema crate's types, which drop what they don't know.
//!
//! | file | what |
//! |---|---|
//! | `update` | [`from_update`] and [`to_update`], and why nothing is lost |
//! | `project` | the members of an update that an event has a word for |
//! | `nearest` | the update that says most of an event |
//! | `content` | what tools produced, both ways |
//! | `meta` | what the nearest update has no word for |

mod content;
mod meta;
mod nearest;
mod project;
mod update;

pub use update::{Unwritable, from_update, to_update};
