//! Every event maps to an ACP v1 `session/update` and back without loss (M-05).
#![expect(clippy::unwrap_used, reason = "a test")]

mod events;
mod generate;
mod table;
mod unknown;
