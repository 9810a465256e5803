//! Qwen Code, by the dialogue that its SDK uses (`qwen --input-format stream-json`).
//!
//! Of its three ways it is the one that does all: text and thoughts stream, a tool shows when it
//! begins, questions are asked, an interrupt ends a turn and leaves the session whole, and each turn
//! has one last word with its tokens. `-p` with the same output denies what it would have to ask and
//! has the prompt in an argument; `--acp` tells no tokens, and takes any id for a session.
//!
//! The lines are those of Claude Code in shape (`stream_json`), not in meaning. Every quirk stands
//! beside the line that needs it; all were seen with 0.24.4.
//!
//! | file | what |
//! |---|---|
//! | `adapter` | how it is started, and which line is whose |
//! | `telling` | what it says: text, thoughts, tool calls; streams that break |
//! | `tool` | its tools |
//! | `asking` | its questions |
//! | `ending` | its last word: answer or failure, and tokens |
//! | `project` | what a folder brings along that it would obey |
//! | `line` | the lines as they are printed |

mod adapter;
mod asking;
mod ending;
mod line;
mod project;
mod telling;
mod tool;

pub use adapter::Qwen;
