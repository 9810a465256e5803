//! The dispatcher: accepts prompts, and gives the events to follow.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use mia_api::{ConversationId, DispatchOptions, Event, PluginContext, TaskId};
use mia_plugin::{Dispatch, Environment};
use mia_store::{Accepted, NewTask, StoreError};
use tokio::sync::watch;

use crate::core::{Core, Shared};
use crate::plugins::{Candidates, NoPlugin};
use crate::recorder::Recorder;
use crate::task::Task;
use crate::track::Track;
use crate::weighted;

/// A prompt to dispatch.
#[derive(Debug, Clone)]
pub struct DispatchRequest {
    /// The prompt, as the person wrote it.
    pub prompt: String,
    /// The plugin; none means the active one, or the first installed.
    pub plugin: Option<String>,
    /// Whether the configured fallbacks are asked when it fails. None is the rule: not when a
    /// plugin was named.
    pub fallback: Option<bool>,
    /// True asks a plugin although it is left alone after failures in a row: somebody wants to
    /// know whether it is well again.
    pub ignore_breaker: bool,
    /// Everything else.
    pub options: DispatchOptions,
    /// The caller's environment.
    pub environment: Environment,
    /// True when the caller answers questions of the agent; else they are refused at once.
    pub attended: bool,
}

/// Why a prompt was not accepted. Nothing of it is on record.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// There is no plugin to ask.
    #[error(transparent)]
    NoPlugin(#[from] NoPlugin),
    /// The prompt is empty.
    #[error("the prompt is empty; say what is to be done")]
    Empty,
    /// The prompt has a NUL byte, which no agent takes.
    #[error("the prompt has a NUL byte at position {0}; is it text?")]
    Nul(usize),
    /// The working directory can't be used.
    #[error("can't work in {}: {problem}", .path.display())]
    WorkingDirectory {
        /// The directory.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The task id was used before.
    #[error("there is a task {0} already")]
    TaskExists(TaskId),
    /// Too many tasks of the conversation wait (M-37).
    #[error("{waiting} tasks of the conversation {conversation} wait already, which is the limit")]
    QueueFull {
        /// The conversation.
        conversation: ConversationId,
        /// How many wait.
        waiting: u64,
    },
    /// Mia is about to end.
    #[error("mia is about to end and takes no prompts any more")]
    Stopped,
    /// The prompt could not be put on record.
    #[error("the prompt could not be put on record: {0}")]
    Store(#[from] StoreError),
}

/// The events of a task, in order; the last one is its terminal event.
#[derive(Debug)]
pub struct TaskEvents {
    /// The task.
    pub task_id: TaskId,
    /// Its conversation.
    pub conversation_id: ConversationId,
    events: weighted::Receiver<Event>,
}

impl TaskEvents {
    /// The next event; none after the terminal one. Cancel-safe.
    ///
    /// A reader that is slow makes the agent wait; one that is dropped does not end the task.
    pub async fn next(&mut self) -> Option<Event> {
        self.events.recv().await
    }

    /// The next event, if one waits.
    pub fn next_waiting(&mut self) -> Option<Event> {
        self.events.try_recv()
    }
}

impl Core {
    /// Accepts a prompt and begins to answer it. When this returns, the prompt is on record.
    ///
    /// Dropping the future before it returns accepts the prompt or does not; a prompt that was
    /// accepted is answered all the same.
    ///
    /// # Errors
    /// When the prompt can't be dispatched at all.
    pub async fn dispatch(&self, request: DispatchRequest) -> Result<TaskEvents, Refused> {
        let DispatchRequest { prompt, plugin, options, .. } = &request;
        if prompt.trim().is_empty() {
            return Err(Refused::Empty);
        }
        if let Some(position) = prompt.find('\0') {
            return Err(Refused::Nul(position));
        }
        check_directory(&options.working_directory)?;
        let (environment, cwd) = (&request.environment, &options.working_directory);
        let candidates = self.shared.plugins.candidates(
            plugin.as_deref(),
            request.fallback,
            environment,
            cwd,
        )?;
        let shared = Arc::clone(&self.shared);
        // A task of its own: what was accepted is answered, even if nobody waits for this any more.
        let accepted = tokio::spawn(accept(shared, candidates, request));
        accepted.await.unwrap_or(Err(Refused::Stopped))
    }
}

/// Puts a prompt on record and begins to answer it.
async fn accept(
    shared: Arc<Shared>,
    candidates: Candidates,
    request: DispatchRequest,
) -> Result<TaskEvents, Refused> {
    let DispatchRequest { prompt, options, environment, attended, ignore_breaker, .. } = request;
    let (task_id, conversation_id) = (options.task_id.clone(), options.conversation_id.clone());
    let new = NewTask {
        task_id: task_id.clone(),
        conversation_id: conversation_id.clone(),
        prompt: prompt.clone(),
        plugin: candidates.asked.first().map(|candidate| candidate.plugin.name().to_owned()),
        model: options.model.clone(),
        cwd: options.working_directory.clone(),
        queue_limit: Some(u64::from(shared.plugins.config().limits.queue)),
    };
    let (queue_place, earlier_turns) = match shared.store.accept(&new, &shared.owner).await? {
        Accepted::New { queue_place, earlier_turns, .. } => (queue_place, earlier_turns),
        Accepted::Already { .. } => return Err(Refused::TaskExists(task_id)),
        Accepted::QueueFull { waiting } => {
            return Err(Refused::QueueFull { conversation: conversation_id, waiting });
        }
    };
    let (client, events) = weighted::channel();
    let (abort, aborted) = watch::channel(0);
    shared.running().insert(task_id.clone(), abort);
    let recorder = Recorder::new(shared.store.clone(), task_id.clone());
    let permissions = shared.broker.desk(task_id.clone(), attended);
    let context = PluginContext::default();
    let task = Task {
        dispatch: Dispatch { prompt, context, environment, permissions, earlier_turns, options },
        track: Track::new(task_id.clone(), recorder, client),
        candidates,
        ignore_breaker,
        aborted,
        shared,
    };
    tokio::spawn(task.run(queue_place));
    Ok(TaskEvents { task_id, conversation_id, events })
}

fn check_directory(path: &Path) -> Result<(), Refused> {
    let refuse = |problem: &str| {
        Err(Refused::WorkingDirectory { path: path.to_owned(), problem: problem.to_owned() })
    };
    if !path.is_absolute() {
        return refuse("it is not an absolute path");
    }
    match std::fs::read_dir(path) {
        Ok(_) => Ok(()),
        Err(error) => match error.kind() {
            std::io::ErrorKind::NotFound => refuse("there is no such folder; was it deleted?"),
            std::io::ErrorKind::NotADirectory => refuse("it is not a folder"),
            std::io::ErrorKind::PermissionDenied => refuse("you may not read it"),
            _ => refuse(&error.to_string()),
        },
    }
}
