//! The document of the API is what is served, and what is checked in.
#![expect(clippy::unwrap_used, reason = "a test")]

mod described;

use std::collections::BTreeSet;

use axum::Router;
use axum::body::Body;
use axum::http::{Method, Request, StatusCode, header};
use http_body_util::BodyExt;
use mia_config::Config;
use mia_core::{Core, CoreSetup, Registry};
use mia_daemon::{Places, Server, VERSION, router};
use mia_host::{Supervisor, SupervisorProgram};
use mia_plugin::Environment;
use mia_store::{OpenOptions, Store};
use mia_testkit as _;
use serde_json::Value;
use tempfile::TempDir;
use tower::ServiceExt;

use described::as_described;

const CHECKED_IN: &str = include_str!("../../../docs/openapi.json");

/// The API over a core that has no plugin.
async fn api(folder: &TempDir) -> Router {
    let core = Core::open(CoreSetup {
        registry: Registry::new(),
        config: Config::default(),
        source: None,
        store: Store::open(folder.path().join("mia.db"), OpenOptions::default()).await.unwrap(),
        supervisor: Supervisor::new(SupervisorProgram::default()),
        environment: Environment::default(),
        installed_agents: None,
    })
    .await
    .unwrap();
    as_described(router(Server::new(core, Places::default(), Environment::default())))
}

/// Each path, with `x` for its parts that vary, and its operations by their methods.
fn described() -> Vec<(String, serde_json::Map<String, Value>)> {
    let document: Value = serde_json::from_str(CHECKED_IN).unwrap();
    let paths = document.get("paths").unwrap().as_object().unwrap().clone();
    let concrete = |path: &str| {
        let parts = path.split('/').map(|part| if part.starts_with('{') { "x" } else { part });
        parts.collect::<Vec<_>>().join("/")
    };
    paths.iter().map(|(path, item)| (concrete(path), item.as_object().unwrap().clone())).collect()
}

#[tokio::test]
async fn what_is_served_is_what_is_checked_in() {
    let folder = TempDir::new().unwrap();
    let request = Request::get("/openapi.json").body(Body::empty()).unwrap();
    let answer = api(&folder).await.oneshot(request).await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    assert_eq!(answer.headers().get(header::CONTENT_TYPE).unwrap(), "application/json");
    let served = answer.into_body().collect().await.unwrap().to_bytes();
    assert!(served == CHECKED_IN.as_bytes(), "not up to date: run `cargo xtask api`");
    let document: Value = serde_json::from_slice(&served).unwrap();
    assert_eq!(document.pointer("/info/version").unwrap(), VERSION);
}

/// Every operation is told apart, says what it does, and refuses a query that it does not know. No
/// path takes a method that is not described.
#[tokio::test]
async fn each_request_is_described_and_takes_nothing_that_is_not() {
    let folder = TempDir::new().unwrap();
    let api = api(&folder).await;
    let mut ids = BTreeSet::new();
    for (path, operations) in described() {
        for method in [Method::GET, Method::PUT, Method::POST, Method::DELETE, Method::PATCH] {
            let uri = format!("{path}?unheard_of=1");
            let request = Request::builder().method(&method).uri(uri).body(Body::empty()).unwrap();
            let answer = api.clone().oneshot(request).await.unwrap();
            let status = answer.status();
            let name = method.as_str().to_ascii_lowercase();
            let Some(operation) = operations.get(&name) else {
                assert_eq!(status, StatusCode::METHOD_NOT_ALLOWED, "{method} {path}");
                assert!(answer.headers().contains_key(header::ALLOW), "{method} {path}");
                continue;
            };
            assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{method} {path}");
            let text = |member: &str| operation.get(member).and_then(Value::as_str).unwrap();
            assert!(text("summary").ends_with('.'), "{method} {path}");
            assert!(ids.insert(text("operationId").to_owned()), "{method} {path}");
            let answers = operation.get("responses").unwrap().as_object().unwrap();
            assert!(answers.keys().any(|status| status.starts_with('2')), "{method} {path}");
            assert!(answers.contains_key("422"), "{method} {path}");
        }
    }
    assert!(ids.len() > 25, "{ids:?}");
}

/// What a description refers to is there, and every component is referred to by something.
#[test]
fn the_document_is_whole_and_has_nothing_to_spare() {
    let document: Value = serde_json::from_str(CHECKED_IN).unwrap();
    let components = document.get("components").unwrap().as_object().unwrap();
    let there: BTreeSet<String> = components
        .iter()
        .filter(|(kind, _)| *kind != "schemas")
        .flat_map(|(kind, named)| {
            named.as_object().unwrap().keys().map(move |name| format!("#/components/{kind}/{name}"))
        })
        .collect();
    let referred: BTreeSet<String> = CHECKED_IN
        .split("\"$ref\": \"")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap().to_owned())
        .collect();
    for reference in &referred {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{reference}");
    }
    let spare: Vec<_> = there.difference(&referred).collect();
    assert!(spare.is_empty(), "{spare:?}");
}
