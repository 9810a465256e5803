//! Events as server-sent events.

use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::stream;
use mia_api::{Gap, ResumePoint, TaskId};
use mia_core::{AllEvents, AnyEvent, Core, TaskEvents};
use serde::Deserialize;
use tokio::sync::watch;

use crate::extract::{Path, Query};
use crate::problem::Failed;
use crate::server::{Server, is_true};
use crate::sse::{Encoder, LAST_EVENT_ID};

/// How long a connection may be silent.
const QUIET: Duration = Duration::from_secs(15);

/// From where on, and as what, a task is watched.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Watch {
    /// The place after which events are wanted.
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

pub(super) async fn of_task(
    State(server): State<Server>,
    Path(task): Path<TaskId>,
    Query(watch): Query<Watch>,
    headers: HeaderMap,
) -> Result<Response, Failed> {
    let last = headers.get(LAST_EVENT_ID).map(|id| id.to_str().unwrap_or_default().to_owned());
    // Who comes back says it in the header; the query is what he began with.
    let from = match last.or(watch.after) {
        Some(text) => text.parse().map_err(|error| Failed::invalid(format!("{error}")))?,
        None => ResumePoint::default(),
    };
    let core = server.core();
    let events = core.watch(&task, from, watch.attended).await?;
    let attached = watch.attached.then(|| Attached::new(core, task));
    Ok(stream(&server, events, attached))
}

/// The answer that brings a task's events, to its terminal one.
pub(super) fn stream(server: &Server, events: TaskEvents, attached: Option<Attached>) -> Response {
    let state = Streaming { closing: server.closes(), events, attached, over: false };
    answer(stream::unfold(state, async |mut state: Streaming| {
        let chunk = state.next().await?;
        Some((Ok::<_, std::convert::Infallible>(chunk), state))
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
        let mut encoder = Encoder::new();
        let event = tokio::select! {
            biased;
            event = tokio::time::timeout(QUIET, self.events.next()) => event,
            () = is_true(&mut self.closing) => return None,
        };
        let mut next = match event {
            Err(_) => {
                encoder.comment();
                return Some(encoder.finish());
            }
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

pub(super) async fn of_all(State(server): State<Server>) -> Response {
    let events = server.core().all_events();
    let closing = server.closes();
    answer(stream::unfold((closing, events, true), async |(mut closing, mut events, first)| {
        let chunk = any(&mut closing, &mut events, first).await?;
        Some((Ok::<_, std::convert::Infallible>(chunk), (closing, events, false)))
    }))
}

async fn any(
    closing: &mut watch::Receiver<bool>,
    events: &mut AllEvents,
    first: bool,
) -> Option<Bytes> {
    let mut encoder = Encoder::new();
    if first {
        // So that a client knows from when on it gets everything.
        encoder.comment();
        return Some(encoder.finish());
    }
    let event = tokio::select! {
        biased;
        event = tokio::time::timeout(QUIET, events.next()) => event,
        () = is_true(closing) => return None,
    };
    let Ok(event) = event else {
        encoder.comment();
        return Some(encoder.finish());
    };
    let mut next = Some(event);
    while let Some(event) = next {
        match event {
            AnyEvent::Event(event) => encoder.event(&event),
            AnyEvent::Missed(missed) => encoder.gap(&Gap { missed }),
        }
        next = if encoder.is_full() { None } else { events.next_waiting() };
    }
    Some(encoder.finish())
}

fn answer<S>(stream: S) -> Response
where
    S: futures::Stream<Item = Result<Bytes, std::convert::Infallible>> + Send + 'static,
{
    let headers =
        [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
    (headers, Body::from_stream(stream)).into_response()
}
