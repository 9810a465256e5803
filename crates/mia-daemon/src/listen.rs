//! Connections: who may have one, and how much of it.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::Request;
use futures::StreamExt;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Semaphore, watch};
use tower::ServiceExt;

use crate::server::is_true;

/// How many connections may be open; more wait until one closes.
const CONNECTIONS: usize = 8192;
/// How long the head of a request may take, and how large it may be.
const HEAD: Duration = Duration::from_secs(10);
const HEAD_SIZE: usize = 64 * 1024;
/// How long a body may make no progress.
const BODY: Duration = Duration::from_secs(30);
/// How long to wait when the system gives no connection for want of descriptors.
const SHORTAGE: Duration = Duration::from_millis(100);

/// Serves connections until `closing` is ready, and then those that are open to their end. Only this
/// process's own user is served: others are dropped without a byte.
pub async fn serve(listener: UnixListener, router: Router, closing: watch::Receiver<bool>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    let mut closed = closing.clone();
    loop {
        let next = async {
            // The semaphore is never closed.
            let place = Arc::clone(&places).acquire_owned().await;
            (place, listener.accept().await)
        };
        let (place, accepted) = tokio::select! {
            () = is_true(&mut closed) => break,
            next = next => next,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!("can't take a connection: {error}");
                tokio::time::sleep(SHORTAGE).await;
                continue;
            }
        };
        if !is_own(&stream) {
            continue;
        }
        let (router, closing) = (router.clone(), closing.clone());
        tokio::spawn(async move {
            connection(stream, router, closing).await;
            drop(place);
        });
    }
    // Each open connection has a place.
    let all = u32::try_from(CONNECTIONS).unwrap_or(u32::MAX);
    let _ = places.acquire_many(all).await;
}

/// True when the peer is this process's own user.
fn is_own(stream: &UnixStream) -> bool {
    let own = rustix::process::geteuid().as_raw();
    match stream.peer_cred() {
        Ok(peer) if peer.uid() == own => true,
        Ok(peer) => {
            tracing::warn!("user {} was refused", peer.uid());
            false
        }
        Err(error) => {
            tracing::warn!("a connection without credentials was refused: {error}");
            false
        }
    }
}

async fn connection(stream: UnixStream, router: Router, mut closing: watch::Receiver<bool>) {
    let service = service_fn(move |request: Request<Incoming>| {
        let router = router.clone();
        async move {
            // A router answers everything.
            let answer = match router.oneshot(request.map(patient)).await {
                Ok(answer) => answer,
                Err(never) => match never {},
            };
            Ok::<_, Infallible>(answer)
        }
    });
    let mut http = hyper::server::conn::http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD).max_buf_size(HEAD_SIZE);
    let mut connection = std::pin::pin!(http.serve_connection(TokioIo::new(stream), service));
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

/// A body whose sender may not stand still for ever.
fn patient(body: Incoming) -> Body {
    let chunks = Body::new(body).into_data_stream();
    Body::from_stream(futures::stream::unfold(chunks, async |mut chunks| {
        let chunk: Result<Bytes, Box<dyn std::error::Error + Send + Sync>> =
            match tokio::time::timeout(BODY, chunks.next()).await {
                Ok(Some(Ok(chunk))) => Ok(chunk),
                Ok(Some(Err(error))) => Err(error.into()),
                Ok(None) => return None,
                Err(_) => Err("the body made no progress for 30 s".into()),
            };
        Some((chunk, chunks))
    }))
}
