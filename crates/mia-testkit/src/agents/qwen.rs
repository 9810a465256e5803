//! Qwen Code.

use std::path::PathBuf;

use super::Setup;

/// A script for node.
pub(super) fn program() -> Option<PathBuf> {
    Some("node_modules/.bin/qwen".into())
}

pub(super) fn setup(url: &str) -> Setup {
    // The notes that it takes for itself after each turn cost tokens, which no prompt can script.
    let settings = r#"{
  "security": { "auth": { "selectedType": "openai" } },
  "privacy": { "usageStatisticsEnabled": false },
  "memory": { "enableManagedAutoMemory": false }
}
"#;
    let base = format!("{url}/v1");
    let env = [
        ("OPENAI_BASE_URL", base.as_str()),
        ("OPENAI_API_KEY", "dummy"),
        // It knows that this one takes a million tokens, and sends an unknown one far less.
        ("OPENAI_MODEL", "qwen3-coder-plus"),
    ];
    Setup {
        files: vec![(".qwen/settings.json", settings.to_owned())],
        env: env.map(|(name, value)| (name, value.to_owned())).to_vec(),
        key: "OPENAI_API_KEY",
        first: &[],
    }
}
