//! The dispatcher: accepts prompts, and gives the events to follow.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use mia_api::{ConversationId, DispatchOptions, PluginContext, ResumePoint, TaskId};
use mia_plugin::{Dispatch, Environment};
use mia_store::{Accepted, NewTask, StoreError};
use tokio::sync::watch;

use crate::core::{Core, Running, Shared, Stopping};
use crate::feed::{Attends, Feed, TaskEvents};
use crate::plugins::{Candidates, NoPlugin};
use crate::recorder::Recorder;
use crate::task::Task;
use crate::track::{Track, Watched};

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
    /// Too many tasks of the conversation wait (M-37).
    #[error("{waiting} tasks of the conversation {conversation} wait already, which is the limit")]
    QueueFull {
        /// The conversation.
        conversation: ConversationId,
        /// How many wait.
        waiting: u64,
    },
    /// Mia is about to end.
    #[error("mia is about to stop and takes no prompts any more")]
    Stopping,
    /// The prompt could not be put on record.
    #[error("the prompt could not be put on record: {0}")]
    Store(#[from] StoreError),
}

impl Core {
    /// Accepts a prompt and begins to answer it. When this returns, the prompt is on record.
    ///
    /// A prompt with the id of a task that has the same prompt and conversation is that task: it is
    /// not answered again, and its events are given from the first on (M-04, M-38).
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
        self.refresh().await;
        let (environment, cwd) = (&request.environment, &options.working_directory);
        let mut candidates = self.shared.plugins().candidates(
            plugin.as_deref(),
            request.fallback,
            environment,
            cwd,
        )?;
        if let Some(mistake) = self.mistake() {
            let message = format!(
                "the configuration has mistakes, and the last good one is in force: {mistake}"
            );
            candidates.passed_over.push(message);
        }
        let shared = Arc::clone(&self.shared);
        // A task of its own: what was accepted is answered, even if nobody waits for this any more.
        let accepted = tokio::spawn(accept(shared, candidates, request));
        accepted.await.unwrap_or(Err(Refused::Stopping))
    }

    /// The events of a task after that point, whoever runs it or has run it. `attends` says that the
    /// watcher answers the agent's questions, as long as it watches.
    ///
    /// # Errors
    /// [`StoreError::UnknownTask`], and what reading the record can meet.
    pub async fn watch(
        &self,
        task: &TaskId,
        from: ResumePoint,
        attends: bool,
    ) -> Result<TaskEvents, StoreError> {
        let running = self.shared.running.borrow().get(task).cloned();
        if let Some(running) = running {
            return Ok(self.shared.follow(task.clone(), &running, from, attends));
        }
        let conversation = self.shared.store.conversation_of(task).await?;
        let store = self.shared.store.clone();
        Ok(TaskEvents::new(task.clone(), conversation, store, None, from))
    }
}

impl Shared {
    /// The events of a task of this process.
    fn follow(
        &self,
        task: TaskId,
        running: &Running,
        from: ResumePoint,
        attends: bool,
    ) -> TaskEvents {
        let (conversation, feed) = (running.conversation.clone(), Arc::clone(&running.feed));
        let mut events = TaskEvents::new(task, conversation, self.store.clone(), Some(feed), from);
        events.attends = attends.then(|| Attends::new(Arc::clone(&running.attending)));
        events
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
    let Some(owner) = &shared.owner else {
        return Err(StoreError::ReadOnly { path: shared.store.path().to_owned() }.into());
    };
    let new = NewTask {
        task_id: task_id.clone(),
        conversation_id: conversation_id.clone(),
        prompt: prompt.clone(),
        plugin: candidates.asked.first().map(|candidate| candidate.plugin.name().to_owned()),
        model: options.model.clone(),
        cwd: options.working_directory.clone(),
        queue_limit: Some(u64::from(shared.plugins().config().limits.queue)),
    };
    let (abort, aborted) = watch::channel(0);
    let running = Running {
        conversation: conversation_id.clone(),
        abort,
        feed: Arc::new(Feed::new()),
        attending: Arc::new(AtomicUsize::new(0)),
        begun: false,
        content: content(&new),
    };
    // Before it is on record: who learns of it there must find it here, and an end of Mia must wait
    // for it.
    let mut known = None;
    shared.running.send_if_modified(|all| {
        known = all.get(&task_id).cloned();
        if known.is_none() && *shared.stopping.borrow() == Stopping::No {
            all.insert(task_id.clone(), running.clone());
            return true;
        }
        false
    });
    let already = |mut events: TaskEvents| {
        events.already = true;
        events
    };
    let start = ResumePoint::default();
    if let Some(known) = known {
        if known.content != running.content {
            return Err(StoreError::TaskConflict { task: task_id }.into());
        }
        return Ok(already(shared.follow(task_id, &known, start, attended)));
    }
    if *shared.stopping.borrow() != Stopping::No {
        return Err(Refused::Stopping);
    }
    let leave = || {
        // Who has found it meanwhile must not wait for ever.
        running.feed.refuse();
        shared.leaves(&task_id);
    };
    let accepted = shared.store.accept(&new, owner).await.inspect_err(|_| leave())?;
    let (queue_place, earlier_turns) = match accepted {
        Accepted::New { queue_place, earlier_turns, .. } => (queue_place, earlier_turns),
        Accepted::Already { .. } => {
            leave();
            let store = shared.store.clone();
            return Ok(already(TaskEvents::new(task_id, conversation_id, store, None, start)));
        }
        Accepted::QueueFull { waiting } => {
            leave();
            return Err(Refused::QueueFull { conversation: conversation_id, waiting });
        }
    };
    shared.meter.accepted();
    let events = shared.follow(task_id.clone(), &running, start, attended);
    let feed = Arc::clone(&running.feed);
    let recorder = Recorder::new(shared.store.clone(), task_id.clone(), Arc::clone(&feed));
    let watched = Watched { feed, every: Arc::clone(&shared.every) };
    let permissions = shared.broker.desk(task_id.clone(), Arc::clone(&running.attending));
    let context = PluginContext::default();
    let task = Task {
        dispatch: Dispatch { prompt, context, environment, permissions, earlier_turns, options },
        track: Track::new(task_id, recorder, watched),
        candidates,
        ignore_breaker,
        aborted,
        plugins: shared.plugins(),
        shared: Arc::clone(&shared),
    };
    tokio::spawn(task.run(queue_place));
    Ok(events)
}

/// What tells a prompt of a conversation from another one.
fn content(task: &NewTask) -> u64 {
    let mut hasher = DefaultHasher::new();
    (task.conversation_id.as_str(), task.prompt.as_str()).hash(&mut hasher);
    hasher.finish()
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
