//! One request and its answer.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderValue, Method, Request, Response, StatusCode, header};
use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use hyper_util::rt::TokioIo;
use mia_api::{DispatchBody, Problem, ResumePoint, TaskId};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::net::UnixStream;
use tower::ServiceExt;

use super::error::ClientError;
use super::events::{AllEventSource, EventSource};
use crate::sse::LAST_EVENT_ID;

/// The largest answer that is read, in bytes.
const LARGEST: usize = 512 * 1024 * 1024;

/// How a task is watched.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Watching {
    /// The place after which events are wanted.
    pub after: ResumePoint,
    /// The watcher answers the agent's questions.
    pub attended: bool,
    /// The task is aborted when the watcher goes away before its end.
    pub attached: bool,
}

/// The way to the API. A cheap handle.
#[derive(Clone)]
pub struct Connection {
    way: Way,
}

#[derive(Clone)]
enum Way {
    Socket(Arc<Path>),
    Here(Router),
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.way {
            Way::Socket(path) => f.debug_tuple("Socket").field(path).finish(),
            Way::Here(_) => f.write_str("Here"),
        }
    }
}

impl Connection {
    /// Over the daemon's socket. Nothing is sent yet.
    #[must_use]
    pub fn over(socket: PathBuf) -> Self {
        Self { way: Way::Socket(socket.into()) }
    }

    /// To a core in this process.
    #[must_use]
    pub fn within(router: Router) -> Self {
        Self { way: Way::Here(router) }
    }

    /// Gets what a path stands for.
    ///
    /// # Errors
    /// As all requests.
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        read(self.send(Method::GET, path, None).await?).await
    }

    /// Posts a body.
    ///
    /// # Errors
    /// As all requests.
    pub async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, ClientError> {
        read(self.send(Method::POST, path, Some(json(body)?)).await?).await
    }

    /// Puts a body.
    ///
    /// # Errors
    /// As all requests.
    pub async fn put<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, ClientError> {
        read(self.send(Method::PUT, path, Some(json(body)?)).await?).await
    }

    /// Changes what a path stands for, or with POST asks for something that has no answer.
    ///
    /// # Errors
    /// As all requests.
    pub async fn change(
        &self,
        method: Method,
        path: &str,
        body: Option<&impl Serialize>,
    ) -> Result<(), ClientError> {
        let body = body.map(json).transpose()?;
        self.send(method, path, body).await.map(drop)
    }

    /// Dispatches a prompt and gives its events. When this returns the prompt is on record.
    ///
    /// # Errors
    /// As all requests; a body without a task's id can't be asked again when the connection breaks.
    pub async fn dispatch(&self, body: &DispatchBody) -> Result<EventSource, ClientError> {
        let request = Request::builder()
            .method(Method::POST)
            .uri("/v1/tasks")
            .header(header::ACCEPT, "text/event-stream");
        let answer = self.request(request, Some(json(body)?)).await?;
        let attended = body.attended;
        let watching =
            Watching { after: ResumePoint::default(), attended, attached: body.attached };
        Ok(EventSource::new(self.clone(), body.task_id.clone(), watching, answer.into_body()))
    }

    /// The events of a task.
    ///
    /// # Errors
    /// As all requests.
    pub async fn watch(
        &self,
        task: &TaskId,
        watching: Watching,
    ) -> Result<EventSource, ClientError> {
        let body = self.events(task, watching).await?;
        Ok(EventSource::new(self.clone(), Some(task.clone()), watching, body))
    }

    /// The stream of a task's events after that place.
    pub(super) async fn events(
        &self,
        task: &TaskId,
        watching: Watching,
    ) -> Result<Body, ClientError> {
        let Watching { after, attended, attached } = watching;
        let path = format!("/v1/tasks/{task}/events?attended={attended}&attached={attached}");
        let mut request = Request::builder().method(Method::GET).uri(path);
        if after != ResumePoint::default() {
            request = request.header(LAST_EVENT_ID, after.to_string());
        }
        Ok(self.request(request, None).await?.into_body())
    }

    /// The events of all tasks from now on.
    ///
    /// # Errors
    /// As all requests.
    pub async fn all_events(&self) -> Result<AllEventSource, ClientError> {
        Ok(AllEventSource::new(self.send(Method::GET, "/v1/events", None).await?.into_body()))
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<Bytes>,
    ) -> Result<Response<Body>, ClientError> {
        self.request(Request::builder().method(method).uri(path), body).await
    }

    /// Sends a request; an answer that says that it failed is an error.
    async fn request(
        &self,
        request: axum::http::request::Builder,
        body: Option<Bytes>,
    ) -> Result<Response<Body>, ClientError> {
        let json = body.is_some();
        let mut request = request
            .body(Body::from(body.unwrap_or_default()))
            .map_err(|error| ClientError::Answer(error.to_string()))?;
        let headers = request.headers_mut();
        headers.insert(header::HOST, HeaderValue::from_static("mia"));
        if json {
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        let answer = match &self.way {
            Way::Here(router) => match router.clone().oneshot(request).await {
                Ok(answer) => answer,
                Err(never) => match never {},
            },
            Way::Socket(path) => over_socket(path, request).await?,
        };
        if answer.status().is_success() {
            return Ok(answer);
        }
        let status = answer.status();
        let bytes = whole(answer).await?;
        Err(match serde_json::from_slice::<Problem>(&bytes) {
            Ok(problem) => ClientError::Refused(Box::new(problem)),
            Err(_) => ClientError::Answer(format!("status {status}")),
        })
    }
}

async fn over_socket(path: &Path, request: Request<Body>) -> Result<Response<Body>, ClientError> {
    let stream = UnixStream::connect(path).await.map_err(|source| match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
            ClientError::NotRunning(path.to_owned())
        }
        _ => ClientError::Io { path: path.to_owned(), source },
    })?;
    let peer =
        stream.peer_cred().map_err(|source| ClientError::Io { path: path.to_owned(), source })?;
    if peer.uid() != rustix::process::geteuid().as_raw() {
        // The request holds the caller's environment.
        return Err(ClientError::Stranger(path.to_owned()));
    }
    let broken = |error: hyper::Error| ClientError::Broken(told(&error));
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
    // It ends when the answer is read, or nobody wants it any more.
    tokio::spawn(connection);
    let answer = sender.send_request(request).await.map_err(broken)?;
    // The connection is for this request only; it closes with the answer's body.
    Ok(answer.map(|body| Body::new(Held { body, _sender: sender })))
}

/// A body that keeps its connection open until it is read or dropped.
struct Held {
    body: hyper::body::Incoming,
    _sender: hyper::client::conn::http1::SendRequest<Body>,
}

impl hyper::body::Body for Held {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<hyper::body::Frame<Bytes>, hyper::Error>>> {
        std::pin::Pin::new(&mut self.body).poll_frame(context)
    }
}

/// An error with its causes.
fn told(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}

fn json(body: &(impl Serialize + ?Sized)) -> Result<Bytes, ClientError> {
    let bytes = serde_json::to_vec(body).map_err(|e| ClientError::Answer(e.to_string()))?;
    Ok(bytes.into())
}

async fn whole(answer: Response<Body>) -> Result<Bytes, ClientError> {
    let body = Limited::new(answer.into_body(), LARGEST).collect().await;
    Ok(body.map_err(|error| ClientError::Broken(told(error.as_ref())))?.to_bytes())
}

async fn read<T: DeserializeOwned>(answer: Response<Body>) -> Result<T, ClientError> {
    if answer.status() == StatusCode::NO_CONTENT {
        return Err(ClientError::Answer("it is empty".to_owned()));
    }
    let bytes = whole(answer).await?;
    serde_json::from_slice(&bytes).map_err(|error| ClientError::Answer(error.to_string()))
}
