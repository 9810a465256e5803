//! A model server on loopback, scripted by the text of the prompt.
//!
//! [`FakeLlm::start`] runs one in the test's process, on a thread and a runtime of its own, so that it works
//! whatever the test does with its clock; it stops when dropped. `cargo run -p mia-testkit --bin fakellm` is the same for people.
//! It speaks the Anthropic Messages API, OpenAI's Responses and Chat Completions and the Gemini API, all by the same script;
//! another API is one more file that implements the `Api` and `Encoder` traits.
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
//! | `STREAMERROR [type=T]` | some words, then an error event in the stream (Gemini: an error of status 503) |
//! | `TOOL bash CMD`, `TOOL write PATH TEXT`, `TOOL read PATH` | a call of whatever such tool the client offers |
//! | `TOOL NAME {json}` | a call of the tool with that name and input; `bash`, `write` and `read` stand for the client's tool here too |
//! | `TOOL NAME text` | the same for a tool that takes text, such as codex's `apply_patch` |
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
//! `USAGE` means the same in each API: `in` is without what was cached, `out` is with what was thought, which is counted from `THINK`.
//!
//! Side work of a client (no tools offered and a title or summary asked for, an answer by a schema, or what qwen does for
//! its memory) gets a harmless answer, and `auxiliary` is set in its [`Request`].
//!
//! # APIs
//! | name | POST to a path that ends with | key |
//! |---|---|---|
//! | `anthropic` | `/messages`, `/messages/count_tokens` | `x-api-key` |
//! | `openai-responses` | `/responses` | `authorization: Bearer` |
//! | `openai-chat` | `/chat/completions` | `authorization: Bearer` |
//! | `gemini` | `/models/M:generateContent`, `:streamGenerateContent`, `:countTokens` | `x-goog-api-key` or `?key=` |
//!
//! All directives work in all of them. `GET` of a path that ends with `/models` lists the one model, `fake-model`; any
//! name is answered. In the API of Chat Completions the usage of a stream is told only if it was asked for.

mod anthropic;
mod api;
mod conversation;
mod gates;
mod gemini;
mod handler;
mod log;
mod openai_chat;
mod openai_responses;
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
pub use tool_call::{Tool, ToolCall};
