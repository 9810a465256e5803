//! Ids that are to lead somewhere else.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::daemon::{Daemon, status};

const TRICKS: [&str; 16] = [
    "..",
    ".",
    "%2e%2e",
    "..%2f..%2fcanary",
    "..%2Fcanary%2f",
    "%2fetc%2fpasswd",
    "....%2f%2fcanary",
    "..%5ccanary",
    "%00",
    "canary%00.db",
    "a%0ab%0d",
    "%ff%fe",
    "%C3%A9",
    "é",
    "%",
    "%E2%80%AE",
];

/// All there is below a folder.
fn all(folder: &Path, found: &mut BTreeSet<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all(&path, found);
        }
        found.insert(path);
    }
}

#[tokio::test]
async fn an_id_leads_nowhere_else() {
    let daemon = Daemon::start().await;
    daemon.client().dispatch(&daemon.help("t")).await.unwrap();
    fs::write(daemon.folder().join("canary"), "sings").unwrap();
    let mut before = BTreeSet::new();
    all(daemon.folder(), &mut before);
    let mut tricks: Vec<_> = TRICKS.iter().map(|&trick| trick.to_owned()).collect();
    tricks.extend(["x".repeat(300), "x".repeat(30_000), "..%2f".repeat(2000)]);
    for trick in &tricks {
        for (method, path) in [
            ("GET", format!("/v1/tasks/{trick}")),
            ("GET", format!("/v1/tasks/{trick}/events")),
            ("POST", format!("/v1/tasks/{trick}/abort")),
            ("POST", format!("/v1/tasks/t/permissions/{trick}")),
            ("GET", format!("/v1/conversations/{trick}")),
            ("DELETE", format!("/v1/conversations/{trick}")),
            ("PATCH", format!("/v1/conversations/{trick}")),
            ("GET", format!("/v1/plugins/{trick}")),
            ("POST", format!("/v1/plugins/{trick}/test")),
        ] {
            let body = match method {
                "PATCH" => r#"{"title":"x"}"#,
                "POST" if path.contains("permissions") => r#"{"option_id":null}"#,
                "POST" => "{}",
                _ => "",
            };
            let length = body.len();
            let request = format!(
                "{method} {path} HTTP/1.1\r\nHost: mia\r\nConnection: close\r\n\
                 Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
            );
            let answer = daemon.says(request).await;
            let shown: String = format!("{method} {path}").chars().take(80).collect();
            assert!((400..500).contains(&status(&answer)), "{shown}: {answer}");
            assert!(!answer.contains("sings"), "{shown}: {answer}");
        }
        for member in ["task_id", "conversation_id"] {
            let mut body = serde_json::to_value(daemon.help("u")).unwrap();
            body[member] = serde_json::Value::String(trick.replace("%2f", "/").replace('%', "\0"));
            if trick.starts_with("xx") && trick.len() < 1000 {
                continue;
            }
            let refused = daemon.client().post::<serde_json::Value>("/v1/tasks", &body).await;
            assert!(refused.is_err(), "{member} {trick}: {refused:?}");
        }
    }
    assert_eq!(fs::read(daemon.folder().join("canary")).unwrap(), b"sings");
    let mut after = BTreeSet::new();
    all(daemon.folder(), &mut after);
    // The record's own files come and go.
    let own =
        |path: &PathBuf| !path.to_string_lossy().contains("mia.db") && !path.ends_with("runs");
    assert_eq!(
        after.into_iter().filter(own).collect::<Vec<_>>(),
        before.into_iter().filter(own).collect::<Vec<_>>()
    );
    daemon.is_well().await;
}
