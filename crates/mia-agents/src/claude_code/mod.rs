//! Claude Code, by its dialogue over stdio (`claude -p --input-format stream-json`).
//!
//! Every quirk stands beside the line that needs it; all were seen with 2.1.332.
//!
//! | file | what |
//! |---|---|
//! | `adapter` | how it is started, and which line is whose |
//! | `telling` | what it says: text, thoughts, tool calls; streams that break |
//! | `tool` | its tools |
//! | `asking` | its questions |
//! | `ending` | its last word: answer or failure, tokens and money |
//! | `line` | the lines as they are printed |

mod adapter;
mod asking;
mod ending;
mod line;
mod telling;
mod tool;

pub use adapter::ClaudeCode;
