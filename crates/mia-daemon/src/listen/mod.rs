//! Connections: who may have one, and how much of it.

mod accept;
mod body;
mod connection;
mod limits;
mod room;
mod writes;

pub use accept::serve;
pub(crate) use body::GivenUp;
pub use limits::Limits;
