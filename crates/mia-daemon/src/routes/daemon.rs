//! The daemon itself.

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use mia_api::{DaemonStatus, Problem, Stop};
use mia_core::Moment;
use mia_store::Filter;

use super::refusals::{BadBody, Invalid};
use crate::extract::{MaybeBody, NoQuery};
use crate::openapi;
use crate::problem::Failed;
use crate::server::{End, Server};

/// The media type of the text format of metrics.
const METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Whether the daemon lives.
#[utoipa::path(
    get,
    path = "/v1/health",
    operation_id = "health",
    tag = "daemon",
    responses(
        (status = 200, description = "It answers.", body = str, content_type = "text/plain"),
        Invalid,
    ),
)]
pub(super) async fn health(_: NoQuery) -> &'static str {
    "ok\n"
}

/// Whether the daemon takes prompts.
///
/// It does not while nothing can be put on record, and when it is about to stop.
#[utoipa::path(
    get,
    path = "/v1/ready",
    operation_id = "ready",
    tag = "daemon",
    responses(
        (status = 200, description = "It does.", body = str, content_type = "text/plain"),
        (
            status = 503,
            description = "It does not: `not_ready`, or what is wrong with the record.",
            body = Problem,
        ),
        (
            status = 507,
            description = "No space is left for the record: `store_disk_full`.",
            body = Problem,
        ),
        Invalid,
    ),
)]
pub(super) async fn ready(
    State(server): State<Server>,
    _: NoQuery,
) -> Result<&'static str, Failed> {
    let unready = |why: String| Failed::new(StatusCode::SERVICE_UNAVAILABLE, "not_ready", why);
    if let Some(why) = server.read_only() {
        return Err(unready(format!("nothing can be put on record: {why}")));
    }
    let core = server.core();
    if core.is_stopping() {
        return Err(unready("the daemon is about to stop".to_owned()));
    }
    core.store().recent(&Filter { limit: 1, ..Filter::default() }).await?;
    Ok("ready\n")
}

/// How the daemon is.
///
/// Its process, version and socket, and what waits and runs. The configuration is looked at before.
#[utoipa::path(
    get,
    path = "/v1/status",
    operation_id = "status",
    tag = "daemon",
    responses(
        (status = 200, description = "The daemon.", body = DaemonStatus),
        Invalid,
    ),
)]
pub(super) async fn status(State(server): State<Server>, _: NoQuery) -> Json<DaemonStatus> {
    server.core().refresh().await;
    Json(server.status().await)
}

/// Asks the daemon to end.
///
/// It takes no more prompts, and ends when what was accepted is over; with `now` it interrupts that:
/// each task ends as `ABORTED`, cause `interrupted`, its text kept.
#[utoipa::path(
    post,
    path = "/v1/stop",
    operation_id = "stop",
    tag = "daemon",
    request_body = Option<Stop>,
    responses(
        (status = 202, description = "The daemon, and what it waits for.", body = DaemonStatus),
        BadBody,
    ),
)]
pub(super) async fn stop(
    State(server): State<Server>,
    _: NoQuery,
    MaybeBody(Stop { now }): MaybeBody<Stop>,
) -> (StatusCode, Json<DaemonStatus>) {
    server.end(if now { End::Now } else { End::Patient });
    (StatusCode::ACCEPTED, Json(server.status().await))
}

/// Counts of what has happened since the daemon began, for Prometheus.
///
/// The names and what they count are in docs/daemon.md.
#[utoipa::path(
    get,
    path = "/metrics",
    operation_id = "metrics",
    tag = "daemon",
    responses(
        (
            status = 200,
            description = "Text in the OpenMetrics format.",
            body = str,
            content_type = METRICS,
        ),
        Invalid,
    ),
)]
pub(super) async fn metrics(State(server): State<Server>, _: NoQuery) -> impl IntoResponse {
    let core = server.core();
    let (in_flight, queued) = core.at_work();
    let plugins = core.plugins();
    let names = plugins.registry().names();
    let plugins = names.map(|name| (name.to_owned(), core.breaker(name).is_some())).collect();
    let text = core.meter().render(&Moment { in_flight, queued, plugins });
    ([(header::CONTENT_TYPE, METRICS)], text)
}

/// This document.
///
/// It says what this very daemon does: it is made from the code.
#[utoipa::path(
    get,
    path = "/openapi.json",
    operation_id = "openapi",
    tag = "daemon",
    responses(
        (
            status = 200,
            description = "OpenAPI 3.1.",
            body = serde_json::Value,
            content_type = "application/json",
        ),
        (status = 500, description = "An error in Mia: `internal`.", body = Problem),
        Invalid,
    ),
)]
pub(super) async fn document(_: NoQuery) -> Result<impl IntoResponse, Failed> {
    let text = openapi::text().map_err(|error| Failed::internal(&error))?;
    Ok(([(header::CONTENT_TYPE, "application/json")], text))
}
