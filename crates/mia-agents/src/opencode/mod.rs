//! opencode, by its ACP dialogue over stdio (`opencode acp`).
//!
//! Why this one of its three modes: `run --format json` prints text only when a message is whole,
//! asks nothing, ends without a last event, and gives up on a question without a word; `serve` has
//! all, over HTTP, so that a program beside it would have to follow its events. `acp` streams,
//! shows tools while they run, asks, resumes, and takes prompts and pictures on stdin.
//!
//! What it does not tell, and what comes of that here:
//!
//! - That it asks a failing provider again: five times, over a minute or more, without a word.
//! - That a stream was cut and its message begins again: known by the pause and the same words
//!   (`telling`). Words that differ the second time stay in the answer beside the first.
//! - Tokens, but of a turn's last request: told for a turn of one request, else left out. Cost is
//!   the session's: told as the difference, and left out where a sub-agent ran, whose own it leaves
//!   out.
//! - What sub-agents do and say, and their questions, which nobody then answers: they would wait
//!   for ever. So what asks by opencode's own rules is denied to its own sub-agents, and where
//!   `--permissions` is `read-only` or `edit` there are none. One of the user's own that asks is
//!   ended by `tool_timeout`.
//!
//! Every quirk stands beside the line that needs it; all were seen with 1.18.33.
//!
//! | file | what |
//! |---|---|
//! | `adapter` | how it is started, and which line is whose |
//! | `project` | what a folder brings along that it would obey |
//! | `rules` | what it may do, as its own configuration |
//! | `telling` | its text; streams that break |
//! | `tool` | tools: calls, plans, files, questions |
//! | `ending` | its last word: answer or failure, tokens and money |

mod adapter;
mod ending;
mod project;
mod rules;
mod telling;
mod tool;

pub use adapter::OpenCode;
