//! Tasks: to dispatch a prompt, to see it, to end it, to answer its questions.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use mia_api::{
    Aborted, ConversationId, DispatchAccepted, DispatchBody, DispatchOptions, PermissionAnswer,
    TaskId, TaskRecord, TaskSummary,
};
use mia_core::DispatchRequest;
use mia_store::StoreError;

use super::events::{Attached, stream};
use crate::extract::{Body, Path};
use crate::problem::Failed;
use crate::server::Server;

pub(super) async fn dispatch(
    State(server): State<Server>,
    headers: HeaderMap,
    Body(body): Body<DispatchBody>,
) -> Result<Response, Failed> {
    let streams = headers
        .get_all(header::ACCEPT)
        .iter()
        .any(|accept| accept.to_str().is_ok_and(|accept| accept.contains("text/event-stream")));
    if body.attached && !streams {
        let why = "attached is only for who takes the events: send Accept: text/event-stream";
        return Err(Failed::invalid(why));
    }
    let (attached, attended) = (body.attached, body.attended);
    let request = request(&server, body).await?;
    let core = server.core();
    let mut events = core.dispatch(request).await?;
    if streams {
        let attached = attached.then(|| Attached::new(core, events.task_id.clone()));
        return Ok(stream(&server, events, attached));
    }
    if attended {
        events.attend_to_the_end();
    }
    let accepted = DispatchAccepted {
        task_id: events.task_id.clone(),
        conversation_id: events.conversation_id.clone(),
        already: events.already,
    };
    let location = format!("/v1/tasks/{}", accepted.task_id);
    Ok((StatusCode::ACCEPTED, [(header::LOCATION, location)], Json(accepted)).into_response())
}

/// What the core is asked for a body.
async fn request(server: &Server, body: DispatchBody) -> Result<DispatchRequest, Failed> {
    let cwd = body.working_directory.into_path();
    let conversation = match (body.conversation_id, body.continue_last) {
        (Some(_), true) => {
            return Err(Failed::invalid("give conversation_id or continue_last, not both"));
        }
        (Some(id), false) => id,
        (None, false) => match &body.task_id {
            // The same task again is of the same conversation, whatever that was called.
            Some(task) => match server.core().store().conversation_of(task).await {
                Ok(conversation) => conversation,
                Err(StoreError::UnknownTask { .. }) => ConversationId::generate(),
                Err(error) => return Err(error.into()),
            },
            None => ConversationId::generate(),
        },
        (None, true) => {
            server.core().store().last_conversation(Some(&cwd)).await?.ok_or_else(|| {
                let message = format!("there is no conversation in {} yet", cwd.display());
                Failed::new(StatusCode::UNPROCESSABLE_ENTITY, "no_conversation", message)
                    .with_help("leave --continue out to begin one")
            })?
        }
    };
    let task = body.task_id.unwrap_or_else(TaskId::generate);
    let mut options = DispatchOptions::new(task, conversation, cwd);
    options.model = body.model;
    options.timeout_ms = body.timeout_ms;
    options.mode = body.mode;
    options.images = body.images;
    options.files = body.files;
    options.skip_context = body.skip_context;
    options.permissions = body.permissions;
    options.env = body.env;
    Ok(DispatchRequest {
        prompt: body.prompt,
        plugin: body.plugin,
        fallback: body.fallback,
        ignore_breaker: false,
        options,
        environment: server.environment(body.environment),
        attended: body.attended,
    })
}

pub(super) async fn list(State(server): State<Server>) -> Result<Json<Vec<TaskSummary>>, Failed> {
    Ok(Json(server.unfinished().await?))
}

pub(super) async fn show(
    State(server): State<Server>,
    Path(task): Path<TaskId>,
) -> Result<Json<TaskRecord>, Failed> {
    let record = server.core().store().task(&task).await?;
    record.map(Json).ok_or_else(|| Failed::not_found(format!("no task {task} is on record")))
}

pub(super) async fn abort(
    State(server): State<Server>,
    Path(task): Path<TaskId>,
) -> Result<(StatusCode, Json<Aborted>), Failed> {
    let core = server.core();
    let mut tasks = Vec::new();
    if core.abort(&task) {
        tasks.push(task);
    } else {
        // An ended one is left alone; one that there never was is a mistake.
        core.store().conversation_of(&task).await?;
    }
    Ok((StatusCode::ACCEPTED, Json(Aborted { tasks })))
}

pub(super) async fn abort_all(State(server): State<Server>) -> (StatusCode, Json<Aborted>) {
    (StatusCode::ACCEPTED, Json(Aborted { tasks: server.core().abort_all() }))
}

pub(super) async fn answer(
    State(server): State<Server>,
    Path((task, permission)): Path<(TaskId, String)>,
    Body(PermissionAnswer { option_id }): Body<PermissionAnswer>,
) -> Result<StatusCode, Failed> {
    let core = server.core();
    core.permissions().answer(&task, &permission, option_id.as_deref())?;
    Ok(StatusCode::NO_CONTENT)
}
