//! Codex.

use std::path::PathBuf;

use super::{Setup, cpu};

/// The native program in its package for the platform.
pub(super) fn program() -> Option<PathBuf> {
    let (cpu, target) = (cpu()?, std::env::consts::ARCH);
    let package = format!("node_modules/@openai/codex-linux-{cpu}");
    Some(format!("{package}/vendor/{target}-unknown-linux-musl/bin/codex").into())
}

pub(super) fn setup(url: &str) -> Setup {
    let config = format!(
        r#"model = "gpt-5.5"
model_provider = "fake"
check_for_update_on_startup = false

[features]
plugins = false

[analytics]
enabled = false

[model_providers.fake]
name = "fake"
base_url = "{url}/v1"
env_key = "CODEX_API_KEY"
wire_api = "responses"
request_max_retries = 1
stream_max_retries = 1
"#
    );
    Setup {
        files: vec![(".codex/config.toml", config)],
        env: vec![("CODEX_API_KEY", "dummy".to_owned())],
        key: "CODEX_API_KEY",
        first: &[],
    }
}
