//! Gemini CLI, headless (`gemini --output-format stream-json`, the prompt on stdin).
//!
//! Every quirk stands beside the line that needs it; all were seen with 0.61.0.
//!
//! It also speaks ACP (`gemini --acp`), with thoughts, questions and pictures. That is not used: a
//! session can't be loaded within the clock minute in which it began (the file of the fresh one
//! that it opens first has the same name, and the next start deletes it as empty), while a
//! conversation has to go on at once; what was said before is replayed after the answer to
//! `session/load`, mixed into the next turn; a stream that broke ends as `end_turn`, in no way told
//! from an answer; and tokens from the cache are not told.
//!
//! What it can't do this way is in [`Profile::lacks`](mia_plugin::Profile::lacks). Besides:
//!
//! - Prompts are not inert. One that begins with `/` and the name of a command runs that command,
//!   and `@name` anywhere in it attaches the files of that name in the working directory. Each `@`
//!   costs a search through it.
//! - Tools show a summary of what they did where gemini has one for people: a file that was read
//!   has an empty output.
//!
//! | file | what |
//! |---|---|
//! | `adapter` | how it is started, and which line is whose |
//! | `trust` | whether it may take the working directory for trusted |
//! | `telling` | what it says; streams that break |
//! | `tool` | tools: their calls, results and titles; what was denied |
//! | `ending` | its last word: answer or failure, and tokens |
//! | `exit` | what an exit without a last word means |
//! | `line` | the lines as they are printed |

mod adapter;
mod ending;
mod exit;
mod line;
mod telling;
mod tool;
mod trust;

pub use adapter::Gemini;
