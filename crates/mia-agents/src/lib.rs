//! The built-in plugins: one file an agent, with its quirks and the reason for each.

mod claude_code;
mod guide;

pub use claude_code::ClaudeCode;
pub use guide::Guide;
