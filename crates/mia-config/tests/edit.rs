//! Editing `config.yaml` in place (M-40).
#![expect(clippy::unwrap_used, reason = "a test")]
#![expect(dead_code, reason = "the home is shared with other tests")]

mod home;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use home::Home;
use mia_config::{EditError, set, unset};
use pretty_assertions::assert_eq;

/// Sets or (with no value) unsets a key of a text, and gives the new text.
fn edited(text: &str, key: &str, value: Option<&str>) -> Result<String, EditError> {
    let home = Home::with(text);
    let result = match value {
        Some(value) => set(&home.paths.config_file, key, value),
        None => unset(&home.paths.config_file, key),
    };
    let edited = match result {
        Ok(edited) => edited,
        Err(error) => {
            assert_eq!(home.text(), text, "the file is as it was");
            return Err(error);
        }
    };
    assert_eq!(edited.changed, home.text() != text);
    let entries = fs::read_dir(home.folder.path()).unwrap().count();
    assert_eq!(entries, 1, "nothing but the file is left");
    Ok(home.text())
}

fn assert_set(text: &str, key: &str, value: &str, expected: &str) {
    assert_eq!(edited(text, key, Some(value)).unwrap(), expected, "set {key} {value}");
}

fn assert_unset(text: &str, key: &str, expected: &str) {
    assert_eq!(edited(text, key, None).unwrap(), expected, "unset {key}");
}

#[test]
fn m_040_a_value_is_replaced_in_its_place() {
    let file = "# top\nlimits:\n    queue:   5   # why five\n    concurrent: 2\n\n# end\n";
    assert_set(file, "limits.queue", "7", &file.replace("5 ", "7 "));
    assert_set(
        "limits: {queue: 5, concurrent: 2} # x",
        "limits.queue",
        "7",
        "limits: {queue: 7, concurrent: 2} # x",
    );
    assert_set(
        "{\"limits\": {\"queue\": 5}}\n",
        "limits.queue",
        "7",
        "{\"limits\": {\"queue\": 7}}\n",
    );
    assert_set(
        "plugins: {x: {model: 'a b'}}\n",
        "plugins.x.model",
        "c: d",
        "plugins: {x: {model: \"c: d\"}}\n",
    );
    assert_set(
        "plugins:\n  x:\n    model:\n      opus\n",
        "plugins.x.model",
        "sonnet",
        "plugins:\n  x:\n    model:\n      sonnet\n",
    );
    assert_set("limits:\t{queue:\t5}\n", "limits.queue", "6", "limits:\t{queue:\t6}\n");
}

#[test]
fn m_040_other_spellings_of_a_key_are_the_same_key() {
    assert_set(
        "plugins: {x: {maxConcurrency: 2}}\n",
        "plugins.x.max_concurrency",
        "3",
        "plugins: {x: {maxConcurrency: 3}}\n",
    );
    assert_set(
        "plugins: {x: {timeoutMs: 2000}} # é\n",
        "plugins.x.timeout",
        "3m",
        "plugins: {x: {timeout: 3m}} # é\n",
    );
    assert_set("limits: {'queue': 2}\n", "limits.queue", "3", "limits: {'queue': 3}\n");
    assert_set(
        "plugins: {\"my.cli\": {model: a}}\n",
        "plugins.\"my.cli\".model",
        "b",
        "plugins: {\"my.cli\": {model: b}}\n",
    );
}

#[test]
fn m_040_a_key_is_added_where_it_belongs() {
    assert_set(
        "limits:\n  queue: 5 # five\n  # concurrent: 8\n\n# history\nhistory:\n  keep: 1d\n",
        "limits.concurrent",
        "2",
        "limits:\n  queue: 5 # five\n  # concurrent: 8\n  concurrent: 2\n\n# history\nhistory:\n  keep: 1d\n",
    );
    assert_set(
        "limits:\n    queue: 5",
        "plugins.x.model",
        "a",
        "limits:\n    queue: 5\nplugins:\n    x:\n        model: a",
    );
    assert_set(
        "limits: { queue: 5 }\n",
        "limits.concurrent",
        "2",
        "limits: { queue: 5, concurrent: 2 }\n",
    );
    assert_set(
        "limits: {\n  queue: 5, # five\n}\n",
        "limits.concurrent",
        "2",
        "limits: {\n  queue: 5, concurrent: 2, # five\n}\n",
    );
    assert_set("limits: {}\n", "limits.concurrent", "2", "limits: { concurrent: 2 }\n");
    assert_set(
        "{limits: {queue: 5}}",
        "plugins.x.model",
        "a",
        "{limits: {queue: 5}, plugins: { x: { model: a } }}",
    );
    assert_set(
        "plugins:\n  x:\n    model: a\n",
        "plugins.\"my.cli\".env.A_B",
        "1",
        "plugins:\n  x:\n    model: a\n  my.cli:\n    env:\n      A_B: \"1\"\n",
    );
}

#[test]
fn m_040_a_comment_stays_with_what_follows_it() {
    assert_set(
        "limits: { queue: 5 }\n# about the end\n",
        "active_plugin",
        "codex",
        "limits: { queue: 5 }\nactive_plugin: codex\n# about the end\n",
    );
}

#[test]
fn m_040_a_key_is_added_to_an_empty_section() {
    assert_set(
        "limits: # none yet\n# next\nmemory:\n",
        "limits.queue",
        "5",
        "limits: # none yet\n  queue: 5\n# next\nmemory:\n",
    );
    assert_set("plugins:\n  x:\n", "plugins.x.model", "a", "plugins:\n  x:\n    model: a\n");
    assert_set("limits: ~ # x\n", "limits.queue", "5", "limits: { queue: 5 } # x\n");
    assert_set("{limits: }\n", "limits.queue", "5", "{limits: { queue: 5 } }\n");
    assert_set("{limits}\n", "limits.queue", "5", "{limits: { queue: 5 }}\n");
}

#[test]
fn m_040_a_key_is_added_to_a_file_without_any() {
    let line = "active_plugin: codex\n";
    for (text, expected) in [
        ("", line.to_owned()),
        ("# hello", format!("# hello\n{line}")),
        ("# hello\n\n", format!("# hello\n\n{line}")),
        ("---\n", format!("---\n{line}")),
        ("---\n# hello\n", format!("---\n# hello\n{line}")),
        ("\u{feff}", format!("\u{feff}{line}")),
        ("{}", "{ active_plugin: codex }".to_owned()),
        ("# a\r\n", "# a\r\nactive_plugin: codex\r\n".to_owned()),
    ] {
        assert_set(text, "active_plugin", "codex", &expected);
    }
}

#[test]
fn m_040_line_ends_and_document_marks_are_kept() {
    assert_set(
        "\u{feff}limits:\r\n  queue: 5\r\nmemory: {}\r\n",
        "limits.concurrent",
        "2",
        "\u{feff}limits:\r\n  queue: 5\r\n  concurrent: 2\r\nmemory: {}\r\n",
    );
    assert_set(
        "---\nlimits: {queue: 5}\n...\n",
        "active_plugin",
        "codex",
        "---\nlimits: {queue: 5}\nactive_plugin: codex\n...\n",
    );
}

#[test]
fn m_040_lists_and_long_texts_are_replaced_whole() {
    assert_set(
        "fallback:\n  plugins: # try\n  - codex\n  - gemini # last\n\n  after_output: fail\n",
        "fallback.plugins",
        "[qwen]",
        "fallback:\n  plugins: [qwen] # try\n\n  after_output: fail\n",
    );
    assert_set(
        "plugins: {x: {args: [a,\n  b]}}\n",
        "plugins.x.args",
        "['--x y', 5]",
        "plugins: {x: {args: [\"--x y\", \"5\"]}}\n",
    );
    assert_set(
        "plugins:\n  x:\n    env:\n      A: |\n        one\n        two\n\n      B: x\n",
        "plugins.x.env.A",
        "three",
        "plugins:\n  x:\n    env:\n      A: three\n\n      B: x\n",
    );
    assert_set(
        "plugins:\n  x:\n    env: {}\n",
        "plugins.x.env.A",
        "a\nb \"c\"\t\u{7}é",
        "plugins:\n  x:\n    env: { A: \"a\\nb \\\"c\\\"\\t\\u0007é\" }\n",
    );
}

#[test]
fn m_040_a_map_is_merged_into_a_section() {
    assert_set(
        "prices:\n  a: {input: 1, output: 2}\n",
        "prices.\"b 1\"",
        "{input: 3, output: 4.5}",
        "prices:\n  a: {input: 1, output: 2}\n  \"b 1\":\n    input: 3\n    output: 4.5\n",
    );
    assert_set(
        "plugins:\n  x: {model: a, env: {A: b}}\n",
        "plugins.x",
        "{model: c, timeoutMs: 90000, env: {C: d}}",
        "plugins:\n  x: {model: c, env: {A: b, C: d}, timeout: 1m30s}\n",
    );
}

#[test]
fn m_040_what_is_so_already_is_not_written() {
    for (text, key, value) in [
        ("plugins: {x: {timeout: 120s}}\n", "plugins.x.timeout", "2m"),
        ("plugins: {x: {model: 'a'}}\n", "plugins.x.model", "a"),
        ("fallback:\n  plugins:\n  - codex\n", "fallback.plugins", "[codex]"),
    ] {
        assert_set(text, key, value, text);
    }
    for key in ["limits.queue", "plugins.y", "plugins.x.env.A", "history"] {
        assert_unset("plugins: {x: {}}\n", key, "plugins: {x: {}}\n");
    }
}

#[test]
fn m_040_a_key_is_removed() {
    assert_unset(
        "limits:\n  queue: 5 # five\n  concurrent: 2\n",
        "limits.queue",
        "limits:\n  concurrent: 2\n",
    );
    assert_unset("limits:\n  queue: 5\nmemory: {}\n", "limits.queue", "limits:\nmemory: {}\n");
    assert_unset("a: 1\n".replace("a: 1", "active_plugin: a").as_str(), "active_plugin", "");
    assert_unset(
        "limits: {queue: 5, concurrent: 2}\n",
        "limits.queue",
        "limits: {concurrent: 2}\n",
    );
    assert_unset(
        "limits: {queue: 5, concurrent: 2}\n",
        "limits.concurrent",
        "limits: {queue: 5}\n",
    );
    assert_unset("limits: {queue: 5, }\n", "limits.queue", "limits: {}\n");
    assert_unset("{memory: , limits: }\n", "limits", "{memory: }\n");
    assert_unset(
        "plugins:\n  x:\n    args:\n    - a\n    - b\n  y: {}\n# end",
        "plugins.x",
        "plugins:\n  y: {}\n# end",
    );
    assert_unset(
        "plugins:\r\n  x:\r\n    env:\r\n      A: |\r\n        a\r\n\r\n        b\r\n  y: {}",
        "plugins.x.env",
        "plugins:\r\n  x:\r\n  y: {}",
    );
    assert_unset("prices: {m: {input: 1, output: 2}}", "prices.m", "prices: {}");
}

#[test]
fn m_040_an_edit_that_would_be_wrong_is_not_made() {
    let alias = "plugins:\n  a: &a {model: m}\n  b: *a\n";
    let scalar = "plugins:\n  a: {model: &m m}\n  b: {model: *m}\n";
    assert!(matches!(edited(alias, "plugins.b.model", Some("x")), Err(EditError::Awkward { .. })));
    assert!(matches!(edited(alias, "plugins.a.model", Some("x")), Err(EditError::Awkward { .. })));
    assert!(edited(alias, "plugins.a", None).is_err());
    assert!(matches!(edited(scalar, "plugins.a.model", Some("x")), Err(EditError::Awkward { .. })));
    assert_set(scalar, "plugins.b.model", "x", "plugins:\n  a: {model: &m m}\n  b: {model: x}\n");

    let price = "prices: {m: {input: 1, output: 2}}\n";
    assert!(matches!(edited(price, "prices.m.input", None), Err(EditError::Rejected(_))));
    assert!(matches!(edited("", "prices.m.input", Some("1")), Err(EditError::Rejected(_))));
    for (key, value) in [
        ("limits.queue", "0"),
        ("limits.queue", "many"),
        ("limits.queue", "[5"),
        ("limits.queue", ""),
        ("limits.queue", "5\nmemory: {}"),
        ("plugins.x.timeout", "-3"),
        ("fallback.plugins", "codex"),
        ("limits", "{queue: 5, cocnurrent: 3}"),
        ("active_plugin", "a b"),
        ("memory.mcp", "yes"),
    ] {
        let error = edited("# mine\n", key, Some(value)).unwrap_err();
        assert!(matches!(error, EditError::Value(_)), "{key}={value}: {error}");
    }
    assert!(matches!(edited("", "limits.queu", Some("1")), Err(EditError::Key(_))));
    assert!(matches!(edited("", "nothing", None), Err(EditError::Key(_))));
}

#[test]
fn m_040_an_invalid_file_is_not_touched() {
    for text in [
        "limits: {queue: 0}\n",
        "limits: {queue: 5\n",
        "a: 1\n",
        "limits: {}\n---\nlimits: {}\n",
        "- a\n",
        "limits: 5\n",
    ] {
        let error = edited(text, "limits.queue", Some("5")).unwrap_err();
        assert!(matches!(error, EditError::Invalid(_)), "{error}");
        assert!(error.to_string().contains("fix them first"), "{error}");
        assert!(edited(text, "limits.queue", None).is_err());
    }
    let home = Home::with(b"# \xff\n");
    assert!(set(&home.paths.config_file, "limits.queue", "5").is_err());
    assert_eq!(fs::read(&home.paths.config_file).unwrap(), b"# \xff\n");
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn m_040_a_missing_file_is_made_private_and_a_mode_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a/mia/config.yaml");
    assert!(!unset(&file, "limits.queue").unwrap().changed);
    assert!(!folder.path().join("a").exists(), "unset makes nothing");
    assert!(set(&file, "limits.queue", "5").unwrap().changed);
    assert_eq!((mode(file.parent().unwrap()), mode(&file)), (0o700, 0o600));
    assert_eq!(fs::read_to_string(&file).unwrap(), "limits:\n  queue: 5\n");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    set(&file, "limits.queue", "6").unwrap();
    assert_eq!(mode(&file), 0o640);
}

#[test]
fn m_040_a_link_is_followed_and_stays() {
    let home = Home::empty();
    let elsewhere = tempfile::tempdir().unwrap();
    let real = elsewhere.path().join("real.yaml");
    symlink(&real, home.folder.path().join("second")).unwrap();
    symlink("second", &home.paths.config_file).unwrap();
    // First to a target that is yet to be, then to one that is.
    for queue in ["5", "6"] {
        let edited = set(&home.paths.config_file, "limits.queue", queue).unwrap();
        assert_eq!(edited.file, real);
        assert!(fs::symlink_metadata(&home.paths.config_file).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&real).unwrap(), format!("limits:\n  queue: {queue}\n"));
    }
    fs::remove_file(&home.paths.config_file).unwrap();
    symlink(&home.paths.config_file, &home.paths.config_file).unwrap();
    let error = set(&home.paths.config_file, "limits.queue", "5").unwrap_err().to_string();
    assert!(error.contains("too many symbolic links"), "{error}");
}

#[test]
fn m_040_a_read_only_file_stays() {
    let home = Home::with("limits: {queue: 5}\n");
    fs::set_permissions(&home.paths.config_file, fs::Permissions::from_mode(0o444)).unwrap();
    let error = set(&home.paths.config_file, "limits.queue", "6").unwrap_err().to_string();
    assert!(error.contains("config.yaml") && error.contains("read-only"), "{error}");
    assert_eq!(home.text(), "limits: {queue: 5}\n");
}

#[test]
fn m_040_a_file_in_the_way_of_the_folder_is_named() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("mia"), "").unwrap();
    let file = folder.path().join("mia/config.yaml");
    let error = set(&file, "limits.queue", "6").unwrap_err().to_string();
    assert!(error.contains("mia\": it is not a folder"), "{error}");
}

#[test]
fn m_040_writers_at_once_lose_nothing() {
    let home = Home::with("# mine\nplugins:\n");
    let file = &home.paths.config_file;
    std::thread::scope(|scope| {
        for writer in 0..4 {
            scope.spawn(move || {
                for edit in 0..10 {
                    let key = format!("plugins.w{writer}.env.E{edit}");
                    set(file, &key, "x").unwrap();
                }
            });
        }
    });
    let config = home.load().unwrap().config;
    let sizes: Vec<_> = config.plugins.values().map(|plugin| plugin.env.len()).collect();
    assert_eq!(sizes, [10, 10, 10, 10]);
    assert!(home.text().starts_with("# mine\n"));
}

#[test]
fn m_040_a_folder_that_takes_no_file_is_named() {
    // Not even root can make a file there.
    let error = set(Path::new("/proc/config.yaml"), "limits.queue", "6").unwrap_err();
    assert!(matches!(error, EditError::Io { .. }), "{error}");
    assert!(error.to_string().contains("/proc/config.yaml"), "{error}");
    let error = set(Path::new("/proc/mia/config.yaml"), "limits.queue", "6").unwrap_err();
    assert!(error.to_string().contains("create the folder \"/proc/mia\""), "{error}");
}

#[test]
fn m_040_what_a_killed_edit_left_is_removed() {
    let home = Home::with("limits: {queue: 5}\n");
    let file = |name: &str| home.folder.path().join(name);
    fs::write(file(".mia-config-AbC123.tmp"), "lim").unwrap();
    fs::write(file(".mia-config-mine"), "").unwrap();
    set(&home.paths.config_file, "limits.queue", "6").unwrap();
    assert!(!file(".mia-config-AbC123.tmp").exists());
    assert!(file(".mia-config-mine").exists());
}

#[test]
fn m_040_waits_for_the_one_who_edits() {
    let home = Home::with("limits: {queue: 5}\n");
    let folder = fs::File::open(home.folder.path()).unwrap();
    folder.lock().unwrap();
    std::thread::scope(|scope| {
        let edit = scope.spawn(|| set(&home.paths.config_file, "limits.queue", "6").unwrap());
        // The other's edit, made under the lock, has to be seen by the one that waits.
        fs::write(&home.paths.config_file, "limits: {queue: 5, concurrent: 3}\n").unwrap();
        folder.unlock().unwrap();
        assert!(edit.join().unwrap().changed);
    });
    assert_eq!(home.text(), "limits: {queue: 6, concurrent: 3}\n");
}
