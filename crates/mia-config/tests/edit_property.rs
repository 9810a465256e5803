//! Any valid file, any edit: nothing else changes, and nothing bad is ever written (M-40).
#![expect(clippy::unwrap_used, reason = "a test")]
#![expect(dead_code, reason = "the home is shared with other tests")]

mod home;

use std::collections::BTreeMap;
use std::fs;

use home::Home;
use mia_config::{Value, set, unset};
use proptest::prelude::*;

/// A key, and values for it as a file may hold them.
const KEYS: &[(&[&str], &[&str])] = &[
    (&["active_plugin"], &["codex", "'gemini'", "\"a.b\""]),
    (&["fallback", "plugins"], &["[codex]", "[ 'a', b ]", "[]"]),
    (&["limits", "concurrent"], &["1", "22"]),
    (&["limits", "queue"], &["3", "444"]),
    (&["plugins", "codex", "enabled"], &["true", "false"]),
    (&["plugins", "codex", "model"], &["opus", "'a: b'", "\"x # y\""]),
    (&["plugins", "codex", "timeout"], &["30m", "off", "5000"]),
    (&["plugins", "codex", "env", "A_KEY"], &["''", "1", "\"q\\\"\\n\""]),
    (&["plugins", "codex", "env", "B"], &["é", "x y"]),
    (&["plugins", "my.cli", "binary"], &["/bin/x", "~/x"]),
    (&["plugins", "my.cli", "args"], &["[--x, \"y z\"]", "[]"]),
    (&["context", "deadline"], &["2s", "1m30s"]),
    (&["memory", "extract"], &["on", "off"]),
    (&["history", "max_size"], &["2GiB", "off", "123"]),
    (&["streams", "keep_background"], &["true"]),
];

#[derive(Debug, Clone)]
enum Tree {
    Leaf(&'static str),
    Map { flow: bool, comment: bool, blank: bool, entries: BTreeMap<&'static str, Tree> },
}

/// How a file is written, drawn once for each section on the way.
#[derive(Debug, Clone)]
struct Style {
    flow: Vec<bool>,
    comment: Vec<bool>,
    step: usize,
    eol: &'static str,
    last_eol: bool,
    head: &'static str,
}

fn style() -> impl Strategy<Value = Style> {
    (
        prop::collection::vec(prop::bool::weighted(0.25), 16),
        prop::collection::vec(any::<bool>(), 16),
        1..5_usize,
        prop::sample::select(vec!["\n", "\r\n"]),
        any::<bool>(),
        prop::sample::select(vec!["", "#~ é head\n", "---\n", "\u{feff}"]),
    )
        .prop_map(|(flow, comment, step, eol, last_eol, head)| Style {
            flow,
            comment,
            step,
            eol,
            last_eol,
            head,
        })
}

type Chosen = BTreeMap<usize, prop::sample::Index>;

fn chosen() -> impl Strategy<Value = Chosen> {
    prop::collection::btree_map(0..KEYS.len(), any::<prop::sample::Index>(), 0..10)
}

fn build(chosen: &Chosen, style: &Style) -> String {
    let mut root = new_map(style, 0);
    for (key, value) in chosen {
        let (path, values) = KEYS.get(*key).unwrap();
        insert(&mut root, path, values.get(value.index(values.len())).unwrap(), style, *key);
    }
    let mut text = String::new();
    block(&root, 0, style, &mut text);
    if !style.last_eol {
        text.truncate(text.trim_end_matches('\n').len());
    }
    format!("{}{text}", style.head).replace('\n', style.eol)
}

fn new_map(style: &Style, seed: usize) -> Tree {
    Tree::Map {
        flow: seed > 0 && *style.flow.get(seed % 16).unwrap(),
        comment: *style.comment.get(seed % 16).unwrap(),
        blank: *style.comment.get((seed + 5) % 16).unwrap(),
        entries: BTreeMap::new(),
    }
}

fn insert(tree: &mut Tree, path: &[&'static str], value: &'static str, style: &Style, seed: usize) {
    let Tree::Map { entries, .. } = tree else { unreachable!() };
    let (first, rest) = path.split_first().unwrap();
    if rest.is_empty() {
        entries.insert(first, Tree::Leaf(value));
    } else {
        let next = entries.entry(first).or_insert_with(|| new_map(style, seed + rest.len()));
        insert(next, rest, value, style, seed);
    }
}

fn block(tree: &Tree, indent: usize, style: &Style, out: &mut String) {
    let Tree::Map { entries, comment, blank, .. } = tree else { unreachable!() };
    let margin = " ".repeat(indent);
    for (name, below) in entries {
        if *comment {
            out.push_str(&format!("{margin}#~ about {name}\n"));
        }
        match below {
            Tree::Map { flow: false, .. } => {
                out.push_str(&format!("{margin}{name}: #~ here\n"));
                block(below, indent + style.step, style, out);
            }
            _ => out.push_str(&format!("{margin}{name}: {} #~ of {name}\n", flow(below))),
        }
        if *blank {
            out.push('\n');
        }
    }
    if *comment && indent > 0 {
        out.push_str(&format!("{margin}#~ last: here\n"));
    }
}

fn flow(tree: &Tree) -> String {
    match tree {
        Tree::Leaf(value) => (*value).to_owned(),
        Tree::Map { entries, .. } => {
            let pairs: Vec<_> =
                entries.iter().map(|(name, below)| format!("{name}: {}", flow(below))).collect();
            format!("{{{}}}", pairs.join(", "))
        }
    }
}

/// Every value that the file sets, through the public way.
fn values(home: &Home) -> BTreeMap<String, Value> {
    let loaded = home.load().unwrap();
    let shown = loaded.explain(&[]).into_iter();
    shown
        .filter(|setting| setting.origin != mia_config::Origin::Default)
        .map(|setting| (setting.key, setting.value))
        .collect()
}

fn dotted(path: &[&str]) -> String {
    let quoted = |segment: &&str| {
        if segment.contains('.') { format!("\"{segment}\"") } else { (*segment).to_owned() }
    };
    path.iter().map(quoted).collect::<Vec<_>>().join(".")
}

fn comments(text: &str) -> Vec<String> {
    text.lines().filter_map(|line| line.split_once("#~")).map(|(_, text)| text.into()).collect()
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config(150))]

    #[test]
    fn m_040_set_and_unset_change_one_value(
        chosen in chosen(),
        style in style(),
        key in 0..KEYS.len(),
        value in any::<prop::sample::Index>(),
    ) {
        let text = build(&chosen, &style);
        let home = Home::with(&text);
        let before = values(&home);
        let (path, candidates) = KEYS.get(key).unwrap();
        let name = dotted(path);

        let given = candidates.get(value.index(candidates.len())).unwrap();
        set(&home.paths.config_file, &name, given).unwrap();
        let new_text = home.text();
        let mut after = values(&home);
        prop_assert!(after.contains_key(&name), "{}\n→\n{}", text, new_text);
        prop_assert_eq!(comments(&text), comments(&new_text));
        if text.contains('\n') {
            let bare = new_text.replace(style.eol, "");
            prop_assert!(!bare.contains(['\r', '\n']), "{:?}", new_text);
        }
        let expected = after.remove(&name);
        let mut rest = before.clone();
        rest.remove(&name);
        prop_assert_eq!(&rest, &after, "{}\n→\n{}", text, &new_text);

        let again = set(&home.paths.config_file, &name, given).unwrap();
        prop_assert!(!again.changed);
        unset(&home.paths.config_file, &name).unwrap();
        prop_assert_eq!(&rest, &values(&home));
        set(&home.paths.config_file, &name, given).unwrap();
        prop_assert_eq!(values(&home).remove(&name), expected);
    }

}

proptest! {
    // Each is some hundreds of edits, and each edit waits for the disk.
    #![proptest_config(config(8))]

    #[test]
    fn m_040_a_torn_file_is_never_made_worse(
        chosen in chosen(),
        style in style(),
        key in 0..KEYS.len(),
    ) {
        let text = build(&chosen, &style);
        let (path, candidates) = KEYS.get(key).unwrap();
        let home = Home::empty();
        for cut in 0..text.len() {
            let torn = text.as_bytes().get(..cut).unwrap();
            fs::write(&home.paths.config_file, torn).unwrap();
            let valid = home.load().is_ok();
            match set(&home.paths.config_file, &dotted(path), candidates.first().unwrap()) {
                Ok(_) => prop_assert!(valid && home.load().is_ok()),
                Err(_) => prop_assert_eq!(fs::read(&home.paths.config_file).unwrap(), torn),
            }
        }
    }

}

proptest! {
    #![proptest_config(config(500))]

    #[test]
    fn any_text_is_read_without_a_panic(text in "[a-z:\\-{}\\[\\],#&*!|>'\"% \t\r\né~?@`]{0,60}") {
        let home = Home::with(&text);
        let valid = home.load().is_ok();
        for (key, value) in [("limits.queue", "5"), ("plugins.x.model", "a")] {
            match set(&home.paths.config_file, key, value) {
                Ok(_) => prop_assert!(valid && home.load().is_ok()),
                Err(_) => prop_assert_eq!(home.text(), text.clone()),
            }
        }
    }
}
