//! The built-in plugins: one file an agent, with its quirks and the reason for each.

mod claude_code;
mod guide;

use std::sync::Arc;

use mia_plugin::{CodingPlugin, SpawnPlugin};

pub use claude_code::ClaudeCode;
pub use guide::Guide;

/// All of them, new, in the order in which they are asked when nobody chose one.
#[must_use]
pub fn built_in() -> Vec<Arc<dyn CodingPlugin>> {
    let claude = SpawnPlugin::new(ClaudeCode::NAME, ClaudeCode::VERSION, ClaudeCode::default());
    vec![Arc::new(claude), Arc::new(Guide::new())]
}
