//! The process layer of Mia: programs that are started under a supervisor, so that nothing of
//! them survives; bytes turned into lines; one kill routine.
//!
//! The parts, in the order in which a dispatch meets them:
//!
//! - [`supervisor`]: one small process per Mia process that spawns every child, reports its exit
//!   and sweeps its whole tree, also when Mia itself was killed (M-21).
//! - [`Child`]: a supervised child with its pipes, and [`Process`], the handle that ends it.
//! - [`framing`]: any bytes in, the same lines out (M-14, M-15).
//! - [`StderrTail`]: the end of what a child wrote to stderr, bounded (M-12).
//! - [`host`]: where programs run, as plugs see it.
//! - [`kill`]: how a child is ended, step by step (M-21, M-24).
//!
//! Linux only.

mod child;
pub mod descriptors;
mod exit;
pub mod framing;
pub mod host;
pub mod kill;
mod proc;
mod signal;
mod spawn;
mod stderr_tail;
mod streams;
pub mod supervisor;

pub use child::{Child, Leftover, Process, SupervisorLost};
pub use exit::ExitStatus;
pub use signal::Signal;
pub use spawn::{SpawnError, SpawnSpec, Stdin};
pub use stderr_tail::StderrTail;
pub use supervisor::{Supervisor, SupervisorProgram};
