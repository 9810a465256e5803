//! The client's side of an ACP v1 dialogue over stdio, for the adapters of agents that speak it.
//!
//! What one agent does in its own way stands in that agent's folder.
//!
//! | file | what |
//! |---|---|
//! | `line` | the lines: requests, notifications and answers, read and written |
//! | `turn` | the requests of one turn in their order: initialize, session, settings, prompt |
//! | `update` | what a `session/update` holds |
//! | `tools` | tool calls, put together from their updates |
//! | `asking` | permission requests, and who answers them |
//! | `wording` | calls and questions in words |

mod asking;
mod line;
mod tools;
mod turn;
mod update;
mod wording;

pub(crate) use asking::{Questions, Request};
pub(crate) use line::{Failure, Message, answer, read, refuse};
pub(crate) use tools::{Told, Tools};
pub(crate) use turn::{Opening, Progress, Step, Turn};
pub(crate) use update::{Update, update};
pub(crate) use wording::{question, title};
