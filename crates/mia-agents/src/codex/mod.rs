//! Codex, by its dialogue over stdio (`codex app-server`).
//!
//! Not `codex exec --json`: that prints no text before a message is whole, asks nothing (what is not
//! allowed fails), begins a new thread in silence where it is to resume one whose name is no UUID,
//! and counts tokens over all turns of a thread. What `exec` can do and the app server can't, which
//! is to take its key from CODEX_API_KEY, is done in `start`.
//!
//! Every quirk stands beside the line that needs it; all were seen with 0.171.0.
//!
//! | file | what |
//! |---|---|
//! | `adapter` | how it is run, and which line is whose |
//! | `start` | the requests that come before the turn |
//! | `policy` | what it may do, and what is kept of that |
//! | `telling` | what it says: text and thoughts; streams that break |
//! | `item` | tools: their calls and results; sub-agents |
//! | `asking` | its questions |
//! | `spent` | tokens |
//! | `ending` | its last word: answer or failure |
//! | `line` | the lines as they are printed |

mod adapter;
mod asking;
mod ending;
mod item;
mod line;
mod policy;
mod spent;
mod start;
mod telling;

pub use adapter::Codex;
