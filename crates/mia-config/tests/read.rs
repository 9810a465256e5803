//! Reading `config.yaml` (M-02, M-40).
#![expect(clippy::unwrap_used, reason = "a test")]
#![expect(dead_code, reason = "the home is shared with other tests")]

mod home;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use home::Home;
use mia_config::{
    AfterOutput, Config, ContextLimits, Extract, Fallback, History, Inherit, Limits, Memory,
    Origin, PluginSettings, Price, Streams,
};
use pretty_assertions::assert_eq;

const EVERY_KEY: &str = r#"
active_plugin: claude-code
fallback: { plugins: [codex, gemini], after_output: restart }
limits: { concurrent: 3, queue: 5 }
plugins:
  claude-code:
    name: claude-code
    enabled: false
    binary: ~/bin/claude
    model: opus
    max_concurrency: 2
    timeout: off
    stall_timeout: 1m30s
    tool_timeout: 5000
    args: [--verbose, "5"]
    env: { A: 1, B: "", C: true }
    pass_env: [MY_TOKEN]
    inherit: minimal
    api_url: https://example.com/v1
  empty:
context: { budget_tokens: 100, deadline: 500ms }
memory: { extract: on, mcp: true }
history: { keep: off, max_size: 64KiB }
prices: { gpt-4.1: { input: 3.0, output: 15, cache_read: 0.3, cache_write: 0 } }
streams: { max_line: 1MiB, stderr_tail: 1024, keep_background: true }
"#;

#[test]
fn m_002_every_key() {
    let loaded = Home::with(EVERY_KEY).load().unwrap();
    let text = |text: &str| text.to_owned();
    let claude = PluginSettings {
        name: "claude-code".into(),
        enabled: false,
        binary: Some("/home/someone/bin/claude".into()),
        model: Some("opus".into()),
        max_concurrency: 2,
        timeout: None,
        stall_timeout: Some(Duration::from_secs(90)),
        tool_timeout: Some(Duration::from_secs(5)),
        args: vec!["--verbose".into(), "5".into()],
        env: BTreeMap::from([
            ("A".into(), text("1")),
            ("B".into(), text("")),
            ("C".into(), text("true")),
        ]),
        pass_env: vec!["MY_TOKEN".into()],
        inherit: Inherit::Minimal,
        api_url: Some("https://example.com/v1".into()),
    };
    let price = Price { input: 3.0, output: 15.0, cache_read: Some(0.3), cache_write: Some(0.0) };
    let expected = Config {
        active_plugin: Some("claude-code".into()),
        fallback: Fallback {
            plugins: vec!["codex".into(), "gemini".into()],
            after_output: AfterOutput::Restart,
        },
        limits: Limits { concurrent: 3, queue: 5 },
        plugins: BTreeMap::from([
            ("claude-code".into(), claude),
            ("empty".into(), PluginSettings::named("empty")),
        ]),
        context: ContextLimits { budget_tokens: 100, deadline: Duration::from_millis(500) },
        memory: Memory { extract: Extract::On, mcp: true },
        history: History { keep: None, max_size: Some(65_536) },
        prices: BTreeMap::from([("gpt-4.1".into(), price)]),
        streams: Streams { max_line: 1 << 20, stderr_tail: 1024, keep_background: true },
    };
    assert_eq!(loaded.config, expected);
}

#[test]
fn no_file_and_empty_files_are_the_defaults() {
    let defaults = Home::empty().load().unwrap().config;
    assert_eq!(defaults, Config::default());
    assert_eq!(defaults.plugin("any"), PluginSettings::named("any"));
    for text in ["", "\n", "# only a comment\n", "---\n", "---\n...\n", "{}", "\u{feff}", "~\n"] {
        assert_eq!(Home::with(text).load().unwrap().config, defaults, "{text:?}");
    }
}

#[test]
fn m_002_the_pages_names() {
    let page = "plugins: {x: {name: x, maxConcurrency: 2, timeoutMs: 9000, toolTimeout: 1m}}\n";
    let ours = "plugins: {x: {max_concurrency: 2, timeout: 9s, tool_timeout_ms: 60000}}\n";
    assert_eq!(Home::with(page).load().unwrap().config, Home::with(ours).load().unwrap().config);
}

#[test]
fn m_002_every_mistake_at_once_with_its_place() {
    let home = Home::with(
        "\
active_plugin: true
plugins:
  claude-code:
    stal_timeout: 2m
    maxConcurrency: 4
    max_concurrency: 4
    timeout: 0
    model:
    env: [A=1]
    args: --verbose
    binary: bin/claude
    inherit: minimun
    pass_env: [OK, A=1]
  'bad name': {}
  codex: { name: gemini, timeout_ms: 30m, tool_timeout: -5, stall_timeout: .nan }
limits: { concurrent: \"8\", queue: 0, cocnurrent: 8 }
limitz: {}
timeout: 3h
memory: { mcp: yes, extract: false }
history: { keep: 99999999d, max_size: 1.5GiB }
context: { deadline: off, budget_tokens: 1e3, budget_tokens_ms: 3 }
prices: { m: { input: -1, output: .inf }, n: { input: 1 } }
streams: [max_line]
fallback: { plugins: codex, after_output: fail, after_output: fail }
",
    );
    insta::assert_snapshot!(home.mistakes());
}

#[test]
fn m_002_durations_refused() {
    for wrong in [
        "0",
        "0s",
        "-1",
        "-1h",
        ".nan",
        ".inf",
        "1e9",
        "1.5h",
        "99999999999999999999",
        "31d",
        "\"\"",
        "soon",
        "[1h]",
        "{h: 1}",
        "",
        "~",
        "true",
        "1h 30m",
        "Off",
        "30 m",
    ] {
        let home = Home::with(format!("plugins:\n  x:\n    timeout: {wrong}\n"));
        let text = home.mistakes();
        assert!(text.starts_with("config.yaml:3:"), "{wrong}: {text}");
    }
}

#[test]
fn m_040_what_is_not_one_yaml_document() {
    let cases: &[(&str, &[u8])] = &[
        ("tab", b"limits:\n\tqueue: 3\n"),
        ("indentation", b"plugins:\n  x:\n    model: opus\n   timeout: 3\n"),
        ("open quote", b"active_plugin: \"codex\n"),
        ("open brace", b"limits: { queue: 3\n"),
        ("two documents", b"limits: {}\n---\nlimits: {}\n"),
        ("duplicate", b"limits: {queue: 1}\nmemory: {}\nlimits: {queue: 2}\n"),
        ("tag", b"active_plugin: !!str codex\n"),
        ("merge", b"limits: &a {queue: 1}\nfallback:\n  <<: *a\n"),
        ("unknown alias", b"active_plugin: *nobody\n"),
        ("self alias", b"limits: &a\n  queue: *a\n"),
        ("key is a map", b"? {a: b}\n: c\n"),
        ("nul", b"active_plugin: co\0dex\n"),
        ("not utf-8", b"limits: {}\n# caf\xe9\n"),
        ("a list", b"- a\n"),
        ("a text", b"hello\n"),
    ];
    let mut all = String::new();
    for (name, bytes) in cases {
        all.push_str(&format!("{name}\n{}\n\n", Home::with(bytes).mistakes()));
    }
    insta::assert_snapshot!(all);
}

#[test]
fn aliases_are_read_at_their_place() {
    let home = Home::with("plugins:\n  a: &a {model: m, timeout: 5s}\n  b: *a\n");
    let config = home.load().unwrap().config;
    assert_eq!(config.plugin("b").timeout, Some(Duration::from_secs(5)));
    let home = Home::with("plugins:\n  a: {model: &m 5m}\n  b: {timeout: *m, mcp: *m}\n");
    assert_eq!(home.mistakes().lines().count(), 1);
}

#[test]
fn hostile_files_are_refused_at_once() {
    let mut bomb = String::from("a: &a [x, x, x, x, x, x, x, x, x, x]\n");
    for (name, of) in [("b", "a"), ("c", "b"), ("d", "c"), ("e", "d"), ("f", "e"), ("g", "f")] {
        bomb.push_str(&format!("{name}: &{name} [{}]\n", vec![format!("*{of}"); 10].join(", ")));
    }
    let chain: String = (1..2000).map(|n| format!("k{n}: &k{n} [*k{}]\n", n - 1)).collect();
    let hostile = [
        bomb,
        format!("k0: &k0 x\n{chain}"),
        "[".repeat(100_000),
        "{a: ".repeat(100_000),
        "- ".repeat(100_000),
        "a: ".repeat(100_000),
        "? ".repeat(100_000),
        "x\n".repeat(100_000),
        "#\n".repeat(500_000) + "a",
        "a".repeat(1_000_000),
        format!("{{{}}}", "a: b, ".repeat(100_000)),
        "&a ".repeat(100_000),
        "\"".repeat(99_999),
        format!("a: &a [{}]\nb: [{}]\n", "x, ".repeat(5000), "*a, ".repeat(15_000)),
    ];
    for text in hostile {
        let start = Instant::now();
        let error = Home::with(&text).load().unwrap_err();
        assert!(!error.list().is_empty());
        assert!(start.elapsed() < Duration::from_secs(5), "{}", text.get(..20).unwrap());
    }
}

#[test]
fn the_limits_of_a_file_are_named() {
    let at = |text: &str, end: &str| {
        let mistakes = Home::with(text).mistakes();
        assert!(mistakes.contains(end), "{mistakes}");
    };
    at(&"#".repeat(1024 * 1024 + 1), "config.yaml: is larger than 1 MiB");
    at(&format!("{}{}", "[".repeat(40), "]".repeat(40)), ":33: is not YAML: ");
    at(&format!("a: [{}]", "x,".repeat(20_001)), "has more than 20000 values");
    assert!(Home::with("#".repeat(1024 * 1024)).load().is_ok());
}

#[test]
fn a_byte_order_mark_takes_no_column() {
    assert!(Home::with("\u{feff}limits: 3\n").mistakes().starts_with("config.yaml:1:9: "));
}

#[test]
fn a_file_that_cannot_be_read_is_an_error() {
    let home = Home::empty();
    fs::create_dir(&home.paths.config_file).unwrap();
    assert_eq!(home.mistakes(), "config.yaml: cannot be read: it is not a regular file");
    fs::remove_dir(&home.paths.config_file).unwrap();
    symlink("nowhere", &home.paths.config_file).unwrap();
    assert_eq!(home.mistakes(), "config.yaml: cannot be read: it is a symbolic link to nothing");
}

#[test]
fn m_040_a_file_cut_anywhere_never_panics() {
    let text = format!("# é\n{EVERY_KEY}");
    for cut in 0..text.len() {
        let _ = Home::with(text.as_bytes().get(..cut).unwrap()).load();
    }
}

#[test]
fn places_count_characters_and_snippets_bytes() {
    let home = Home::with("\u{feff}# é\r\nlimits: { queue: 1 } # ü\r\n'é': 1, \r\n");
    let error = home.load().unwrap_err();
    let error = error.list().first().unwrap();
    let path = home.paths.config_file.clone();
    assert_eq!(error.origin, Origin::File { path, line: 3, column: 1 });
    let snippet = error.snippet.clone().unwrap();
    let end = snippet.offset + snippet.length;
    assert_eq!(snippet.text.get(snippet.offset..end), Some("'é'"));
}

#[test]
fn a_secret_is_not_in_a_debug_print() {
    let home = Home::with("plugins: {x: {env: {A: hunter2}}}\n");
    let loaded = home.load().unwrap();
    assert!(!format!("{:?}", loaded.config).contains("hunter2"));
    assert!(!format!("{loaded:?}").contains("hunter2"));
}
