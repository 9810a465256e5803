//! The built-in plugins: one file an agent, with its quirks and the reason for each.

mod claude_code;
mod gemini;
mod guide;

use std::sync::Arc;

use mia_plugin::{CodingPlugin, SpawnPlugin};

pub use claude_code::ClaudeCode;
pub use gemini::Gemini;
pub use guide::Guide;

/// All of them, new, in the order in which they are asked when nobody chose one.
#[must_use]
pub fn built_in() -> Vec<Arc<dyn CodingPlugin>> {
    let claude = SpawnPlugin::new(ClaudeCode::NAME, ClaudeCode::VERSION, ClaudeCode::default());
    let gemini = SpawnPlugin::new(Gemini::NAME, Gemini::VERSION, Gemini::default());
    vec![Arc::new(claude), Arc::new(gemini), Arc::new(Guide::new())]
}
