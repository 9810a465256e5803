//! Gemini CLI.

use std::path::PathBuf;

use super::Setup;

/// A script for node.
pub(super) fn program() -> Option<PathBuf> {
    Some("node_modules/.bin/gemini".into())
}

pub(super) fn setup(url: &str) -> Setup {
    // Without the chosen way to log in, another address alone selects one that it refuses headless.
    let settings = r#"{
  "security": { "auth": { "selectedType": "gemini-api-key" }, "folderTrust": { "enabled": false } },
  "privacy": { "usageStatisticsEnabled": false },
  "general": { "enableAutoUpdate": false },
  "model": { "name": "gemini-2.5-flash" }
}
"#;
    let env =
        [("GOOGLE_GEMINI_BASE_URL", url), ("GEMINI_API_KEY", "dummy"), ("TERM", "xterm-256color")];
    Setup {
        files: vec![(".gemini/settings.json", settings.to_owned())],
        env: env.map(|(name, value)| (name, value.to_owned())).to_vec(),
        key: "GEMINI_API_KEY",
        first: &[],
    }
}
