//! The API's client: one request a connection over the daemon's socket, or straight to a core in this
//! process.

mod connection;
mod error;
mod events;
mod exchange;
mod parser;

pub use connection::{Connection, Watching};
pub use error::ClientError;
pub use events::{AllEventSource, Any, EventSource};
pub use exchange::{Patience, somebody_listens};
