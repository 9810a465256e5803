//! The real binary, as a person and a script meet it: each test has a home of its own and an
//! otherwise empty environment. `claude` is a scripted child.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod answer;
mod ask_flags;
mod bad_prompt;
mod bad_state;
mod claude;
mod config;
mod daemon;
mod daemon_limits;
mod daemon_log;
mod daemon_silent;
mod doctor;
mod end;
mod install;
mod json;
mod log;
mod manifest;
mod manual;
mod npm;
mod person;
mod plugin;
mod question;
mod screen;
mod terminal;
mod turn;
