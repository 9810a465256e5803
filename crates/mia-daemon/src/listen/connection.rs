//! One connection, from its first request to its end.

use std::convert::Infallible;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, header};
use axum::response::Response;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::UnixStream;
use tokio::sync::watch;
use tower::ServiceExt;

use super::body::Patient;
use super::limits::Limits;
use super::room::{Room, Share};
use super::writes::Writes;
use crate::server::is_true;

/// Answers one request after the other. A client that closes its side, even if only for writing, has
/// gone: what runs for it ends.
pub(super) async fn connection(
    stream: UnixStream,
    router: Router,
    mut closing: watch::Receiver<bool>,
    limits: Arc<Limits>,
    room: Room,
) {
    let mut http = hyper::server::conn::http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(limits.head).max_buf_size(limits.head_size);
    let stream = TokioIo::new(Writes::new(stream, limits.unread));
    let service = service_fn(move |request: Request<Incoming>| {
        let (router, limits, share) = (router.clone(), Arc::clone(&limits), room.share());
        async move { Ok::<_, Infallible>(answer(router, request, &limits, share).await) }
    });
    let mut connection = std::pin::pin!(http.serve_connection(stream, service));
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = is_true(&mut closing) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!("a connection ended: {error}");
    }
}

async fn answer(
    router: Router,
    request: Request<Incoming>,
    limits: &Limits,
    share: Arc<Share>,
) -> Response {
    let waits = request.headers().contains_key(header::EXPECT);
    let body = |body| Body::new(Patient::new(body, limits, Arc::clone(&share), waits));
    // What was read of the body is held, as text or as what was made of it, until there is an answer;
    // so is the share.
    match router.oneshot(request.map(body)).await {
        Ok(answer) => answer,
        // A router answers everything.
        Err(never) => match never {},
    }
}
