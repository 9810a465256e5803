//! The daemon itself.

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use mia_api::{DaemonStatus, Stop};
use mia_core::Moment;
use mia_store::Filter;

use crate::extract::MaybeBody;
use crate::problem::Failed;
use crate::server::{End, Server};

/// The media type of the text format of metrics.
const METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

pub(super) async fn health() -> &'static str {
    "ok\n"
}

pub(super) async fn ready(State(server): State<Server>) -> Result<&'static str, Failed> {
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

pub(super) async fn status(State(server): State<Server>) -> Result<Json<DaemonStatus>, Failed> {
    server.core().refresh().await;
    Ok(Json(server.status().await?))
}

pub(super) async fn stop(
    State(server): State<Server>,
    MaybeBody(Stop { now }): MaybeBody<Stop>,
) -> Result<(StatusCode, Json<DaemonStatus>), Failed> {
    server.end(if now { End::Now } else { End::Patient });
    Ok((StatusCode::ACCEPTED, Json(server.status().await?)))
}

pub(super) async fn metrics(State(server): State<Server>) -> impl IntoResponse {
    let core = server.core();
    let (in_flight, queued) = core.at_work();
    let plugins = core.plugins();
    let names = plugins.registry().names();
    let plugins = names.map(|name| (name.to_owned(), core.breaker(name).is_some())).collect();
    let text = core.meter().render(&Moment { in_flight, queued, plugins });
    ([(header::CONTENT_TYPE, METRICS)], text)
}
