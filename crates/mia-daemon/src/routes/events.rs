//! Events as server-sent events.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::{Stream, StreamExt, stream};
use mia_api::{Gap, Problem, ResumePoint, TaskId};
use mia_core::{AllEvents, AnyEvent, Core, TaskEvents};
use serde::Deserialize;
use tokio::sync::watch;
use utoipa::IntoParams;

use super::frame::{AnyFrame, TaskFrame};
use super::refusals::{Invalid, NoRecord};
use crate::extract::{NoQuery, Path, Query};
use crate::problem::Failed;
use crate::server::{Server, is_true};
use crate::sse::{Encoder, LAST_EVENT_ID};

/// How long a connection may be silent.
const QUIET: Duration = Duration::from_secs(15);

/// From where on, and as what, a task is watched.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Watch {
    /// The place after which events are wanted; none is the beginning.
    #[param(value_type = Option<ResumePoint>, nullable = false)]
    after: Option<String>,
    /// True when the watcher answers the agent's questions.
    #[serde(default)]
    attended: bool,
    /// True to abort the task when this connection closes before its end.
    #[serde(default)]
    attached: bool,
}

/// Aborts a task when this is dropped before the task's end.
#[derive(Debug)]
pub(super) struct Attached {
    core: Core,
    task: Option<TaskId>,
}

impl Attached {
    pub(super) fn new(core: Core, task: TaskId) -> Self {
        Self { core, task: Some(task) }
    }

    /// The task has ended.
    pub(super) fn is_over(&mut self) {
        self.task = None;
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            self.core.abort(task);
        }
    }
}

/// The events of a task, from its beginning or any place on, to its terminal one.
///
/// The stream ends with the terminal event. Who had that already gets the frame `end`, and comes no
/// more. A frame `problem` says why the stream ends before. A connection that closes without either
/// is to be opened again, with the `id` of the last frame.
#[utoipa::path(
    get,
    path = "/v1/tasks/{task}/events",
    operation_id = "watch_task",
    tag = "tasks",
    params(
        ("task" = TaskId, Path, description = "The task.", example = "first"),
        Watch,
        (
            "last-event-id" = Option<ResumePoint>,
            Header,
            nullable = false,
            description = "As `after`, and before it: what a client sends by itself that comes \
                back.",
        ),
    ),
    responses(
        (
            status = 200,
            description = "Its events.",
            body = TaskFrame,
            content_type = "text/event-stream",
        ),
        (status = 404, description = "No such task is on record.", body = Problem),
        Invalid,
        NoRecord,
    ),
)]
pub(super) async fn of_task(
    State(server): State<Server>,
    Path(task): Path<TaskId>,
    Query(watch): Query<Watch>,
    headers: HeaderMap,
) -> Result<Response, Failed> {
    let last = headers.get(LAST_EVENT_ID).map(|id| id.to_str().unwrap_or_default());
    // Who comes back says it in the header; the query is what he began with. Both must be right.
    let after = watch.after.as_deref().map(place).transpose()?;
    let from = last.map(place).transpose()?.or(after).unwrap_or_default();
    let core = server.core();
    let events = core.watch(&task, from, watch.attended).await?;
    let attached = watch.attached.then(|| Attached::new(core, task));
    Ok(stream(&server, events, attached))
}

fn place(text: &str) -> Result<ResumePoint, Failed> {
    text.parse().map_err(|error| Failed::invalid(format!("{error}")))
}

/// The answer that brings a task's events, to its terminal one.
pub(super) fn stream(server: &Server, events: TaskEvents, attached: Option<Attached>) -> Response {
    let state = Streaming { closing: server.closes(), events, attached, over: false };
    answer(stream::unfold(state, async |mut state: Streaming| {
        let chunk = state.next().await?;
        Some((chunk, state))
    }))
}

struct Streaming {
    closing: watch::Receiver<bool>,
    events: TaskEvents,
    attached: Option<Attached>,
    over: bool,
}

impl Streaming {
    async fn next(&mut self) -> Option<Bytes> {
        if self.over {
            return None;
        }
        let mut encoder = Encoder::default();
        let event = tokio::select! {
            biased;
            event = tokio::time::timeout(QUIET, self.events.next()) => event,
            () = is_true(&mut self.closing) => return None,
        };
        let mut next = match event {
            Err(_) => return Some(comment()),
            Ok(None) => {
                self.over = true;
                match self.events.fault() {
                    Some(error) => encoder.problem(Failed::of_store(error).problem()),
                    None => encoder.end(),
                }
                return Some(encoder.finish());
            }
            Ok(event) => event,
        };
        while let Some(event) = next {
            self.over = event.body.is_terminal();
            encoder.event(&event);
            next = if self.over || encoder.is_full() { None } else { self.events.next_waiting() };
        }
        if self.over
            && let Some(attached) = &mut self.attached
        {
            attached.is_over();
        }
        Some(encoder.finish())
    }
}

/// The events of all tasks, from now on.
///
/// Where its reader is too slow, a `gap` says how many are missing.
#[utoipa::path(
    get,
    path = "/v1/events",
    operation_id = "watch_all",
    tag = "tasks",
    responses(
        (
            status = 200,
            description = "The events, without an end.",
            body = AnyFrame,
            content_type = "text/event-stream",
        ),
        Invalid,
    ),
)]
pub(super) async fn of_all(State(server): State<Server>, _: NoQuery) -> Response {
    let every = Every { closing: server.closes(), events: server.core().all_events() };
    // So that a client knows from when on it gets everything.
    let first = stream::once(async { comment() });
    let rest = stream::unfold(every, async |mut every: Every| {
        let chunk = every.next().await?;
        Some((chunk, every))
    });
    answer(first.chain(rest))
}

struct Every {
    closing: watch::Receiver<bool>,
    events: AllEvents,
}

impl Every {
    async fn next(&mut self) -> Option<Bytes> {
        let event = tokio::select! {
            biased;
            event = tokio::time::timeout(QUIET, self.events.next()) => event,
            () = is_true(&mut self.closing) => return None,
        };
        let Ok(event) = event else { return Some(comment()) };
        let mut encoder = Encoder::default();
        // A core that was closed says nothing more; who comes back gets the events of the next one.
        let mut next = Some(event?);
        while let Some(event) = next {
            match event {
                AnyEvent::Event(event) => encoder.event(&event),
                AnyEvent::Missed(missed) => encoder.gap(&Gap { missed }),
            }
            next = if encoder.is_full() { None } else { self.events.next_waiting() };
        }
        Some(encoder.finish())
    }
}

/// Something that only says that the connection lives.
fn comment() -> Bytes {
    let mut encoder = Encoder::default();
    encoder.comment();
    encoder.finish()
}

fn answer(chunks: impl Stream<Item = Bytes> + Send + 'static) -> Response {
    let headers =
        [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
    (headers, Body::from_stream(chunks.map(Ok::<_, Infallible>))).into_response()
}
