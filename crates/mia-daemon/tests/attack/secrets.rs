//! Keys: what comes with a prompt is told to nobody.

use std::path::Path;

use mia_api::EnvVar;
use mia_daemon::ClientError;
use serde_json::{Value, json};

use crate::daemon::{Daemon, said};

const CANARY: &str = "sk-canary-8d1f";

#[tokio::test]
async fn a_key_is_in_no_log_no_problem_no_status_and_no_metrics() {
    let daemon = Daemon::start().await;
    let client = daemon.client();
    let mut body = daemon.help("t");
    let key = EnvVar { name: Path::new("SOME_API_KEY").into(), value: Path::new(CANARY).into() };
    body.environment = Some(vec![key]);
    let mut told = String::new();
    let mut source = client.dispatch(&body).await.unwrap();
    while let Some(event) = source.next().await.unwrap() {
        told.push_str(&serde_json::to_string(&event).unwrap());
    }
    let good = serde_json::to_value(&body).unwrap();
    for (member, value) in [
        ("prompt", json!(" ")),
        ("prompt", json!(7)),
        ("working_directory", json!("/no/such/folder")),
        ("plugin", json!("no-such-plugin")),
        ("plugin", json!("codex")),
        ("task_id", json!("../t")),
        ("odd", json!(1)),
        ("conversation_id", json!("another")),
    ] {
        let mut bad = good.clone();
        bad[member] = value;
        match client.post::<Value>("/v1/tasks", &bad).await {
            Err(ClientError::Refused(problem)) => {
                told.push_str(&serde_json::to_string(&problem).unwrap());
            }
            // A member that is not known does no harm.
            other => told.push_str(&format!("{other:?}")),
        }
    }
    for path in ["/v1/tasks/t", "/v1/status", "/v1/history", "/v1/plugins", "/v1/conversations"] {
        told.push_str(&client.get::<Value>(path).await.unwrap().to_string());
    }
    let end = " HTTP/1.1\r\nHost: mia\r\nConnection: close\r\n\r\n";
    told.push_str(&daemon.says(format!("GET /metrics{end}")).await);
    assert!(told.contains("mia_tasks_accepted_total") && told.contains("no-such-plugin"), "{told}");
    assert!(!told.contains(CANARY), "{told}");
    // Something that is said at a fine level, to see that it is heard.
    daemon.says(format!("{CANARY}\r\n\r\n")).await;
    let log = said();
    assert!(log.contains("DEBUG") && log.contains("a connection ended"), "{log}");
    assert!(!log.contains(CANARY), "{log}");
}
