//! A model server on loopback, scripted by the text of the prompt.
//!
//! [`FakeLlm::start`] runs one in the test's process, on a thread and a runtime of its own, so that it works
//! whatever the test does with its clock; it stops when dropped. `cargo run -p mia-testkit --bin fakellm` is the same for people.
//! It speaks the Anthropic Messages API; another API is one more file that implements the `Api` and `Encoder` traits.
//!
//! # How a prompt scripts the answer
//! The newest user message with a line that starts with a directive is *the prompt*. Its directives are the steps of the turn: the
//! request that has `k` assistant messages after the prompt gets step `k`. After the last step the answer is
//! `DONE` and the last tool result. A prompt without directives is answered `You said: …`.
//!
//! | step | answer |
//! |---|---|
//! | `SAY text` | the text, word by word |
//! | `LONG n` | n words |
//! | `SLOW n [text]`, `SLOW n@secs [text]` | n words, one every second, or every `secs` |
//! | `STALL [secs]` | the start and one word, then silence (600 s) |
//! | `HANG [secs]` | not even a status line (600 s) |
//! | `CUT [text]` | some words, then the connection is dropped |
//! | `ERROR code [retry-after=N] [type=T] [msg=WORDS]` | that HTTP status |
//! | `STREAMERROR [type=T]` | some words, then an error event in the stream |
//! | `TOOL bash CMD`, `TOOL write PATH TEXT`, `TOOL read PATH` | a call of whatever such tool the client offers |
//! | `TOOL NAME {json}` | a call of the tool with that name |
//! | `PTOOL …` | as `TOOL`; neighbouring lines are parallel calls of one answer |
//! | `REMEMBER word`, `RECALL` | `OK, remembered word`; the word of an earlier message: proves that context survived |
//! | `COUNT` | how many messages of which role the request held |
//! | `ECHO` | the prompt |
//!
//! A failing step (`ERROR`, `STREAMERROR`, `CUT`, `HANG`, `STALL`) with `times=K` fails the first K requests only; then the
//! step after it answers.
//!
//! | before a step | |
//! |---|---|
//! | `PRE text`, `THINK text` | text or reasoning before what the step says, in the order written |
//! | `GATE name` | holds the answer there until the test calls [`FakeLlm::open`]; after the last step: before the answer's end |
//! | `DELAY secs` | a wait before the answer starts |
//! | `USAGE in=N out=N cached=N` | the token usage to report |
//!
//! Side work of a client (no tools offered and a title or summary asked for, or an answer by a schema) gets
//! a harmless answer, and `auxiliary` is set in its [`Request`].

mod anthropic;
mod api;
mod conversation;
mod gates;
mod handler;
mod log;
mod plan;
mod script;
mod server;
mod steps;
mod tool_call;

pub use conversation::{Conversation, Message, Role};
pub use log::{Happening, Log, Request};
pub use plan::{Answer, Beat, Failure, Plan, Usage};
pub use script::{Attempts, plan};
pub use server::{FakeLlm, Options};
pub use tool_call::ToolCall;
