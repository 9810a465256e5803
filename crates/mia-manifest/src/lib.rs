//! Plugins without Rust: a manifest `plugins/NAME.yaml` tells how a CLI is started and what the
//! lines that it prints say (M-25).
//!
//! - [`Manifest::read`] reads one, and tells every mistake with its place and what to do.
//! - [`ManifestAdapter::plugin`] makes it a plugin like any other.
//! - [`Replay`] runs recorded output through it and tells what was not understood.
//! - [`load`] finds all manifests of a folder.
//!
//! Every key is a row of one table, which checks files, suggests the nearest key for a misspelt one,
//! and writes the [`schema()`] and the [`reference()`].

mod adapter;
mod apply;
mod arrive;
mod condition;
mod counting;
mod failure;
mod folder;
mod lack;
mod launch;
mod mend;
mod model;
mod path;
mod read;
mod reference;
mod replay;
mod schema;
mod table;
mod telling;
mod template;
mod title;

pub use adapter::ManifestAdapter;
pub use folder::{Found, load};
pub use model::Manifest;
pub use reference::reference;
pub use replay::{Replay, Replayed};
pub use schema::schema;
