//! The API: what each request does. Shapes are in `mia-api`; the core does the work.

mod conversations;
mod daemon;
mod events;
mod frame;
mod history;
mod plugins;
pub(crate) mod refusals;
mod router;
mod tasks;

pub use router::{LARGEST_BODY, router};
pub(crate) use router::{VERSION_HEADER, described};
