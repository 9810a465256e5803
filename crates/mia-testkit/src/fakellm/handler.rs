//! From a request to its answer.

use std::convert::Infallible;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Request as HttpRequest, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use futures::stream;
use serde_json::{Value, json};

use super::api::{APIS, Api, Call, Encoder, Used, id};
use super::conversation::Conversation;
use super::gates::Gates;
use super::log::{Happening, Journal, Request};
use super::plan::{Answer, Beat, Failure, tokens};
use super::script::{Attempts, plan};
use super::server::Options;

/// The largest body that is read.
const BODY_LIMIT: usize = 64 * 1024 * 1024;

/// How long words stand before a cut or an error, so that the client has read them.
const BEFORE_BREAK: Duration = Duration::from_millis(50);

/// What all requests share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) options: Options,
    pub(super) journal: Journal,
    pub(super) gates: Gates,
    pub(super) attempts: Mutex<Attempts>,
}

/// Answers a request, whatever it is.
pub(super) async fn handle(
    State(shared): State<Arc<Shared>>,
    request: HttpRequest,
) -> Result<Response, Infallible> {
    let (head, body) = request.into_parts();
    let path = head.uri.path_and_query().map_or("/", |whole| whole.as_str()).to_owned();
    let Ok(body) = axum::body::to_bytes(body, BODY_LIMIT).await else {
        return Ok(json_answer(413, &json!({ "error": { "message": "the body is too large" } })));
    };
    let entry = entry(&head.method, &path, &head.headers, body.len());
    let admitted = shared.options.require_key.as_ref().is_none_or(|key| *key == entry.key);
    if head.method != Method::POST {
        return Ok(look_up(&shared, head.uri.path(), admitted, entry));
    }
    if let Some(gate) = head.uri.path().strip_prefix("/__open/") {
        shared.gates.open(gate);
        return Ok(json_answer(200, &json!({ "ok": true })));
    }
    let api = APIS.iter().find_map(|api| Some((*api, api.call(head.uri.path())?)));
    let Some((api, call)) = api else {
        shared.journal.enter(Request { happening: Happening::Failed(404), ..entry });
        return Ok(not_found());
    };
    let parsed: Result<Value, _> = serde_json::from_slice(&body);
    let Ok(body) = parsed else {
        let encoding = head.headers.get(header::CONTENT_ENCODING);
        let message = format!("the body is no JSON (content-encoding {encoding:?})");
        shared.journal.enter(Request {
            api: api.name(),
            happening: Happening::Failed(400),
            ..entry
        });
        let failure = Failure { status: 400, kind: None, message, retry_after: None };
        return Ok(refusal(api, &failure));
    };
    match call {
        Call::Count if admitted => {
            let count = api.count(tokens(entry.bytes));
            let verb = "COUNT_TOKENS".to_owned();
            shared.journal.enter(Request {
                api: api.name(),
                verb,
                happening: Happening::Answered,
                ..entry
            });
            Ok(json_answer(200, &count))
        }
        Call::Count => {
            shared.journal.enter(Request {
                api: api.name(),
                happening: Happening::Failed(401),
                ..entry
            });
            Ok(refusal(api, &unknown_key()))
        }
        Call::Answer => Ok(answer(shared, api, &path, body, admitted, entry).await),
    }
}

fn entry(method: &Method, path: &str, headers: &HeaderMap, bytes: usize) -> Request {
    let text =
        |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let query = path.split_once('?').map_or("", |(_, query)| query);
    let keys = [
        text("x-api-key"),
        text("x-goog-api-key"),
        text("authorization").trim_start_matches("Bearer "),
        query.split('&').find_map(|pair| pair.strip_prefix("key=")).unwrap_or_default(),
    ];
    Request {
        number: 0,
        api: "",
        method: method.to_string(),
        path: path.to_owned(),
        model: String::new(),
        verb: String::new(),
        auxiliary: false,
        stream: false,
        key: keys.into_iter().find(|key| !key.is_empty()).unwrap_or_default().to_owned(),
        user_agent: text("user-agent").to_owned(),
        tools: Vec::new(),
        roles: Vec::new(),
        bytes,
        body: None,
        happening: Happening::Open,
    }
}

fn unknown_key() -> Failure {
    let message = "invalid API key".to_owned();
    Failure { status: 401, kind: None, message, retry_after: None }
}

/// GET and HEAD: the list of models, and for people health and log.
fn look_up(shared: &Shared, path: &str, admitted: bool, entry: Request) -> Response {
    match path {
        "/__health" => return json_answer(200, &json!({ "ok": true })),
        "/__log" => {
            let log = shared.journal.snapshot();
            return json_answer(200, &log.requests.iter().map(Request::json).collect());
        }
        _ => {}
    }
    let models = path.ends_with("/models");
    let known = models || entry.method == "HEAD";
    let happening = match (known, admitted) {
        (false, _) => Happening::Failed(404),
        (true, false) if models => Happening::Failed(401),
        _ => Happening::Answered,
    };
    shared.journal.enter(Request { happening, ..entry });
    if happening == Happening::Failed(401) {
        return json_answer(
            401,
            &json!({ "type": "error", "error": { "type": "authentication_error", "message": unknown_key().message } }),
        );
    }
    if models {
        return json_answer(200, &models_of(path));
    }
    if known { StatusCode::OK.into_response() } else { not_found() }
}

/// The list of models: of the Gemini API by its path, else in a shape that Anthropic's and OpenAI's clients both read.
fn models_of(path: &str) -> Value {
    if path.contains("/v1beta/") {
        let methods = ["generateContent", "countTokens"];
        let model = json!({ "name": "models/fake-model", "displayName": "fake-model", "supportedGenerationMethods": methods });
        return json!({ "models": [model] });
    }
    let model = json!({
        "id": "fake-model", "type": "model", "object": "model", "display_name": "fake-model", "created": 1, "owned_by": "fake"
    });
    json!({ "object": "list", "data": [model], "has_more": false })
}

fn not_found() -> Response {
    json_answer(
        404,
        &json!({ "type": "error", "error": { "type": "not_found_error", "message": "no such route" } }),
    )
}

fn json_answer(status: u16, body: &Value) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers =
        [(header::CONTENT_TYPE.as_str(), "application/json".to_owned()), ("request-id", id("req"))];
    (status, headers, body.to_string()).into_response()
}

fn refusal(api: &dyn Api, failure: &Failure) -> Response {
    let mut response = json_answer(failure.status, &api.error(failure));
    if let Some(value) = failure.retry_after.as_ref().and_then(|value| value.parse().ok()) {
        response.headers_mut().insert(header::RETRY_AFTER, value);
    }
    response
}

async fn answer(
    shared: Arc<Shared>,
    api: &'static dyn Api,
    path: &str,
    body: Value,
    admitted: bool,
    entry: Request,
) -> Response {
    let conversation = api.read(path, &body);
    let mut plan = plan(&conversation, &mut shared.attempts.lock().expect("no panic holds it"));
    if !admitted {
        plan.answer = Answer::Fail(unknown_key());
    }
    let request_bytes = entry.bytes;
    let number = shared.journal.enter(Request {
        api: api.name(),
        model: conversation.model.clone(),
        verb: plan.verb.clone(),
        auxiliary: plan.auxiliary,
        stream: conversation.stream,
        tools: conversation.tools.keys().cloned().collect(),
        roles: conversation.messages.iter().map(|message| message.role).collect(),
        body: shared.options.bodies.then(|| Arc::new(body)),
        ..entry
    });
    let mut presence = Presence { shared: Arc::clone(&shared), number, over: false };
    tokio::time::sleep(plan.delay).await;
    match &plan.answer {
        Answer::Hang(long) => {
            tokio::time::sleep(*long).await;
            presence.ends(Happening::Cut);
            cut()
        }
        Answer::Fail(failure) => {
            presence.ends(Happening::Failed(failure.status));
            refusal(api, failure)
        }
        Answer::Say(beats) => {
            let used = Used::by(&plan, beats, request_bytes);
            if conversation.stream {
                streamed(presence, api.encoder(&conversation, used), beats.clone())
            } else {
                whole(presence, api, &conversation, beats, used).await
            }
        }
    }
}

/// Notes that the client went away if it is dropped before the answer was over.
struct Presence {
    shared: Arc<Shared>,
    number: u64,
    over: bool,
}

impl Presence {
    fn ends(&mut self, happening: Happening) {
        self.over = true;
        self.shared.journal.note(self.number, happening);
    }

    /// Lets time pass where the beat says so.
    async fn hold(&self, beat: &Beat) {
        match beat {
            Beat::Wait(long) => tokio::time::sleep(*long).await,
            Beat::Gate(name) => self.shared.gates.pass(name).await,
            _ => {}
        }
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        if !self.over {
            self.shared.journal.note(self.number, Happening::Gone);
        }
    }
}

fn broken() -> io::Error {
    io::Error::other("cut by the script")
}

/// A response whose connection breaks at once.
fn cut() -> Response {
    Body::from_stream(stream::iter([Err::<Bytes, _>(broken())])).into_response()
}

async fn whole(
    mut presence: Presence,
    api: &dyn Api,
    conversation: &Conversation,
    beats: &[Beat],
    used: Used,
) -> Response {
    for beat in beats {
        presence.hold(beat).await;
        match beat {
            Beat::Cut => {
                presence.ends(Happening::Cut);
                return cut();
            }
            Beat::Fail(kind) => {
                let message = "fake stream error".to_owned();
                let failure =
                    Failure { status: 500, kind: kind.clone(), message, retry_after: None };
                presence.ends(Happening::Failed(500));
                return refusal(api, &failure);
            }
            _ => {}
        }
    }
    presence.ends(Happening::Answered);
    json_answer(200, &api.whole(conversation, beats, used))
}

/// Where a streamed answer is.
enum Place {
    Start,
    Beats,
    End,
    Over,
}

fn streamed(presence: Presence, encoder: Box<dyn Encoder>, beats: Vec<Beat>) -> Response {
    let player = Player { presence, encoder, beats: beats.into_iter(), place: Place::Start };
    let body = Body::from_stream(stream::unfold(player, |mut player| async move {
        let piece = player.next().await?;
        Some((piece, player))
    }));
    let headers = [
        (header::CONTENT_TYPE.as_str(), "text/event-stream; charset=utf-8".to_owned()),
        (header::CACHE_CONTROL.as_str(), "no-cache".to_owned()),
        ("request-id", id("req")),
    ];
    (headers, body).into_response()
}

/// Plays the beats of a streamed answer.
struct Player {
    presence: Presence,
    encoder: Box<dyn Encoder>,
    beats: std::vec::IntoIter<Beat>,
    place: Place,
}

impl Player {
    async fn next(&mut self) -> Option<io::Result<Bytes>> {
        loop {
            let events = match self.place {
                Place::Start => {
                    self.place = Place::Beats;
                    self.encoder.start()
                }
                Place::Beats => match self.beats.next() {
                    None => {
                        self.place = Place::End;
                        continue;
                    }
                    Some(Beat::Cut) => {
                        // Some clients throw away words that come together with the end.
                        tokio::time::sleep(BEFORE_BREAK).await;
                        self.place = Place::Over;
                        self.presence.ends(Happening::Cut);
                        return Some(Err(broken()));
                    }
                    Some(beat) => {
                        if matches!(beat, Beat::Fail(_)) {
                            // Google's client sees an error only in a chunk of its own.
                            tokio::time::sleep(BEFORE_BREAK).await;
                        }
                        self.presence.hold(&beat).await;
                        self.encoder.beat(&beat)
                    }
                },
                Place::End => {
                    self.place = Place::Over;
                    // Noted before the last bytes go out: who has seen the end finds it in the log.
                    self.presence.ends(Happening::Answered);
                    self.encoder.end()
                }
                Place::Over => return None,
            };
            if !events.is_empty() {
                return Some(Ok(Bytes::from(events)));
            }
        }
    }
}
