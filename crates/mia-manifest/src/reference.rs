//! The reference of all keys, generated from the table.

use std::fmt::Write;

use crate::table::{Kind, SECTIONS};

/// Where the reference begins in `docs/manifest.md`; what follows is generated.
const BEGIN: &str = "<!-- Generated from the table in crates/mia-manifest/src/table.rs. -->";

/// The document with its generated part made anew: everything from the mark on.
#[must_use]
pub fn reference(document: &str) -> String {
    let taught = document.split(BEGIN).next().unwrap_or_default();
    let mut text = format!("{taught}{BEGIN}\n");
    for section in &SECTIONS {
        let _ = write!(
            text,
            "\n### {}\n\n{}\n\n| key | takes | |\n|---|---|---|\n",
            section.name, section.about
        );
        for key in section.keys {
            let needed = if key.required { " (required)" } else { "" };
            let _ =
                writeln!(text, "| `{}`{needed} | {} | {} |", key.name, takes(key.kind), key.about);
        }
    }
    text
}

fn takes(kind: Kind) -> String {
    let choices = |choices: &[&str]| {
        choices.iter().map(|choice| format!("`{choice}`")).collect::<Vec<_>>().join(", ")
    };
    match kind {
        Kind::Choice(of) => format!("one of {}", choices(of)),
        Kind::Section(section) => format!("a map: [{0}](#{0})", section.name),
        Kind::List(section) => format!("a list: [{0}](#{0})", section.name),
        Kind::ChoiceOr(of, section) => {
            format!("one of {}, or a map: [{1}](#{1})", choices(of), section.name)
        }
        // The names of variables are no emphasis.
        kind => kind.expected().replace('*', "\\*"),
    }
}
