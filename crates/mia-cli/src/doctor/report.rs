//! All of it, in words and as JSON.

use std::path::PathBuf;

use serde::Serialize;

use super::agents::PluginHealth;
use super::check::{Check, Group, Status};
use crate::table::wrapped;
use crate::terminal::{Look, Terminal, clean_lines, columns};

/// How far a line's text is from the left.
const INDENT: usize = 11;

/// What was found out; as JSON documented in docs/cli.md.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    /// True without a failure.
    pub(super) ok: bool,
    /// Mia's own version.
    version: &'static str,
    checks: Vec<Check>,
    plugins: Vec<PluginHealth>,
    #[serde(skip)]
    home: Option<PathBuf>,
}

impl Report {
    pub(super) fn new(
        checks: Vec<Check>,
        plugins: Vec<PluginHealth>,
        home: Option<PathBuf>,
    ) -> Self {
        let ok = !checks.iter().any(|check| check.status == Status::Failure);
        Self { ok, version: env!("CARGO_PKG_VERSION"), checks, plugins, home }
    }

    /// For people: a line a check, below it what to do. As wide as the terminal, else as long as
    /// it is.
    pub(super) fn in_words(&self) -> String {
        let terminal = Terminal::of_stdout();
        let room = if terminal.there { columns() } else { usize::MAX };
        let mut text = String::new();
        for group in Group::ALL {
            text.push_str(&terminal.paint(group.title(), Look::Strong));
            text.push('\n');
            for check in self.checks.iter().filter(|check| check.group == group) {
                let (word, look) = match check.status {
                    Status::Ok => ("ok", Look::Dim),
                    Status::Info => ("-", Look::Dim),
                    Status::Warning => ("warning", Look::Strong),
                    Status::Failure => ("FAILURE", Look::Bad),
                };
                let pad = " ".repeat(INDENT.saturating_sub(2 + word.len()));
                text.push_str(&format!("  {}{pad}", terminal.paint(word, look)));
                let said = self.shortened(&format!("{}: {}", check.name, check.message));
                text.push_str(&wrapped(&said, INDENT, room));
                if let Some(hint) = &check.hint {
                    text.push_str(&" ".repeat(INDENT));
                    text.push_str("> ");
                    text.push_str(&wrapped(&self.shortened(hint), INDENT + 2, room));
                }
            }
        }
        text.push_str(&self.verdict());
        text.push('\n');
        text
    }

    fn verdict(&self) -> String {
        let count = |status| self.checks.iter().filter(|check| check.status == status).count();
        let counted = |count: usize, word: &str| match count {
            0 => None,
            1 => Some(format!("1 {word}")),
            _ => Some(format!("{count} {word}s")),
        };
        let failures = counted(count(Status::Failure), "failure");
        let warnings = counted(count(Status::Warning), "warning");
        let parts: Vec<_> = failures.into_iter().chain(warnings).collect();
        if parts.is_empty() { "All is well.".to_owned() } else { parts.join(", ") }
    }

    /// With `~` for the home.
    fn shortened(&self, text: &str) -> String {
        let text = clean_lines(text);
        let home = self.home.as_ref().filter(|home| home.components().count() > 1);
        match home.and_then(|home| home.to_str()) {
            Some(home) => {
                // Only where a path begins: /srv/root/x is not in /root.
                let home = format!("{}/", home.trim_end_matches('/'));
                let begins = |before: &str| {
                    !before.ends_with(|c: char| c.is_alphanumeric() || "/._-".contains(c))
                };
                let mut short = String::new();
                let mut rest = text.as_str();
                while let Some((before, after)) = rest.split_once(&home) {
                    short.push_str(before);
                    short.push_str(if begins(before) { "~/" } else { &home });
                    rest = after;
                }
                short + rest
            }
            None => text,
        }
    }
}
