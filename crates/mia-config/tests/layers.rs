//! Defaults, file, environment, command line; and what is said about them.
#![expect(clippy::unwrap_used, reason = "a test")]
#![expect(dead_code, reason = "the home is shared with other tests")]

mod home;

use std::time::Duration;

use home::Home;
use mia_config::{Found, LiveConfig, Origin, PluginSettings, Value};
use pretty_assertions::assert_eq;

const FILE: &str = "\
active_plugin: codex
plugins:
  codex: { model: a, timeout: 1h, env: { API_KEY: hunter2, LANG: C } }
  my.cli: { binary: /bin/my }
prices: { gpt-4.1: { input: 3, output: 15 } }
limits: { queue: 5 }
";

#[test]
fn each_layer_wins_over_the_one_before() {
    let home = Home::with(FILE);
    let active = |loaded: mia_config::Loaded| loaded.config.active_plugin;
    let vars = [("MIA_ACTIVE_PLUGIN", "gemini")];
    let flag = [("--plugin", "active_plugin", "qwen")];
    assert_eq!(active(home.load().unwrap()).as_deref(), Some("codex"));
    assert_eq!(active(home.load_with(&vars, &[]).unwrap()).as_deref(), Some("gemini"));
    assert_eq!(active(home.load_with(&vars, &flag).unwrap()).as_deref(), Some("qwen"));
    let empty = [("MIA_ACTIVE_PLUGIN", "")];
    assert_eq!(active(home.load_with(&empty, &[]).unwrap()).as_deref(), Some("codex"));
    assert_eq!(home.text(), FILE, "loading writes nothing");
}

#[test]
fn layers_merge_deeply() {
    let home = Home::with(FILE);
    let loaded = home
        .load_with(
            &[],
            &[
                ("--model", "plugins.codex.model", "b: #1"),
                ("--set", "plugins.codex", "{stallTimeout: 5s, env: {LANG: D}}"),
                ("--set", "prices.\"gpt-4.1\".cache_read", "0.3"),
            ],
        )
        .unwrap();
    let codex = loaded.config.plugin("codex");
    assert_eq!(codex.model.as_deref(), Some("b: #1"));
    assert_eq!(codex.timeout, Some(Duration::from_secs(3600)));
    assert_eq!(codex.stall_timeout, Some(Duration::from_secs(5)));
    assert_eq!(codex.env.values().collect::<Vec<_>>(), ["hunter2", "D"]);
    assert_eq!(loaded.config.prices.get("gpt-4.1").unwrap().cache_read, Some(0.3));
}

#[test]
fn mistakes_of_every_layer_are_named() {
    let home = Home::with("limits: { queue: none }\n");
    let error = home
        .load_with(
            &[("MIA_ACTIVE_PLUGIN", "no such name")],
            &[
                ("--timeout", "plugins.codex.timeout", "soon"),
                ("--set", "plugin.codex.model", "x"),
                ("--set", "plugins.my.cli.model", "x"),
                ("--set", "prices.m.input", "1"),
                ("--set", "limits", "3"),
                ("--set", "limits", ""),
                ("--set", "limits..queue", "3"),
                ("--set", "limits.queue.x", "3"),
                ("--set", "limits.queue", "[3"),
            ],
        )
        .unwrap_err();
    let folder = format!("{}/", home.folder.path().display());
    insta::assert_snapshot!(error.to_string().replace(&folder, ""));
    // Incomplete prices are looked for once all else is right.
    let error = Home::empty().load_with(&[], &[("--set", "prices.m.input", "1")]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "--set: the price of \"m\" has no \"output\" (give both input and output, per million tokens)"
    );
}

#[test]
fn an_adapters_own_defaults_lie_below_the_file() {
    let home = Home::with("plugins: { x: { timeout: 9s } }\n");
    let base = PluginSettings {
        stall_timeout: None,
        timeout: Some(Duration::from_secs(1)),
        ..PluginSettings::named("x")
    };
    let settings = home.load().unwrap().plugin_over(base);
    assert_eq!(settings.stall_timeout, None);
    assert_eq!(settings.timeout, Some(Duration::from_secs(9)));
}

#[test]
fn everything_is_explained() {
    let home = Home::with(FILE);
    let loaded = home
        .load_with(&[("MIA_ACTIVE_PLUGIN", "gemini")], &[("--queue", "limits.queue", "7")])
        .unwrap();
    let folder = format!("{}/", home.folder.path().display());
    let lines: Vec<_> = loaded
        .explain(&["claude-code"])
        .iter()
        .map(|setting| format!("{} = {}  [{}]", setting.key, setting.value, setting.origin))
        .collect();
    insta::assert_snapshot!(lines.join("\n").replace(&folder, ""));
    let json = serde_json::to_value(loaded.explain(&[]).first().unwrap()).unwrap();
    let about = json.get("about").unwrap().as_str().unwrap().to_owned();
    assert_eq!(
        json,
        serde_json::json!({
            "key": "active_plugin",
            "value": "gemini",
            "origin": {"kind": "environment", "variable": "MIA_ACTIVE_PLUGIN"},
            "about": about,
        })
    );
    let unused = loaded.get("memory.mcp").unwrap();
    let Found::Value(unused) = unused else {
        panic!("a value");
    };
    assert!(unused.about.ends_with(" (not in use yet)"), "{}", unused.about);
    assert!(!about.contains("not in use"), "{about}");
}

#[test]
fn one_key_is_got_in_any_spelling() {
    let loaded = Home::with(FILE).load().unwrap();
    let value = |key: &str| match loaded.get(key).unwrap() {
        Found::Value(setting) => (setting.key, setting.value),
        Found::Section(settings) => panic!("{settings:?}"),
    };
    let hour = Value::Duration(Some(Duration::from_secs(3600)));
    assert_eq!(value("plugins.codex.timeoutMs"), ("plugins.codex.timeout".into(), hour));
    assert_eq!(value("plugins.\"my.cli\".binary").1.to_string(), "/bin/my");
    assert_eq!(value("plugins.codex.env.API_KEY").1.to_string(), "hunter2");
    assert_eq!(value("plugins.unheard-of.max_concurrency").1, Value::Count(4));
    assert_eq!(value("plugins.codex.api_url").1, Value::Unset);
    let Found::Section(env) = loaded.get("plugins.codex.env").unwrap() else {
        panic!("a section");
    };
    assert_eq!(env.len(), 2);
    let Found::Section(plugin) = loaded.get("plugins.new").unwrap() else {
        panic!("a section");
    };
    assert!(plugin.iter().all(|setting| setting.origin == Origin::Default));
    assert_eq!(plugin.len(), 11);
    for (wrong, near) in [
        ("limits.queu", "did you mean \"queue\"?"),
        ("limit.queue", "did you mean \"limits\"?"),
        ("plugins.my.cli.model", "plugins.\"my.cli\".model"),
        ("prices.gpt-4.1.input", "prices.\"gpt-4.1\".input"),
        ("plugins.codex.name", "another key"),
        ("queue", "limits.queue"),
        ("", "dotted key"),
    ] {
        let error = loaded.get(wrong).unwrap_err().to_string();
        assert!(error.contains(near), "{wrong}: {error}");
    }
}

#[test]
fn m_040_the_last_good_one_is_kept() {
    let home = Home::with("limits: { queue: 3 }\n");
    let mut live = LiveConfig::open(home.paths.clone(), &|_| None, Vec::new()).unwrap();
    let queue = |live: &LiveConfig| live.current().config.limits.queue;
    assert!(!live.refresh(&|_| None).unwrap());
    std::fs::write(&home.paths.config_file, "limits: { queue: \n").unwrap();
    let error = live.refresh(&|_| None).unwrap_err();
    assert!(matches!(error.list().first().unwrap().origin, Origin::File { .. }));
    assert_eq!(queue(&live), 3);
    assert!(!live.refresh(&|_| None).unwrap(), "reported once");
    std::fs::write(&home.paths.config_file, "limits: { queue: 44 }\n").unwrap();
    assert!(live.refresh(&|_| None).unwrap());
    assert_eq!(queue(&live), 44);
    std::fs::remove_file(&home.paths.config_file).unwrap();
    assert!(live.refresh(&|_| None).unwrap());
    assert_eq!(queue(&live), 10);
}

#[test]
fn the_reference_has_every_key() {
    let reference = mia_config::reference();
    for setting in Home::empty().load().unwrap().explain(&["NAME"]) {
        assert!(reference.contains(&format!("`{}`", setting.key)), "{}", setting.key);
    }
    insta::assert_snapshot!(reference);
}
