//! Claude Code.

use std::path::PathBuf;

use super::{Setup, cpu};

/// Its npm package is a shim over a native program in a package for the platform; that program is
/// run, so neither node nor the package's install script is needed.
pub(super) fn program() -> Option<PathBuf> {
    let musl = if cfg!(target_env = "musl") { "-musl" } else { "" };
    let cpu = cpu()?;
    Some(format!("node_modules/@anthropic-ai/claude-code-linux-{cpu}{musl}/claude").into())
}

pub(super) fn setup(url: &str) -> Setup {
    let env = [
        ("ANTHROPIC_BASE_URL", url),
        ("ANTHROPIC_API_KEY", "dummy"),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("CLAUDE_CODE_MAX_RETRIES", "1"),
        ("DISABLE_AUTOUPDATER", "1"),
        // Allows bypassPermissions to root, whom CI runs as.
        ("IS_SANDBOX", "1"),
    ];
    Setup {
        files: Vec::new(),
        env: env.map(|(name, value)| (name, value.to_owned())).to_vec(),
        key: "ANTHROPIC_API_KEY",
        first: &[],
    }
}
