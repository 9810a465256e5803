//! The lines that Claude Code prints, as far as Qwen Code prints the same.
//!
//! What a line means is the matter of each; here is only its shape.

mod control;
mod message;
mod text;
mod todo;

pub(crate) use control::{ControlRequest, option, question, respond, title};
pub(crate) use message::{Message, StreamEvent, results};
pub(crate) use text::{Lenient, Loose, Text, text_of};
pub(crate) use todo::plan;
