//! From YAML to a manifest, or to all that is wrong with it.

mod events;
mod reader;
mod start;
mod whole;
