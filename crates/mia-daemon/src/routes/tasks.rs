//! Tasks: to dispatch a prompt, to see it, to end it, to answer its questions.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use mia_api::{
    Aborted, ConversationId, DispatchAccepted, DispatchBody, DispatchOptions, PermissionAnswer,
    Problem, TaskId, TaskRecord, TaskSummary,
};
use mia_core::{DispatchRequest, Refused, TaskEvents};
use mia_store::StoreError;

use super::events::{Attached, stream};
use super::frame::TaskFrame;
use super::refusals::{BadBody, Invalid, NoRecord};
use crate::extract::{Body, NoQuery, Path};
use crate::problem::Failed;
use crate::server::Server;

/// Dispatches a prompt.
///
/// It is on record when the answer comes. Its `task_id` is an idempotency key: the same again, with
/// the same prompt and conversation, is the same task and is answered once.
///
/// With `Accept: text/event-stream` the answer is the task's events.
#[utoipa::path(
    post,
    path = "/v1/tasks",
    operation_id = "dispatch",
    tag = "tasks",
    request_body(
        content = DispatchBody,
        example = json!({
            "prompt": "what is this repository?",
            "working_directory": "/",
            "plugin": "guide",
        }),
    ),
    responses(
        (
            status = 200,
            description = "Its events, as `watch_task` gives them from the beginning.",
            body = TaskFrame,
            content_type = "text/event-stream",
        ),
        (
            status = 202,
            description = "It is on record.",
            body = DispatchAccepted,
            headers(("location" = String, description = "The path of the task.")),
        ),
        (
            status = 409,
            description = "The id is taken by another prompt or conversation: `task_conflict`.",
            body = Problem,
        ),
        (
            status = 429,
            description = "Too many tasks of the conversation wait: `concurrency_limit`.",
            body = Problem,
        ),
        BadBody,
        NoRecord,
    ),
)]
pub(super) async fn dispatch(
    State(server): State<Server>,
    _: NoQuery,
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
    let (mut events, attached) = accept(&server, request, attached).await?;
    if streams {
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

/// Puts a prompt on record. One that is attached is aborted when its client goes away, also while it is
/// being put there: what the task that does it comes to is dropped then.
pub(super) async fn accept(
    server: &Server,
    request: DispatchRequest,
    attached: bool,
) -> Result<(TaskEvents, Option<Attached>), Failed> {
    let core = server.core();
    let accepting = tokio::spawn(async move {
        let events = core.dispatch(request).await?;
        let attached = attached.then(|| Attached::new(core, events.task_id.clone()));
        Ok((events, attached))
    });
    let accepted = accepting.await.map_err(|error| Failed::internal(&error))?;
    accepted.map_err(|refused| match (&refused, server.read_only()) {
        // What keeps this daemon from writing says more than that it can't.
        (Refused::Store(_), Some(why)) => Failed::not_recorded(&why),
        _ => refused.into(),
    })
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

/// What waits and runs, the newest first.
#[utoipa::path(
    get,
    path = "/v1/tasks",
    operation_id = "list_tasks",
    tag = "tasks",
    responses(
        (status = 200, description = "The tasks.", body = [TaskSummary]),
        Invalid,
        NoRecord,
    ),
)]
pub(super) async fn list(
    State(server): State<Server>,
    _: NoQuery,
) -> Result<Json<Vec<TaskSummary>>, Failed> {
    Ok(Json(server.unfinished().await?))
}

/// A task in full.
#[utoipa::path(
    get,
    path = "/v1/tasks/{task}",
    operation_id = "show_task",
    tag = "tasks",
    params(("task" = TaskId, Path, description = "The task.", example = "first")),
    responses(
        (status = 200, description = "The task.", body = TaskRecord),
        (status = 404, description = "No such task is on record.", body = Problem),
        Invalid,
        NoRecord,
    ),
)]
pub(super) async fn show(
    State(server): State<Server>,
    Path(task): Path<TaskId>,
    _: NoQuery,
) -> Result<Json<TaskRecord>, Failed> {
    let record = server.core().store().task(&task).await?;
    record.map(Json).ok_or_else(|| Failed::not_found(format!("no task {task} is on record")))
}

/// Asks a task to end.
///
/// It has ended when its terminal event comes. One that has ended already is left alone.
#[utoipa::path(
    post,
    path = "/v1/tasks/{task}/abort",
    operation_id = "abort_task",
    tag = "tasks",
    params(("task" = TaskId, Path, description = "The task.", example = "first")),
    responses(
        (status = 202, description = "The task, or none where it had ended.", body = Aborted),
        (status = 404, description = "No such task is on record.", body = Problem),
        Invalid,
        NoRecord,
    ),
)]
pub(super) async fn abort(
    State(server): State<Server>,
    Path(task): Path<TaskId>,
    _: NoQuery,
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

/// Asks all tasks to end.
///
/// What waits first, so that nothing begins because another one ends.
#[utoipa::path(
    post,
    path = "/v1/abort",
    operation_id = "abort_all",
    tag = "tasks",
    responses(
        (status = 202, description = "The tasks.", body = Aborted),
        Invalid,
    ),
)]
pub(super) async fn abort_all(
    State(server): State<Server>,
    _: NoQuery,
) -> (StatusCode, Json<Aborted>) {
    (StatusCode::ACCEPTED, Json(Aborted { tasks: server.core().abort_all() }))
}

/// Answers a question of an agent, once.
#[utoipa::path(
    post,
    path = "/v1/tasks/{task}/permissions/{permission}",
    operation_id = "answer",
    tag = "tasks",
    params(
        ("task" = TaskId, Path, description = "The task.", example = "first"),
        (
            "permission" = String,
            Path,
            description = "The question: `id` of the event `permission`.",
        ),
    ),
    request_body = PermissionAnswer,
    responses(
        (status = 204, description = "That is the answer."),
        (
            status = 409,
            description = "Nobody asks that, or not any more: `not_waiting`.",
            body = Problem,
        ),
        BadBody,
    ),
)]
pub(super) async fn answer(
    State(server): State<Server>,
    Path((task, permission)): Path<(TaskId, String)>,
    _: NoQuery,
    Body(PermissionAnswer { option_id }): Body<PermissionAnswer>,
) -> Result<StatusCode, Failed> {
    let core = server.core();
    core.permissions().answer(&task, &permission, option_id.as_deref())?;
    Ok(StatusCode::NO_CONTENT)
}
