//! Runs of a session: the onion of plugs around an agent.
//!
//! A [`Run`] enters one plug after the other, each inside the one before, runs the agent at the centre,
//! and unwinds them in the opposite order. What is at the centre, where state is kept and what is told to
//! whom are traits, so that all of it runs in a test with a paused clock.
//!
//! | file | what |
//! |---|---|
//! | `spec` | what a run is made of |
//! | `stop` | why the live part ends: the stop, and what failed |
//! | `run` | what all levels of a run share; how a plug is entered |
//! | `session` | the onion of `on_session` |
//! | `teardown` | the onion of `on_teardown` |
//! | `hook` | one hook at work: its end, its panic, its time limit |
//! | `message` | the way of messages through the plugs, in order |
//! | `relay` | frames between two ends, through the plugs |

mod hook;
mod message;
mod relay;
mod run;
mod session;
mod spec;
mod stop;
mod teardown;

pub use message::{MessageChain, Peer};
pub use relay::{Came, Fault, Incoming, Lane, Outgoing, wire};
pub use run::Run;
pub use spec::{Center, Control, ControlError, Inside, Limits, Link, OnFailure, RunSpec, With};
pub use stop::{Ending, Stop, Stops};
pub use teardown::{History, Torn};
