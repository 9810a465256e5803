//! The fake model server over real connections, by hand-written HTTP.

mod anthropic;
mod client;
mod every_api;
mod gemini;
mod openai_chat;
mod openai_responses;
