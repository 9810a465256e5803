//! The built-in plugins: one folder an agent, with its quirks and the reason for each.

mod acp_dialogue;
mod claude_code;
mod codex;
mod edits;
mod foreign;
mod gemini;
mod guide;
mod opencode;
mod qwen;
mod stream_json;

use std::sync::Arc;

use mia_plugin::{CliAdapter, CodingPlugin, SpawnPlugin};

pub use claude_code::ClaudeCode;
pub use codex::Codex;
pub use gemini::Gemini;
pub use guide::Guide;
pub use opencode::OpenCode;
pub use qwen::Qwen;

/// All of them, new, in the order in which they are asked when nobody chose one.
#[must_use]
pub fn built_in() -> Vec<Arc<dyn CodingPlugin>> {
    vec![
        cli(ClaudeCode::NAME, ClaudeCode::VERSION, ClaudeCode::default()),
        cli(Codex::NAME, Codex::VERSION, Codex::default()),
        cli(Gemini::NAME, Gemini::VERSION, Gemini::default()),
        cli(OpenCode::NAME, OpenCode::VERSION, OpenCode::default()),
        cli(Qwen::NAME, Qwen::VERSION, Qwen::default()),
        Arc::new(Guide::new()),
    ]
}

fn cli(name: &str, version: &str, adapter: impl CliAdapter) -> Arc<dyn CodingPlugin> {
    Arc::new(SpawnPlugin::new(name, version, adapter))
}
