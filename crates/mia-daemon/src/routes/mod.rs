//! The API: what each request does. Shapes are in `mia-api`; the core does the work.

mod conversations;
mod daemon;
mod events;
mod history;
mod plugins;
mod tasks;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use axum::routing::{get, post, put};

use crate::problem::Failed;
use crate::server::{Server, VERSION};

/// The largest body of a request, in bytes: prompts of 64 MiB and a few pictures.
pub const LARGEST_BODY: usize = 160 * 1024 * 1024;

/// The header of every answer that says which version of Mia answers.
pub(crate) const VERSION_HEADER: &str = "mia-version";

/// All requests that there are.
pub fn router(server: Server) -> Router {
    Router::new()
        .route("/v1/health", get(daemon::health))
        .route("/v1/ready", get(daemon::ready))
        .route("/v1/status", get(daemon::status))
        .route("/v1/stop", post(daemon::stop))
        .route("/metrics", get(daemon::metrics))
        .route("/v1/tasks", get(tasks::list).post(tasks::dispatch))
        .route("/v1/tasks/{task}", get(tasks::show))
        .route("/v1/tasks/{task}/events", get(events::of_task))
        .route("/v1/tasks/{task}/abort", post(tasks::abort))
        .route("/v1/tasks/{task}/permissions/{permission}", post(tasks::answer))
        .route("/v1/abort", post(tasks::abort_all))
        .route("/v1/events", get(events::of_all))
        .route("/v1/conversations", get(conversations::list))
        .route(
            "/v1/conversations/{conversation}",
            get(conversations::show).patch(conversations::rename).delete(conversations::delete),
        )
        .route("/v1/cleanup", post(conversations::cleanup))
        .route("/v1/plugins", get(plugins::list).post(plugins::list_for))
        .route("/v1/plugins/{plugin}", get(plugins::show).post(plugins::show_for))
        .route("/v1/plugins/{plugin}/test", post(plugins::test))
        .route("/v1/active-plugin", put(plugins::switch))
        .route("/v1/history", get(history::list))
        .route("/v1/usage", get(history::usage))
        .fallback(async || Failed::not_found("there is no such path in this API"))
        .method_not_allowed_fallback(async || {
            Failed::new(
                StatusCode::METHOD_NOT_ALLOWED,
                "method_not_allowed",
                "this path does not take that method",
            )
        })
        .layer(DefaultBodyLimit::max(LARGEST_BODY))
        .layer(axum::middleware::map_response(with_version))
        .with_state(server)
}

async fn with_version(mut response: Response) -> Response {
    let name = HeaderName::from_static(VERSION_HEADER);
    response.headers_mut().insert(name, HeaderValue::from_static(VERSION));
    response
}
