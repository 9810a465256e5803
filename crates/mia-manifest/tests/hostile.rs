//! Whatever a file or an agent holds: no panic, and a bound.
#![expect(clippy::unwrap_used, reason = "a test")]

use std::path::Path;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use mia_manifest::{Manifest, ManifestAdapter, Replay};
use mia_plugin::{CliAdapter as _, Exit, Out};
use proptest::prelude::*;
use tempfile::TempDir;

/// A manifest that uses all there is.
const ALL: &str = include_str!("manifests/all.yaml");

fn all() -> Manifest {
    static PARSED: LazyLock<Manifest> = LazyLock::new(|| parse(ALL).unwrap());
    PARSED.clone()
}

fn parse(text: &str) -> Result<Manifest, mia_config::ConfigErrors> {
    Manifest::parse(Path::new("x.yaml"), text)
}

#[test]
fn the_manifest_that_uses_all_is_right() {
    parse(ALL).unwrap();
}

/// JSON with the names that the manifest looks for.
fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<f64>().prop_map(Into::into),
        ".{0,8}".prop_map(serde_json::Value::from),
        prop::sample::select(vec!["text", "tool", "end", "error", "list", "usage", "s-1"])
            .prop_map(serde_json::Value::from),
    ];
    let names = prop::sample::select(vec![
        "type", "id", "text", "parts", "name", "input", "output", "n", "cost", "by", "m", "status",
    ]);
    leaf.prop_recursive(4, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(serde_json::Value::from),
            prop::collection::vec((names.clone(), inner), 0..8).prop_map(|members| {
                members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
            }),
        ]
    })
}

proptest! {
    #[test]
    fn any_bytes_are_a_manifest_or_a_mistake(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let folder = TempDir::new().unwrap();
        let file = folder.path().join("x.yaml");
        std::fs::write(&file, bytes).unwrap();
        let _ = Manifest::read(&file).map_err(|mistakes| mistakes.to_string());
    }

    #[test]
    fn a_manifest_cut_and_spliced_anywhere_is_a_manifest_or_a_mistake(
        from in 0..ALL.len(),
        length in 0_usize..60,
        put in "[-a-z{}\\[\\]:*&!\"' \n.$]{0,12}",
    ) {
        let mut text = ALL.as_bytes().to_vec();
        let end = (from + length).min(text.len());
        text.splice(from..end, put.bytes());
        if let Err(mistakes) = parse(&String::from_utf8_lossy(&text)) {
            prop_assert!(!mistakes.list().is_empty());
            for mistake in mistakes.list() {
                let snippet = mistake.snippet.as_ref().unwrap();
                prop_assert!(snippet.text.is_char_boundary(snippet.offset), "{mistake}");
            }
        }
    }

    #[test]
    fn any_line_is_read(lines in prop::collection::vec(json(), 1..20), stderr in ".{0,40}", code in any::<i32>()) {
        let mut adapter = ManifestAdapter::new(all());
        let mut out = Out::new("x");
        for line in &lines {
            let _ = adapter.parse_output(&line.to_string(), &mut out);
        }
        adapter.on_exit(&Exit { code: Some(code), signal: None, stderr: &stderr }, &mut out);
        let mut replay = Replay::new(all());
        for line in &lines {
            replay.read(format!("{line}\n").as_bytes());
        }
        let replayed = replay.finish("t".parse().unwrap(), "c".parse().unwrap());
        prop_assert_eq!(replayed.lines, lines.len() as u64);
    }

    #[test]
    fn any_text_is_read(line in ".{0,200}") {
        let mut adapter = ManifestAdapter::new(all());
        let _ = adapter.parse_output(&line, &mut Out::new("x"));
    }
}

/// Fails when it takes longer than a person would wait.
fn refused_soon(text: &str) -> String {
    let began = Instant::now();
    let mistakes = parse(text).unwrap_err().to_string();
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    mistakes
}

#[test]
fn what_is_too_much_is_refused() {
    let mut bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for (name, of) in ('b'..='j').zip('a'..) {
        bomb.push_str(&format!(
            "{name}: &{name} [*{of}, *{of}, *{of}, *{of}, *{of}, *{of}, *{of}]\n"
        ));
    }
    assert!(refused_soon(&bomb).contains("more than 20000 values"));
    refused_soon(&format!("events: {}", "[".repeat(100_000)));
    refused_soon(&"events:\n - each: a\n   ".repeat(30_000));
    let many = "- when: {t: x}\n    text: x\n  ".repeat(5_000);
    assert!(refused_soon(&format!("events:\n  {many}")).contains("more than 20000 values"));
    // All that fits is checked against all before it.
    let mut rules = String::new();
    for n in 0..500 {
        rules.push_str(&format!("  - when: {{t: x{n}, u: y}}\n    text: x\n"));
    }
    assert!(refused_soon(&format!("events:\n{rules}")).contains("nothing says when"));
    rules.push_str("  - when: {t: last}\n    text: x\n");
    assert!(refused_soon(&format!("events:\n{rules}")).contains("more than 500 rules"));
    let conditions: String = (0..51).map(|n| format!("x{n}: 1, ")).collect();
    let rule = format!("events:\n - when: {{{conditions}}}\n   text: x\n");
    assert!(refused_soon(&rule).contains("more than 50 conditions"));
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("x.yaml");
    std::fs::write(&file, " ".repeat(1024 * 1024 + 1)).unwrap();
    assert!(Manifest::read(&file).unwrap_err().to_string().contains("larger than 1 MiB"));
}

#[test]
fn a_huge_or_deep_line_costs_what_it_has() {
    let began = Instant::now();
    let mut adapter = ManifestAdapter::new(all());
    let mut out = Out::new("x");
    let deep =
        format!("{{\"type\":\"text\",\"text\":{}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(adapter.parse_output(&deep, &mut out).is_err());
    let wide =
        format!("{{\"type\":\"list\",\"parts\":[{}1]}}", "{\"type\":\"text\"},".repeat(200_000));
    assert!(adapter.parse_output(&wide, &mut out).is_ok());
    let long = format!("{{\"type\":\"text\",\"text\":\"{}\"}}", "x".repeat(9 << 20));
    assert!(adapter.parse_output(&long, &mut out).is_ok());
    assert_eq!(out.content().len(), 9 << 20);
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
}
