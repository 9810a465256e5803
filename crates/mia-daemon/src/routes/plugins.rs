//! Plugins: to see them, to switch, to try one.

use std::fs;
use std::path::Path as FilePath;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use mia_api::{
    ConversationId, DispatchOptions, EventBody, PermissionPolicy, PluginStatus, Problem,
    Surroundings, Switch, Switched, TaskId, Tested,
};
use mia_core::{DispatchRequest, RegistryError};
use mia_plugin::Environment;
use tokio::sync::oneshot;

use super::refusals::{BadBody, Invalid, NoRecord};
use super::tasks::accept;
use crate::extract::{Body, MaybeBody, NoQuery, Path};
use crate::problem::Failed;
use crate::server::Server;

/// How long a test may take.
const TEST: Duration = Duration::from_secs(120);
/// What stands for the plugin that is asked when none is named.
const ACTIVE: &str = "-";

/// The plugins, as the daemon's own environment finds their agents.
#[utoipa::path(
    get,
    path = "/v1/plugins",
    operation_id = "list_plugins",
    tag = "plugins",
    responses(
        (status = 200, description = "The plugins.", body = [PluginStatus]),
        Invalid,
    ),
)]
pub(super) async fn list(State(server): State<Server>, _: NoQuery) -> Json<Vec<PluginStatus>> {
    Json(server.core().statuses(&server.environment(None)).await)
}

/// The plugins, as somebody with that environment finds their agents.
///
/// It changes nothing; the environment is in a body because it is no part of an address.
#[utoipa::path(
    post,
    path = "/v1/plugins",
    operation_id = "list_plugins_for",
    tag = "plugins",
    request_body = Option<Surroundings>,
    responses(
        (status = 200, description = "The plugins.", body = [PluginStatus]),
        BadBody,
    ),
)]
pub(super) async fn list_for(
    State(server): State<Server>,
    _: NoQuery,
    MaybeBody(Surroundings { environment }): MaybeBody<Surroundings>,
) -> Json<Vec<PluginStatus>> {
    Json(server.core().statuses(&server.environment(environment)).await)
}

/// A plugin, as the daemon's own environment finds its agent.
#[utoipa::path(
    get,
    path = "/v1/plugins/{plugin}",
    operation_id = "show_plugin",
    tag = "plugins",
    params(("plugin" = String, Path, description = "The plugin's name.", example = "guide")),
    responses(
        (status = 200, description = "The plugin.", body = PluginStatus),
        (status = 404, description = "There is no such plugin: `no_plugin`.", body = Problem),
        Invalid,
    ),
)]
pub(super) async fn show(
    State(server): State<Server>,
    Path(name): Path<String>,
    _: NoQuery,
) -> Result<Json<PluginStatus>, Failed> {
    one(&server, &name, &server.environment(None)).await
}

/// A plugin, as somebody with that environment finds its agent.
///
/// It changes nothing.
#[utoipa::path(
    post,
    path = "/v1/plugins/{plugin}",
    operation_id = "show_plugin_for",
    tag = "plugins",
    params(("plugin" = String, Path, description = "The plugin's name.", example = "guide")),
    request_body = Option<Surroundings>,
    responses(
        (status = 200, description = "The plugin.", body = PluginStatus),
        (status = 404, description = "There is no such plugin: `no_plugin`.", body = Problem),
        BadBody,
    ),
)]
pub(super) async fn show_for(
    State(server): State<Server>,
    Path(name): Path<String>,
    _: NoQuery,
    MaybeBody(Surroundings { environment }): MaybeBody<Surroundings>,
) -> Result<Json<PluginStatus>, Failed> {
    one(&server, &name, &server.environment(environment)).await
}

async fn one(
    server: &Server,
    name: &str,
    environment: &Environment,
) -> Result<Json<PluginStatus>, Failed> {
    server.core().status(name, environment).await.map(Json).map_err(in_path)
}

/// A name that stands in the path is what was not found.
fn in_path(error: RegistryError) -> Failed {
    let unknown = matches!(error, RegistryError::Unknown { .. });
    let failed = Failed::from(error);
    if unknown { failed.with_status(StatusCode::NOT_FOUND) } else { failed }
}

/// Switches to a plugin: from now on it is asked when none is named.
///
/// That is written into the configuration file.
#[utoipa::path(
    put,
    path = "/v1/active-plugin",
    operation_id = "switch_plugin",
    tag = "plugins",
    request_body = Switch,
    responses(
        (
            status = 200,
            description = "It is active, and perhaps can't answer yet.",
            body = Switched,
        ),
        (
            status = 409,
            description = "The configuration file can't be changed: `configuration`.",
            body = Problem,
        ),
        (status = 500, description = "An error in Mia: `internal`.", body = Problem),
        BadBody,
    ),
)]
pub(super) async fn switch(
    State(server): State<Server>,
    _: NoQuery,
    Body(Switch { name, environment }): Body<Switch>,
) -> Result<Json<Switched>, Failed> {
    let core = server.core();
    core.refresh().await;
    let plugins = core.plugins();
    let plugin = plugins.registry().get(&name)?;
    if !plugins.is_enabled(&name) {
        return Err(plugins.disabled(&name).into());
    }
    // A file system may be slow.
    let file = server.places().config_file.clone();
    let chosen = name.clone();
    let edited =
        tokio::task::spawn_blocking(move || mia_config::set(&file, "active_plugin", &chosen));
    let edited = edited.await.map_err(|error| Failed::internal(&error))??;
    core.refresh().await;
    let environment = server.environment(environment);
    let missing = match plugins.refusal(&name) {
        Some(refusal) => Some(refusal.clone()),
        None => plugin.locate(&environment, FilePath::new("/")).err(),
    };
    let (problem, hint) = missing.map(|e| (Some(e.message), e.hint)).unwrap_or_default();
    Ok(Json(Switched { file: edited.file.into(), problem, hint }))
}

/// Asks a plugin's agent for one word, and waits for it.
///
/// It is asked in an empty folder of its own: the agent sees no project, and nobody who goes on with
/// the last conversation of a folder finds the test. When the connection closes before, the test is
/// aborted.
#[utoipa::path(
    post,
    path = "/v1/plugins/{plugin}/test",
    operation_id = "test_plugin",
    tag = "plugins",
    params((
        "plugin" = String,
        Path,
        description = "The plugin's name; `-` is the one that is asked when none is named.",
        example = "guide",
    )),
    request_body = Option<Surroundings>,
    responses(
        (status = 200, description = "What came of it, well or not.", body = Tested),
        (status = 404, description = "There is no such plugin: `no_plugin`.", body = Problem),
        (status = 429, description = "Too much waits: `concurrency_limit`.", body = Problem),
        BadBody,
        NoRecord,
    ),
)]
pub(super) async fn test(
    State(server): State<Server>,
    Path(name): Path<String>,
    _: NoQuery,
    MaybeBody(Surroundings { environment }): MaybeBody<Surroundings>,
) -> Result<Json<Tested>, Failed> {
    let core = server.core();
    core.refresh().await;
    if name != ACTIVE {
        core.plugins().registry().get(&name).map(drop).map_err(in_path)?;
    }
    let task = TaskId::generate();
    let folder = server.places().runs_dir.join(task.as_str());
    fs::create_dir_all(&folder).map_err(|error| {
        let message = format!("can't make the folder {}: {error}", folder.display());
        Failed::new(StatusCode::SERVICE_UNAVAILABLE, "folder", message)
    })?;
    let mut options = DispatchOptions::new(task, ConversationId::generate(), folder.clone());
    options.permissions = Some(PermissionPolicy::ReadOnly);
    options.timeout_ms = Some(u64::try_from(TEST.as_millis()).unwrap_or(u64::MAX));
    options.skip_context = true;
    let request = DispatchRequest {
        prompt: "This is a test of the connection. Answer with the one word: ok".to_owned(),
        plugin: (name != ACTIVE).then_some(name),
        fallback: Some(false),
        ignore_breaker: true,
        options,
        environment: server.environment(environment),
        attended: false,
    };
    // In a task of its own, which sees the agent's end and removes the folder then. Whoever asks for a
    // test and goes away does not want it any more: this is dropped.
    let (_waits, gone) = oneshot::channel();
    let tested = tokio::spawn(async move {
        let tested = tried(&server, request, gone).await;
        // What an agent may have left in it is not worth a message.
        let _ = tokio::task::spawn_blocking(move || fs::remove_dir_all(folder)).await;
        tested
    });
    tested.await.map_err(|error| Failed::internal(&error))?.map(Json)
}

/// Asks the agent, and aborts that when nobody waits for it any more.
async fn tried(
    server: &Server,
    request: DispatchRequest,
    mut gone: oneshot::Receiver<()>,
) -> Result<Tested, Failed> {
    let (mut events, _) = accept(server, request, false).await?;
    let mut waited_for = true;
    loop {
        let event = tokio::select! {
            event = events.next() => event,
            _ = &mut gone, if waited_for => {
                waited_for = false;
                server.core().abort(&events.task_id);
                continue;
            }
        };
        match event.map(|event| event.body) {
            Some(EventBody::Complete { result }) => {
                return Ok(Tested { result: Some(*result), error: None });
            }
            Some(EventBody::Error { error }) => {
                return Ok(Tested { result: None, error: Some(*error) });
            }
            Some(_) => {}
            None => {
                let message = "the test ended without a result";
                return Err(Failed::new(StatusCode::SERVICE_UNAVAILABLE, "no_end", message));
            }
        }
    }
}
