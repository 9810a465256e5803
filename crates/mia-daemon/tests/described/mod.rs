//! Answers held against the document of the API that is checked in.

use std::sync::LazyLock;

use axum::Router;
use axum::extract::{MatchedPath, Request};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use serde_json::Value;

static DOCUMENT: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(include_str!("../../../../docs/openapi.json")).unwrap());

/// The same API, which panics when it gives an answer that is not described.
pub(crate) fn as_described(api: Router) -> Router {
    api.layer(from_fn(is_described))
}

async fn is_described(request: Request, next: Next) -> Response {
    let path = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned());
    // What GET serves answers HEAD as well.
    let method = request.method().as_str().to_ascii_lowercase().replace("head", "get");
    let answer = next.run(request).await;
    // Nothing can be described of a path or a method that does not exist.
    if let Some(path) = path
        && answer.status() != StatusCode::METHOD_NOT_ALLOWED
    {
        let status = answer.status().as_u16();
        let path = path.replace('~', "~0").replace('/', "~1");
        let place = format!("/paths/{path}/{method}/responses/{status}");
        assert!(DOCUMENT.pointer(&place).is_some(), "not described: {place}");
    }
    answer
}
