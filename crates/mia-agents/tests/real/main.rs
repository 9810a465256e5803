//! The real agents behind their plugins, against a model that the prompt scripts: the same cases
//! for each (`cases`, listed in `matrix`), and what only one of them does.
#![expect(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used, reason = "a test")]

mod cases;
mod claude_code;
mod codex;
mod gemini;
mod matrix;
mod opencode;
mod qwen;
mod world;
