//! What comes in: bodies, parts of the path and the query, refused with a [`Problem`] that says what is
//! wrong with them.
//!
//! [`Problem`]: mia_api::Problem

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use serde::de::DeserializeOwned;

use crate::problem::Failed;

/// A body of JSON.
#[derive(Debug)]
pub(crate) struct Body<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = Failed;

    async fn from_request(request: Request, state: &S) -> Result<Self, Failed> {
        match body(request, state).await? {
            Some(bytes) => parse(&bytes).map(Self),
            None => Err(not_json()),
        }
    }
}

/// A body of JSON, or none, which stands for the default.
#[derive(Debug)]
pub(crate) struct MaybeBody<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned + Default> FromRequest<S> for MaybeBody<T> {
    type Rejection = Failed;

    async fn from_request(request: Request, state: &S) -> Result<Self, Failed> {
        match body(request, state).await? {
            Some(bytes) => parse(&bytes).map(Self),
            None => Ok(Self(T::default())),
        }
    }
}

/// The body; none when there is none and none is announced.
async fn body<S: Send + Sync>(request: Request, state: &S) -> Result<Option<Bytes>, Failed> {
    let json = is_json(request.headers());
    match bytes(request, state).await? {
        bytes if json => Ok(Some(bytes)),
        bytes if bytes.is_empty() => Ok(None),
        _ => Err(not_json()),
    }
}

fn not_json() -> Failed {
    Failed::new(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "invalid_request",
        "the body is not said to be JSON; send it with Content-Type: application/json",
    )
}

fn is_json(headers: &HeaderMap) -> bool {
    let said = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let kind = said.and_then(|said| said.split(';').next()).unwrap_or_default().trim();
    kind.eq_ignore_ascii_case("application/json")
}

async fn bytes<S: Send + Sync>(request: Request, state: &S) -> Result<Bytes, Failed> {
    Bytes::from_request(request, state).await.map_err(|rejection| {
        let message = match &rejection {
            BytesRejection::FailedToBufferBody(_)
                if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE =>
            {
                "the body is too large".to_owned()
            }
            _ => format!("the body could not be read: {}", rejection.body_text()),
        };
        Failed::new(rejection.status(), "invalid_request", message)
    })
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Failed> {
    serde_json::from_slice(bytes).map_err(|error| {
        // The text itself is not repeated: it may hold the caller's environment.
        Failed::invalid(format!("the body is not what is expected: {error}"))
    })
}

/// Parts of the path.
#[derive(Debug)]
pub(crate) struct Path<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Path<T> {
    type Rejection = Failed;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failed> {
        match axum::extract::Path::from_request_parts(parts, state).await {
            Ok(axum::extract::Path(value)) => Ok(Self(value)),
            Err(rejection) => Err(Failed::invalid(rejection.body_text())),
        }
    }
}

/// The query.
#[derive(Debug)]
pub(crate) struct Query<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = Failed;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failed> {
        match axum::extract::Query::from_request_parts(parts, state).await {
            Ok(axum::extract::Query(value)) => Ok(Self(value)),
            Err(rejection) => Err(Failed::invalid(rejection.body_text())),
        }
    }
}
