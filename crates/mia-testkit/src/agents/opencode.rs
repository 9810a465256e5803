//! opencode.

use std::path::PathBuf;

use super::{Setup, cpu};

/// The native program in its package for the platform.
pub(super) fn program() -> Option<PathBuf> {
    let musl = if cfg!(target_env = "musl") { "-musl" } else { "" };
    Some(format!("node_modules/opencode-linux-{}{musl}/bin/opencode", cpu()?).into())
}

pub(super) fn setup(url: &str) -> Setup {
    let config = format!(
        r#"{{
  "$schema": "https://opencode.ai/config.json",
  "provider": {{
    "fake": {{
      "npm": "@ai-sdk/openai-compatible",
      "name": "fake",
      "options": {{ "baseURL": "{url}/v1", "apiKey": "{{env:OPENAI_API_KEY}}" }},
      "models": {{
        "fake-model": {{
          "name": "fake-model",
          "limit": {{ "context": 1000000, "output": 8000 }},
          "cost": {{ "input": 1, "output": 2 }},
          "attachment": true,
          "reasoning": true,
          "modalities": {{ "input": ["text", "image"], "output": ["text"] }}
        }},
        "chosen-model": {{ "name": "chosen-model", "limit": {{ "context": 1000000, "output": 8000 }} }}
      }}
    }}
  }},
  "model": "fake/fake-model",
  "small_model": "fake/fake-model",
  "enabled_providers": ["fake"],
  "autoupdate": false,
  "share": "disabled"
}}
"#
    );
    let env = [
        ("OPENAI_API_KEY", "dummy"),
        ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
        ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
    ];
    Setup {
        files: vec![(".config/opencode/opencode.json", config)],
        env: env.map(|(name, value)| (name, value.to_owned())).to_vec(),
        key: "OPENAI_API_KEY",
        // Its database is made at the first start.
        first: &["session", "list"],
    }
}
