//! The API through its own client, without a socket.
#![expect(clippy::unwrap_used, reason = "a test")]

mod described;

use std::path::Path;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode, header};
use http_body_util::BodyExt;
use mia_api::{
    ConversationId, DispatchAccepted, DispatchBody, DispatchOptions, Event, EventBody, Problem,
    ResumePoint, TaskId, TaskRecord,
};
use mia_config::Config;
use mia_core::{Core, CoreSetup, Registry};
use mia_daemon::{Any, ClientError, Connection, End, Places, Server, Watching, router};
use mia_host::{Supervisor, SupervisorProgram};
use mia_plugin::Environment;
use mia_store::{OpenOptions, Store};
use mia_testkit as _;
use tempfile::TempDir;
use tower::ServiceExt;

use described::as_described;

/// The API over a core that has the built-in plugins and no agent.
async fn api(folder: &TempDir) -> Router {
    let server = Server::new(core(folder).await, Places::default(), Environment::default());
    as_described(router(server))
}

async fn core(folder: &TempDir) -> Core {
    let mut registry = Registry::new();
    for plugin in mia_agents::built_in() {
        let name = plugin.name().to_owned();
        registry.register_shared(&name, plugin).unwrap();
    }
    let setup = CoreSetup {
        registry,
        config: Config::default(),
        source: None,
        store: Store::open(folder.path().join("mia.db"), OpenOptions::default()).await.unwrap(),
        supervisor: Supervisor::new(SupervisorProgram::default()),
        environment: Environment::default(),
        installed_agents: None,
    };
    Core::open(setup).await.unwrap()
}

fn help(task: &str, cwd: &Path) -> DispatchBody {
    let options =
        DispatchOptions::new(task.parse().unwrap(), ConversationId::generate(), cwd.to_owned());
    let mut body = DispatchBody::of("help".to_owned(), options);
    body.plugin = Some("guide".to_owned());
    body
}

async fn all(connection: &Connection, task: &TaskId, after: ResumePoint) -> Vec<Event> {
    let watching = Watching { after, ..Watching::default() };
    let mut source = connection.watch(task, watching).await.unwrap();
    let mut events = Vec::new();
    while let Some(event) = source.next().await.unwrap() {
        events.push(event);
    }
    events
}

#[tokio::test]
async fn m_038_events_come_as_they_happen_of_one_task_and_of_all_and_again() {
    let folder = TempDir::new().unwrap();
    let connection = Connection::within(api(&folder).await);
    let mut every = connection.all_events().await.unwrap();
    let body = help("t", folder.path());
    let task = body.task_id.clone().unwrap();
    let mut source = connection.dispatch(&body).await.unwrap();
    let mut live = Vec::new();
    while let Some(event) = source.next().await.unwrap() {
        live.push(event);
    }
    assert_eq!(live.last().unwrap().body.kind(), "complete");
    let said = |events: &[Event]| {
        let mut text = String::new();
        for event in events {
            if let EventBody::Token { text: more, .. } = &event.body {
                text.push_str(more);
            }
        }
        text
    };
    let mut of_all = Vec::new();
    loop {
        let Any::Event(event) = every.next().await.unwrap().unwrap() else { panic!("a gap") };
        of_all.push(*event);
        if of_all.last().unwrap().body.is_terminal() {
            break;
        }
    }
    assert_eq!((said(&of_all), of_all.last()), (said(&live), live.last()));
    assert!(!said(&live).is_empty());
    for (place, event) in live.iter().enumerate() {
        let again = all(&connection, &task, ResumePoint::after(event)).await;
        let rest = live.get(place + 1..).unwrap();
        assert_eq!((said(&again), again.last()), (said(rest), rest.last()), "after {}", event.seq);
    }
    let record: TaskRecord = connection.get("/v1/tasks/t").await.unwrap();
    assert_eq!(record.summary.plugin.as_deref(), Some("guide"));
    // The same task again is the same, and is not answered again.
    let again: DispatchAccepted = connection.post("/v1/tasks", &body).await.unwrap();
    assert!(again.already);
}

/// Asks as any HTTP client would.
async fn asked(api: &Router, request: Request<Body>) -> (StatusCode, String, String) {
    let answer = api.clone().oneshot(request).await.unwrap();
    let kind = answer.headers().get(header::CONTENT_TYPE).unwrap().to_str().unwrap().to_owned();
    assert_eq!(answer.headers().get("mia-version").unwrap(), mia_daemon::VERSION);
    let status = answer.status();
    let bytes = answer.into_body().collect().await.unwrap().to_bytes();
    (status, kind, String::from_utf8(bytes.into()).unwrap())
}

/// Whether the document has that status among the answers to that request.
fn is_described(method: &str, uri: &str, status: StatusCode) -> bool {
    let document = serde_json::from_str(include_str!("../../../docs/openapi.json"));
    let document: serde_json::Value = document.unwrap();
    let path = uri.split('?').next().unwrap();
    let fits = |template: &str| {
        let equal =
            |(part, of_template): (&str, &str)| of_template.starts_with('{') || part == of_template;
        path.split('/').count() == template.split('/').count()
            && path.split('/').zip(template.split('/')).all(equal)
    };
    let paths = document.get("paths").unwrap().as_object().unwrap();
    paths.iter().filter(|(template, _)| fits(template)).any(|(_, item)| {
        let answers = item.get(method.to_lowercase()).and_then(|o| o.get("responses"));
        answers.is_some_and(|answers| answers.get(status.as_str()).is_some())
    })
}

#[tokio::test]
async fn what_is_wrong_with_a_request_is_a_problem_that_repeats_no_secret() {
    let folder = TempDir::new().unwrap();
    let api = api(&folder).await;
    let json = "application/json";
    let secret = r#"{"prompt":1,"environment":[{"name":"KEY","value":"sk-canary"}]}"#;
    let table = [
        ("GET", "/v1/nothing", "", "", 404, "not_found"),
        ("DELETE", "/v1/health", "", "", 405, "method_not_allowed"),
        ("GET", "/v1/tasks/none", "", "", 404, "not_found"),
        ("GET", "/v1/tasks/none/events", "", "", 404, "not_found"),
        ("GET", "/v1/tasks/..%2F..%2Fetc%2Fpasswd", "", "", 422, "invalid_request"),
        ("GET", "/v1/conversations/..%2Fmia.db", "", "", 422, "invalid_request"),
        ("POST", "/v1/plugins/..%2F..%2Fx/test", json, "{}", 404, "no_plugin"),
        ("GET", "/v1/tasks/none/events?after=x", "", "", 422, "invalid_request"),
        ("GET", "/v1/history?limit=many", "", "", 422, "invalid_request"),
        ("GET", "/v1/history?odd=1", "", "", 422, "invalid_request"),
        ("POST", "/v1/tasks", "", "{}", 415, "invalid_request"),
        ("POST", "/v1/tasks", json, "", 422, "invalid_request"),
        ("POST", "/v1/tasks", json, secret, 422, "invalid_request"),
        ("POST", "/v1/stop", json, r#"{"soon":true}"#, 422, "invalid_request"),
        // What is described as an object is read from an object alone, and has no other members.
        ("POST", "/v1/tasks", json, r#"["p","/"]"#, 422, "invalid_request"),
        ("POST", "/v1/stop", json, "[true]", 422, "invalid_request"),
        ("PUT", "/v1/active-plugin", json, r#"["guide"]"#, 422, "invalid_request"),
        ("POST", "/v1/plugins", json, r#"{"environment":[["A","b"]]}"#, 422, "invalid_request"),
        ("PATCH", "/v1/conversations/c", json, r#"{"title":"a\nb"}"#, 422, "invalid_request"),
        ("DELETE", "/v1/conversations/c?dry_run=true", "", "", 422, "invalid_request"),
        ("POST", "/v1/tasks/t/permissions/p", json, r#"{"option_id":null}"#, 409, "not_waiting"),
    ];
    for (method, path, kind, body, status, code) in table {
        let mut request = Request::builder().method(method).uri(path);
        if !kind.is_empty() {
            request = request.header(header::CONTENT_TYPE, kind);
        }
        let request = request.body(Body::from(body)).unwrap();
        let (got, kind, text) = asked(&api, request).await;
        assert_eq!((got.as_u16(), kind.as_str()), (status, json), "{method} {path}: {text}");
        let problem: Problem = serde_json::from_str(&text).unwrap();
        assert_eq!(problem.code, code, "{method} {path}: {text}");
        let known = status != 405 && path != "/v1/nothing";
        assert_eq!(is_described(method, path, got), known, "{method} {path}: {got}");
        assert!(!text.contains("canary"), "{text}");
    }
}

#[tokio::test]
async fn a_body_that_may_be_left_out_may_be_null_or_empty() {
    let folder = TempDir::new().unwrap();
    let api = api(&folder).await;
    for (kind, body, status) in [
        (None, "", 200),
        (Some("application/json"), "", 200),
        (Some("application/json"), "null", 200),
        (Some("application/json"), r#"{"max_age_ms":5.0}"#, 200),
        (Some("application/json"), " ", 422),
        (Some("text/plain"), "null", 415),
    ] {
        let mut request = Request::post("/v1/cleanup");
        if let Some(kind) = kind {
            request = request.header(header::CONTENT_TYPE, kind);
        }
        let (got, _, text) = asked(&api, request.body(Body::from(body)).unwrap()).await;
        assert_eq!(got.as_u16(), status, "{body:?} as {kind:?}: {text}");
    }
}

#[tokio::test]
async fn both_places_to_come_back_to_must_be_right() {
    let folder = TempDir::new().unwrap();
    let api = api(&folder).await;
    for (after, last, status) in
        [("0", "x", 422), ("x", "0", 422), ("", "0", 422), ("0", "", 422), ("0", "0", 404)]
    {
        let request = Request::get(format!("/v1/tasks/none/events?after={after}"))
            .header("last-event-id", last)
            .body(Body::empty())
            .unwrap();
        let (got, _, text) = asked(&api, request).await;
        assert_eq!(got.as_u16(), status, "{after:?} and {last:?}: {text}");
    }
}

#[tokio::test]
async fn a_prompt_that_can_not_be_dispatched_is_refused_with_what_helps() {
    let folder = TempDir::new().unwrap();
    let connection = Connection::within(api(&folder).await);
    let refused = async |change: &dyn Fn(&mut DispatchBody)| {
        let mut body = help("t", folder.path());
        change(&mut body);
        match connection.dispatch(&body).await {
            Err(ClientError::Refused(problem)) => *problem,
            other => panic!("{other:?}"),
        }
    };
    let none = refused(&|body| body.plugin = None).await;
    assert_eq!((none.code.as_str(), none.exit_code), ("no_plugin", 3));
    assert!(none.command.unwrap().starts_with("ask --plugin guide"));
    let unknown = refused(&|body| body.plugin = Some("guid".to_owned())).await;
    assert!(unknown.message.contains("did you mean \"guide\""), "{}", unknown.message);
    assert_eq!(refused(&|body| body.prompt = " ".to_owned()).await.code, "invalid_request");
    let gone = folder.path().join("gone");
    let nowhere = refused(&|body| body.working_directory = gone.clone().into()).await;
    assert_eq!((nowhere.code.as_str(), nowhere.exit_code), ("working_directory", 2));
}

#[tokio::test]
async fn metrics_count_what_has_happened() {
    let folder = TempDir::new().unwrap();
    let api = api(&folder).await;
    let connection = Connection::within(api.clone());
    let task = "t".parse().unwrap();
    connection.dispatch(&help("t", folder.path())).await.unwrap();
    all(&connection, &task, ResumePoint::default()).await;
    let request = Request::get("/metrics").body(Body::empty()).unwrap();
    let (status, kind, text) = asked(&api, request).await;
    assert!(status.is_success() && kind.starts_with("application/openmetrics-text"), "{kind}");
    for line in [
        "mia_tasks_accepted_total 1",
        "mia_tasks_ended_total{plugin=\"guide\",status=\"completed\"} 1",
        "mia_first_output_seconds_count{plugin=\"guide\"} 1",
        "mia_breaker_open{plugin=\"guide\"} 0",
        "mia_tasks_queued 0",
    ] {
        assert!(text.lines().any(|other| other == line), "no {line} in:\n{text}");
    }
}

#[tokio::test]
async fn a_core_in_anothers_place_heeds_the_end_and_streams_of_the_other_end() {
    let (folder, other) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let server = Server::new(core(&folder).await, Places::default(), Environment::default());
    server.read_only_for(Some("the disk is full".to_owned()));
    let connection = Connection::within(router(server.clone()));
    let mut every = connection.all_events().await.unwrap();
    let before = server.replace(core(&other).await);
    assert_eq!(server.read_only(), None);
    before.close().await;
    assert!(matches!(every.next().await, Ok(None) | Err(ClientError::Broken(_))), "it has ended");
    connection.dispatch(&help("first", folder.path())).await.unwrap();

    server.end(End::Patient);
    let third = TempDir::new().unwrap();
    server.replace(core(&third).await).close().await;
    let refused = connection.dispatch(&help("second", folder.path())).await;
    let Err(ClientError::Refused(problem)) = refused else { unreachable!("{refused:?}") };
    assert_eq!(problem.code, "stopping");
}
