//! One supervisor per Mia process: it spawns every child and leaves nothing of one behind (M-21).
//!
//! A group kill misses whatever called `setsid`, and the kernel's parent-death signal is tied to
//! a thread. So Mia runs its own binary a second time, as a *subreaper*: whatever its children
//! start, stays below it in the process tree, however often it detaches. It starts children when
//! told, reports their exits, ends whole trees, and when its socket closes, because Mia has ended
//! or was killed, it ends everything and then itself.
//!
//! | file | what |
//! |---|---|
//! | `entry` | how a process becomes a supervisor |
//! | `process` | the supervisor's loop |
//! | `family` | whose process is whose |
//! | `marker` | the environment variable that says so |
//! | `protocol` | messages and descriptors on the socket |
//! | `client` | [`Supervisor`], the async end in Mia |
//! | `link` | the connection to one supervisor process |
//! | `lost` | what Mia does when its supervisor was killed |
//! | `error` | why there is none |

mod client;
mod entry;
mod error;
mod family;
pub(crate) mod link;
mod lost;
mod marker;
mod process;
pub(crate) mod protocol;

pub use client::{Supervisor, SupervisorProgram};
pub use entry::{close_inherited, enter_if_asked};
pub use error::SupervisorError;
pub use marker::MARKER;
