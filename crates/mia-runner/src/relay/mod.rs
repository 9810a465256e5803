//! Frames between two ends, through the plugs: lines of an agent's process on one side, a client on the
//! other.
//!
//! | file | what |
//! |---|---|
//! | `wire` | an end that is a pair of byte streams |
//! | `pending` | requests that wait for their answers, and the ids that they go by |
//! | `lane` | what comes from one end, in order, into the chain |

mod lane;
mod pending;
mod wire;

pub use lane::{Fault, Lane};
pub use wire::{Came, Incoming, Outgoing, wire};
