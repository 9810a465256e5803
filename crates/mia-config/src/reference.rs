//! The reference of all keys, generated from the table.

use std::fmt::Write;

use crate::keys::KEYS;
use crate::kind::Kind;
use crate::load::ACTIVE_PLUGIN_VARIABLE;

const HEAD: &str = "\
# Configuration

<!-- Generated from the table in crates/mia-config/src/keys.rs. -->

`mia config explain` shows every value in force and where it came from; `mia config set KEY VALUE`
changes one and keeps the file's comments and layout.

Values come from, each over the one before: the built-in defaults, `config.yaml`, the environment.
A key that is not in use yet is checked like the others and changes nothing.

- Every unknown key is refused. Keys may also be written in camelCase (`maxConcurrency`).
- Durations are `500ms`, `30s`, `30m`, `4h`, `90d`, a mix such as `1h30m`, or a bare number of
  milliseconds. Every one may also be written with `_ms` at the end of its key (`timeout_ms`,
  `timeoutMs`), and is then a bare number.
- Sizes are `64KiB`, `32MiB`, `2GiB`, or a bare number of bytes.
- Flags are `true` and `false` and nothing else.
- NAME is a plugin, MODEL a model, VARIABLE an environment variable. On the command line a name
  that has dots is put in quotes: `prices.\"gpt-4.1\".input`.
";

/// The reference of all keys in Markdown, for `docs/config.md`.
#[must_use]
pub fn reference() -> String {
    let mut text = HEAD.to_owned();
    let _ = writeln!(
        text,
        "- `{ACTIVE_PLUGIN_VARIABLE}` sets `active_plugin`; no other variable sets a key."
    );
    let mut section = "";
    for key in KEYS {
        let first = key.pattern.first().copied().unwrap_or_default();
        if first != section {
            section = first;
            let _ =
                write!(text, "\n## {section}\n\n| key | takes | default | |\n|---|---|---|---|\n");
        }
        let takes = match key.kind {
            Kind::Choice(choices) => {
                choices.iter().map(|choice| format!("`{choice}`")).collect::<Vec<_>>().join(" or ")
            }
            kind => kind.expected(),
        };
        let default = match key.default {
            "" => String::new(),
            default => format!("`{default}`"),
        };
        let _ = writeln!(
            text,
            "| `{}` | {takes} | {default} | {} |",
            key.pattern.join("."),
            key.shown_about()
        );
    }
    text
}
