//! One request and its answer.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderValue, Method, Request, Response, StatusCode, header};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use mia_api::{DispatchAccepted, DispatchBody, Problem, ResumePoint, TaskId};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::timeout;
use tower::ServiceExt;

use super::error::{ClientError, told};
use super::events::{AllEventSource, EventSource};
use super::exchange::{Answerer, Patience, exchange};
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
    patience: Patience,
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
        Self { way: Way::Socket(socket.into()), patience: Patience::default() }
    }

    /// To a core in this process.
    #[must_use]
    pub fn within(router: Router) -> Self {
        Self { way: Way::Here(router), patience: Patience::default() }
    }

    /// The same with another patience. A core in this process is waited for in any case.
    #[must_use]
    pub fn with_patience(self, patience: Patience) -> Self {
        Self { patience, ..self }
    }

    /// Gets what a path stands for.
    ///
    /// # Errors
    /// As all requests.
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        self.read(self.send(Method::GET, path, None).await?).await
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
        self.read(self.send(Method::POST, path, Some(json(body)?)).await?).await
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
        self.read(self.send(Method::PUT, path, Some(json(body)?)).await?).await
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
        // The same task again is the same task.
        let again = body.task_id.is_some();
        let answer = self.request(request, Some(json(body)?), again).await?;
        let attended = body.attended;
        let watching =
            Watching { after: ResumePoint::default(), attended, attached: body.attached };
        Ok(EventSource::new(self.clone(), body.task_id.clone(), watching, answer.into_body()))
    }

    /// Dispatches a prompt and leaves it there. When this returns the prompt is on record.
    ///
    /// # Errors
    /// As all requests; a body without a task's id can't be asked again when the connection breaks.
    pub async fn leave(&self, body: &DispatchBody) -> Result<DispatchAccepted, ClientError> {
        let request = Request::builder().method(Method::POST).uri("/v1/tasks");
        let again = body.task_id.is_some();
        self.read(self.request(request, Some(json(body)?), again).await?).await
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
        Ok(self.request(request, None, true).await?.into_body())
    }

    /// The events of all tasks from now on.
    ///
    /// # Errors
    /// As all requests.
    pub async fn all_events(&self) -> Result<AllEventSource, ClientError> {
        let body = self.send(Method::GET, "/v1/events", None).await?.into_body();
        Ok(AllEventSource::new(self.clone(), body))
    }

    /// How long a stream of events may be silent, if that says anything.
    pub(super) fn silence(&self) -> Option<Duration> {
        matches!(self.way, Way::Socket(_)).then_some(self.patience.silence)
    }

    /// Returns when the daemon has answered something.
    ///
    /// # Errors
    /// When it did not.
    pub(super) async fn sign_of_life(&self) -> Result<(), ClientError> {
        match self.send(Method::GET, "/v1/health", None).await {
            Ok(_) | Err(ClientError::Refused(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<Bytes>,
    ) -> Result<Response<Body>, ClientError> {
        // To get or to put twice is as once.
        let again = method == Method::GET || method == Method::PUT;
        self.request(Request::builder().method(method).uri(path), body, again).await
    }

    /// Sends a request; an answer that says that it failed is an error. With `again` it is sent once
    /// more when the connection breaks before anything of an answer has come: a daemon that ends takes
    /// with it who waited to be taken, and the second try tells whether it has ended.
    async fn request(
        &self,
        request: axum::http::request::Builder,
        body: Option<Bytes>,
        again: bool,
    ) -> Result<Response<Body>, ClientError> {
        let json = body.is_some();
        let mut request = request
            .body(body.unwrap_or_default())
            .map_err(|error| ClientError::Answer(error.to_string()))?;
        let headers = request.headers_mut();
        headers.insert(header::HOST, HeaderValue::from_static("mia"));
        if json {
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        let answer = match &self.way {
            Way::Here(router) => match router.clone().oneshot(request.map(Body::from)).await {
                Ok(answer) => answer,
                Err(never) => match never {},
            },
            Way::Socket(path) => {
                let send = |request: Request<Bytes>| {
                    exchange(path, request.map(Body::from), self.patience)
                };
                match send(request.clone()).await {
                    Err(ClientError::Broken(_)) if again => send(request).await?,
                    answer => answer?,
                }
            }
        };
        if answer.status().is_success() {
            return Ok(answer);
        }
        let status = answer.status();
        let bytes = self.whole(answer).await?;
        Err(match serde_json::from_slice::<Problem>(&bytes) {
            Ok(problem) => ClientError::Refused(Box::new(problem)),
            Err(_) => ClientError::Answer(format!("status {status}")),
        })
    }

    /// The whole body of an answer.
    async fn whole(&self, answer: Response<Body>) -> Result<Bytes, ClientError> {
        let answerer = answer.extensions().get::<Answerer>().copied();
        let mut body = answer.into_body();
        let mut bytes = BytesMut::new();
        loop {
            let frame = match answerer {
                Some(Answerer(pid)) => {
                    let after = self.patience.silence;
                    let silent = |_| ClientError::Silent { pid, after };
                    timeout(after, body.frame()).await.map_err(silent)?
                }
                None => body.frame().await,
            };
            let Some(frame) = frame else { return Ok(bytes.freeze()) };
            let frame = frame.map_err(|error| ClientError::Broken(told(&error)))?;
            let data = frame.into_data().unwrap_or_default();
            if bytes.len() + data.len() > LARGEST {
                return Err(ClientError::Answer(format!("it has over {LARGEST} bytes")));
            }
            bytes.extend_from_slice(&data);
        }
    }

    async fn read<T: DeserializeOwned>(&self, answer: Response<Body>) -> Result<T, ClientError> {
        if answer.status() == StatusCode::NO_CONTENT {
            return Err(ClientError::Answer("it is empty".to_owned()));
        }
        let bytes = self.whole(answer).await?;
        serde_json::from_slice(&bytes).map_err(|error| ClientError::Answer(error.to_string()))
    }
}

fn json(body: &(impl Serialize + ?Sized)) -> Result<Bytes, ClientError> {
    let bytes = serde_json::to_vec(body).map_err(|e| ClientError::Answer(e.to_string()))?;
    Ok(bytes.into())
}
