//! Plugins: to see them, to switch, to try one.

use std::fs;
use std::path::Path as FilePath;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use mia_api::{
    ConversationId, DispatchOptions, EventBody, PermissionPolicy, PluginStatus, Surroundings,
    Switch, Switched, TaskId, Tested,
};
use mia_core::{DispatchRequest, RegistryError};
use mia_plugin::Environment;

use super::events::Attached;
use crate::extract::{Body, MaybeBody, Path};
use crate::problem::Failed;
use crate::server::Server;

/// How long a test may take.
const TEST: Duration = Duration::from_secs(120);
/// What stands for the plugin that is asked when none is named.
const ACTIVE: &str = "-";

pub(super) async fn list(State(server): State<Server>) -> Json<Vec<PluginStatus>> {
    Json(server.core().statuses(&server.environment(None)).await)
}

pub(super) async fn list_for(
    State(server): State<Server>,
    MaybeBody(Surroundings { environment }): MaybeBody<Surroundings>,
) -> Json<Vec<PluginStatus>> {
    Json(server.core().statuses(&server.environment(environment)).await)
}

pub(super) async fn show(
    State(server): State<Server>,
    Path(name): Path<String>,
) -> Result<Json<PluginStatus>, Failed> {
    one(&server, &name, &server.environment(None)).await
}

pub(super) async fn show_for(
    State(server): State<Server>,
    Path(name): Path<String>,
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

pub(super) async fn switch(
    State(server): State<Server>,
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

/// Asks in an empty folder of its own: the agent sees no project, and nobody who goes on with the last
/// conversation of a folder finds the test.
pub(super) async fn test(
    State(server): State<Server>,
    Path(name): Path<String>,
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
    let folder = Scratch(folder);
    let mut options = DispatchOptions::new(task, ConversationId::generate(), folder.0.clone());
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
    let mut events = core.dispatch(request).await?;
    // Whoever asks for a test and goes away does not want it any more.
    let mut attached = Attached::new(core, events.task_id.clone());
    while let Some(event) = events.next().await {
        let tested = match event.body {
            EventBody::Complete { result } => Tested { result: Some(*result), error: None },
            EventBody::Error { error } => Tested { result: None, error: Some(*error) },
            _ => continue,
        };
        attached.is_over();
        return Ok(Json(tested));
    }
    Err(Failed::new(StatusCode::SERVICE_UNAVAILABLE, "no_end", "the test ended without a result"))
}

/// A folder that goes away with this; what an agent may have left in it is not worth a message.
struct Scratch(std::path::PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
