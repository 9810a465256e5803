//! What Mia remembers: conversations, tasks, events and agents' sessions, in SQLite.
//!
//! All SQL of Mia is in this crate. A [`Store`] is one open database; any number of processes may
//! have it open at once.
//!
//! - A prompt's way: [`Store::accept`], [`Store::wait_turn`], [`Store::record`], [`Store::finish`].
//!   One conversation runs one task at a time, in order of acceptance, whichever process it is in
//!   (M-37).
//! - Who is alive: an [`Owner`] is a lock on a file for as long as its process lives. What a dead
//!   one left is ended as interrupted, its text kept (M-39): [`Store::recover`].
//! - What was: [`Store::recent`], [`Store::task`], [`Store::events`], [`Store::transcript`],
//!   [`Store::conversations`], [`Store::usage`] (M-70).
//! - How it goes again: [`Store::prune`], [`Store::delete_conversation`] (M-70, M-72).
//! - How a conversation goes on: [`Store::session`] and its siblings (M-17).
//!
//! **Durability.** A write has happened when its future is ready, and survives a kill -9 of any
//! process then. A power cut may lose the last moments, never the file. A future that is dropped
//! has written everything or nothing.

#[cfg(feature = "bench")]
pub mod bench;
mod connection;
mod conversation;
mod conversation_list;
mod ending;
mod error;
mod health;
mod history;
mod migration;
mod open;
mod owner;
mod queue;
mod record;
mod recovery;
mod removal;
mod replay;
mod retention;
mod row;
mod session;
mod tool;
mod usage;

pub use connection::Store;
pub use conversation::{Exchange, TranscriptLimits};
pub use conversation_list::ConversationFilter;
pub use ending::{Ending, Finished};
pub use error::{StoreError, StoreErrorKind};
pub use history::Filter;
pub use open::{Access, OpenOptions};
pub use owner::{Owner, OwnerId};
pub use queue::{Accepted, Claim, NewTask, Turn, Withdrawn};
pub use recovery::Interrupted;
pub use removal::Deleted;
pub use replay::{EventPage, ResumeCut};
pub use retention::Pruned;
pub use session::Session;
