//! The daemon: the core behind an HTTP API on a Unix socket, and its client.
//!
//! The API is the one way to the core for every client, the command line included: over the daemon's
//! socket, or, with the same code and no socket, in the client's own process.

pub mod background;
mod client;
mod extract;
mod listen;
mod lock;
pub mod log;
mod misread;
mod openapi;
mod problem;
mod routes;
mod server;
mod socket;
mod sse;

pub use axum::http::Method;
pub use client::{
    AllEventSource, Any, ClientError, Connection, EventSource, Patience, Watching, somebody_listens,
};
pub use listen::{Limits, serve};
pub use lock::{About, Holder, Lock, LockError};
pub use openapi::openapi;
pub use routes::{LARGEST_BODY, router};
pub use server::{End, Places, Server, VERSION};
pub use socket::Socket;
