//! The list of all requests: what is on it is served and described, and nothing else is.

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{conversations, daemon, events, history, plugins, tasks};
use crate::problem::Failed;
use crate::server::{Server, VERSION};

/// The largest body of a request, in bytes: prompts of 64 MiB and a few pictures.
pub const LARGEST_BODY: usize = 160 * 1024 * 1024;

/// The header of every answer that says which version of Mia answers.
pub(crate) const VERSION_HEADER: &str = "mia-version";

/// All requests that there are, each with its description. The paths and methods are those of the
/// descriptions.
pub(crate) fn described() -> OpenApiRouter<Server> {
    OpenApiRouter::default()
        .routes(routes!(daemon::health))
        .routes(routes!(daemon::ready))
        .routes(routes!(daemon::status))
        .routes(routes!(daemon::stop))
        .routes(routes!(daemon::metrics))
        .routes(routes!(daemon::document))
        .routes(routes!(tasks::list, tasks::dispatch))
        .routes(routes!(tasks::show))
        .routes(routes!(events::of_task))
        .routes(routes!(tasks::abort))
        .routes(routes!(tasks::answer))
        .routes(routes!(tasks::abort_all))
        .routes(routes!(events::of_all))
        .routes(routes!(conversations::list))
        .routes(routes!(conversations::show, conversations::rename, conversations::delete))
        .routes(routes!(conversations::cleanup))
        .routes(routes!(plugins::list, plugins::list_for))
        .routes(routes!(plugins::show, plugins::show_for))
        .routes(routes!(plugins::test))
        .routes(routes!(plugins::switch))
        .routes(routes!(history::list))
        .routes(routes!(history::usage))
}

/// The API.
pub fn router(server: Server) -> Router {
    Router::from(described())
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
