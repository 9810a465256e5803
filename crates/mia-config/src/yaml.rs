//! YAML that people write, with the place of each value, under a budget.
//!
//! [`parse`] makes a [`Source`] a tree of [`Node`]s; [`Source::error`] tells of a mistake in one.

pub use crate::kind::{found, is_variable};
pub use crate::source::{Author, Source};
pub use crate::tree::{Body, Entry, Node, Parsed, parse};
