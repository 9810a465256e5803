//! The API through its own client, without a socket.
#![expect(clippy::unwrap_used, reason = "a test")]

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
use mia_daemon::{Any, ClientError, Connection, Places, Server, Watching, router};
use mia_host::{Supervisor, SupervisorProgram};
use mia_plugin::Environment;
use mia_store::{OpenOptions, Store};
use mia_testkit as _;
use tempfile::TempDir;
use tower::ServiceExt;

/// The API over a core that has the built-in plugins and no agent.
async fn api(folder: &TempDir) -> Router {
    let mut registry = Registry::new();
    for plugin in mia_agents::built_in() {
        let name = plugin.name().to_owned();
        registry.register_shared(&name, plugin).unwrap();
    }
    let core = Core::open(CoreSetup {
        registry,
        config: Config::default(),
        source: None,
        store: Store::open(folder.path().join("mia.db"), OpenOptions::default()).await.unwrap(),
        supervisor: Supervisor::new(SupervisorProgram::default()),
        environment: Environment::default(),
        installed_agents: None,
    })
    .await
    .unwrap();
    router(Server::new(core, Places::default(), Environment::default()))
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
        assert!(!text.contains("canary"), "{text}");
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
