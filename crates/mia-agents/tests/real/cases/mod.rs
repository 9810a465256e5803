//! What every agent has to do.

pub(crate) mod answers;
pub(crate) mod conformance;
pub(crate) mod ending;
pub(crate) mod environment;
pub(crate) mod errors;
pub(crate) mod permissions;
pub(crate) mod prompts;
pub(crate) mod sessions;
pub(crate) mod usage;
