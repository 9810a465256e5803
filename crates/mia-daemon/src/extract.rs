//! What comes in: bodies, parts of the path and the query, refused with a [`Problem`] that says what is
//! wrong with them.
//!
//! [`Problem`]: mia_api::Problem

use std::error::Error;
use std::iter;

use axum::body::{Bytes, HttpBody as _};
use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use serde::de::DeserializeOwned;

use crate::listen::GivenUp;
use crate::misread;
use crate::problem::Failed;
use crate::routes::LARGEST_BODY;

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

/// A body of JSON, or none or null, which stand for the default.
#[derive(Debug)]
pub(crate) struct MaybeBody<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned + Default> FromRequest<S> for MaybeBody<T> {
    type Rejection = Failed;

    async fn from_request(request: Request, state: &S) -> Result<Self, Failed> {
        match body(request, state).await? {
            Some(bytes) if !bytes.is_empty() => {
                parse::<Option<T>>(&bytes).map(|sent| Self(sent.unwrap_or_default()))
            }
            _ => Ok(Self(T::default())),
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
    // What is announced need not be read to know that it is too much.
    if request.body().size_hint().lower() > LARGEST_BODY as u64 {
        return Err(too_large());
    }
    Bytes::from_request(request, state).await.map_err(|rejection| {
        if let Some(given_up) = given_up(&rejection) {
            return given_up.into();
        }
        match rejection.status() {
            StatusCode::PAYLOAD_TOO_LARGE => too_large(),
            status => {
                let message = format!("the body could not be read: {}", rejection.body_text());
                Failed::new(status, "invalid_request", message)
            }
        }
    })
}

fn too_large() -> Failed {
    Failed::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        "invalid_request",
        format!("the body is too large; {LARGEST_BODY} bytes are the most"),
    )
}

fn given_up(rejection: &BytesRejection) -> Option<GivenUp> {
    let first: &(dyn Error + 'static) = rejection;
    iter::successors(Some(first), |&error| error.source())
        .find_map(|error| error.downcast_ref::<GivenUp>().copied())
}

impl From<GivenUp> for Failed {
    fn from(given_up: GivenUp) -> Self {
        match given_up {
            GivenUp::Late => {
                Self::new(StatusCode::REQUEST_TIMEOUT, "invalid_request", given_up.to_string())
            }
            GivenUp::NoRoom => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "no_room", given_up.to_string())
                    .with_help("send it again in a while")
            }
        }
    }
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Failed> {
    serde_json::from_slice(bytes).map_err(|error| {
        let why = misread::why::<T>(bytes, &error);
        Failed::invalid(format!("the body is not what is expected: {why}"))
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

/// No query: who sends one expects something of it, and would not get it.
#[derive(Debug)]
pub(crate) struct NoQuery;

impl<S: Send + Sync> FromRequestParts<S> for NoQuery {
    type Rejection = Failed;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Failed> {
        match parts.uri.query() {
            None | Some("") => Ok(Self),
            Some(_) => {
                Err(Failed::invalid("this request takes no query: leave out the ? and the rest"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mia_api::DispatchBody;

    fn told(body: &str) -> String {
        let failed = parse::<DispatchBody>(body.as_bytes()).unwrap_err();
        failed.problem().message.clone()
    }

    #[test]
    fn what_is_wrong_with_a_body_is_told_without_its_texts() {
        let begins = r#"{"prompt":"p","working_directory":"/","#;
        for wrong in [
            r#""environment":"sk-canary"}"#,
            r#""mode":"sk-canary"}"#,
            r#""mode":"x`, expected `sk-canary` or `"}"#,
            r#""permissions":"sk-canary"}"#,
            r#""permissions":{"sk-canary":null}}"#,
            r#""env":{"A":["sk-canary"]}}"#,
            r#""env":{"sk-canary":1}}"#,
            r#""env":{"A":"sk-canary","A":1}}"#,
            r#""timeout_ms":"a\\\"sk-canary"}"#,
            r#""task_id":"../sk-canary"}"#,
            r#""task_id":"invalid type: x, expected sk-canary"}"#,
            r#""environment":[{"name":"A","value":{"base64":"sk-canary"}}]}"#,
            r#""environment":[{"name":"A","sk-canary":"x"}]}"#,
            r#""sk-canary":1}"#,
            r#""x`, expected `sk-canary":1}"#,
            r#""mode":"coding","mode":"sk-canary"}"#,
            r#""model":"sk-canary"#,
            r#""model":"sk-canary" sk-canary"#,
        ] {
            let told = told(&format!("{begins}{wrong}"));
            assert!(!told.contains("canary"), "{told}");
            assert!(told.starts_with("the body is not what is expected: "), "{told}");
            assert!(told.contains(" at line 1 column "), "{told}");
        }
        for number in ["-99331", "99331.5", "1e99"] {
            let told = told(&format!("{begins}\"timeout_ms\":{number}}}"));
            assert!(!told.contains("99"), "{told}");
            assert!(told.contains("timeout_ms: another value, expected a whole number"), "{told}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_body_is_told_with_its_place_and_what_may_be_there() {
        let begins = r#"{"prompt":"p","working_directory":"/","#;
        for (wrong, is_told) in [
            (r#""mode":"x"}"#, "mode: unknown word, expected `coding` or `general` at"),
            (
                r#""plugn":"x"}"#,
                ": unknown member, expected `prompt`, `working_directory`, `task_id`",
            ),
            (
                r#""images":[{"media_type":"a","data":""},{"media_type":1}]}"#,
                "images[1].media_type: ",
            ),
            (r#""images":[{"data":""}]}"#, "images[0]: the member `media_type` is missing at"),
            (r#""env":{"A":1}}"#, "env.…: another type of value, expected a string at"),
            (r#""attended":1}"#, "attended: another type of value, expected a boolean at"),
            (r#""files":[[]]}"#, "files[0]: another type of value, expected an object with the"),
            (r#""task_id":"a/b"}"#, "task_id: another value, expected an id"),
            (
                r#""environment":[{"name":5}]}"#,
                "environment[0].name: another value, expected a text",
            ),
            (r#""env":{},"env":{}}"#, ": a member is there twice at line 1 column"),
            (r#""model":}"#, ": it is no JSON: expected value at line 1 column"),
        ] {
            let told = told(&format!("{begins}{wrong}"));
            assert!(told.contains(is_told), "{told}");
        }
        assert!(told("{}").contains(": the member `prompt` is missing at line 1 column 2"));
        assert!(told("[]").contains(": another type of value, expected an object"));
    }
}
