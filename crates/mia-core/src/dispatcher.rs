//! The dispatcher: one prompt from acceptance to its terminal event.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use mia_api::{
    Attempt, Cause, ConversationId, DispatchOptions, DispatchResult, ErrorCode, Event, EventBody,
    NoticeKind, Phase, PluginContext, PluginError, TaskId,
};
use mia_plugin::{CodingPlugin, Dispatch, Environment, EventStream, event_channel};
use mia_store::{Accepted, Claim, Ending, NewTask, StoreError, Turn};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use crate::core::{Core, NoPlugin, Shared};
use crate::recorder::Recorder;

/// How many events may wait for the client. Text joins before, so each may hold much.
const CLIENT_QUEUE: usize = 8;
/// How long to wait before the conversation's turn is looked at again, at first and at most.
const POLL: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(200));

/// A prompt to dispatch.
#[derive(Debug, Clone)]
pub struct DispatchRequest {
    /// The prompt, as the person wrote it.
    pub prompt: String,
    /// The plugin; none means the active one, or the first installed.
    pub plugin: Option<String>,
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
    events: mpsc::Receiver<Event>,
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
        self.events.try_recv().ok()
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
        let DispatchRequest { prompt, plugin, options, environment, attended } = request;
        if prompt.trim().is_empty() {
            return Err(Refused::Empty);
        }
        if let Some(position) = prompt.find('\0') {
            return Err(Refused::Nul(position));
        }
        check_directory(&options.working_directory)?;
        let plugin = self.choose(plugin.as_deref(), &environment, &options.working_directory)?;
        let shared = &self.shared;
        let earlier_turns = shared.store.turns(&options.conversation_id).await?;
        let new = NewTask {
            task_id: options.task_id.clone(),
            conversation_id: options.conversation_id.clone(),
            prompt: prompt.clone(),
            plugin: Some(plugin.name().to_owned()),
            model: options.model.clone(),
            cwd: options.working_directory.clone(),
            queue_limit: Some(u64::from(shared.config.limits.queue)),
        };
        let queue_place = match shared.store.accept(&new, &shared.owner).await? {
            Accepted::New { queue_place, .. } => queue_place,
            Accepted::Already { .. } => return Err(Refused::TaskExists(options.task_id)),
            Accepted::QueueFull { waiting } => {
                return Err(Refused::QueueFull { conversation: options.conversation_id, waiting });
            }
        };
        let (client, events) = mpsc::channel(CLIENT_QUEUE);
        let (abort, aborted) = watch::channel(0);
        let (task_id, conversation_id) = (options.task_id.clone(), options.conversation_id.clone());
        shared.running().insert(task_id.clone(), abort);
        let drive = Drive {
            plugin: Arc::clone(plugin),
            track: Track {
                task_id: task_id.clone(),
                seq: 0,
                said: 0,
                thought: 0,
                client,
                recorder: Some(Recorder::new(shared.store.clone(), task_id.clone())),
                told_failure: false,
            },
            aborted,
            shared: Arc::clone(shared),
            dispatch: Dispatch {
                prompt,
                context: PluginContext::default(),
                environment,
                permissions: shared.broker.desk(task_id.clone(), attended),
                earlier_turns,
                options,
            },
        };
        tokio::spawn(drive.run(queue_place));
        Ok(TaskEvents { task_id, conversation_id, events })
    }
}

fn check_directory(path: &std::path::Path) -> Result<(), Refused> {
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

/// Numbers events and hands them to the record and to the client.
struct Track {
    task_id: TaskId,
    seq: u64,
    said: u64,
    thought: u64,
    client: mpsc::Sender<Event>,
    recorder: Option<Recorder>,
    told_failure: bool,
}

impl Track {
    async fn emit(&mut self, body: EventBody) {
        let event = self.number(body);
        let Some(recorder) = &self.recorder else { return };
        recorder.push(event.clone()).await;
        let failure = recorder.failure().map(ToString::to_string);
        let _ = self.client.send(event).await;
        if !self.told_failure
            && let Some(error) = failure
        {
            self.told_failure = true;
            let message = format!("the record of this task is incomplete: {error}");
            let event = self.number(EventBody::notice(NoticeKind::History, message));
            let _ = self.client.send(event).await;
        }
    }

    fn number(&mut self, body: EventBody) -> Event {
        self.seq += 1;
        let counter = match &body {
            EventBody::Token { text, .. } => Some((&mut self.said, text.len())),
            EventBody::Thought { text, .. } => Some((&mut self.thought, text.len())),
            _ => None,
        };
        let offset = counter.map(|(counter, len)| {
            let before = *counter;
            *counter += len as u64;
            before
        });
        Event { task_id: self.task_id.clone(), seq: self.seq, offset, body }
    }
}

/// One task's way through the dispatcher.
struct Drive {
    shared: Arc<Shared>,
    plugin: Arc<dyn CodingPlugin>,
    dispatch: Dispatch,
    track: Track,
    aborted: watch::Receiver<u32>,
}

impl Drive {
    async fn run(mut self, queue_place: u64) {
        let conversation_id = self.dispatch.options.conversation_id.clone();
        self.track.emit(EventBody::Accepted { conversation_id, queue_place }).await;
        match self.turn().await {
            Ok(claim) => {
                let outcome = self.attempt().await;
                self.finish(Some(claim), outcome).await;
            }
            Err(error) => self.finish(None, Err(*error)).await,
        }
    }

    /// Waits until the conversation is ours.
    async fn turn(&mut self) -> Result<Claim, Box<PluginError>> {
        let name = self.plugin.name();
        let failed = |code, cause, message: String| {
            let error = PluginError::new(code, name, message);
            Box::new(error.with_cause(cause).with_phase(Phase::Queue))
        };
        let (mut pause, longest) = POLL;
        let mut told = false;
        loop {
            // Never dropped in the middle: it may have started the task.
            let turn = self.shared.store.try_start(&self.track.task_id, &self.shared.owner).await;
            let turn = turn.map_err(|error| {
                let message = format!("the conversation could not be taken: {error}");
                failed(ErrorCode::Unknown, Cause::Store, message)
            })?;
            match turn {
                Turn::Started(claim) => return Ok(claim),
                Turn::Waiting { ahead, running } if !told => {
                    told = true;
                    let tasks = if ahead == 1 { "task" } else { "tasks" };
                    let runs = running.map(|t| format!("; {t} runs")).unwrap_or_default();
                    let message = format!("waiting for {ahead} {tasks} of this conversation{runs}");
                    self.track.emit(EventBody::notice(NoticeKind::Waiting, message)).await;
                }
                Turn::Waiting { .. } => {}
            }
            tokio::select! {
                Ok(_) = wait_for_more(&mut self.aborted, 0) => {
                    let message = "the task was aborted before it began".to_owned();
                    return Err(failed(ErrorCode::Aborted, Cause::Requested, message));
                }
                () = tokio::time::sleep(pause) => pause = (pause * 2).min(longest),
            }
        }
    }

    /// Asks the plugin.
    async fn attempt(&mut self) -> Result<DispatchResult, PluginError> {
        let started = Instant::now();
        let name = self.plugin.name().to_owned();
        let task = self.track.task_id.clone();
        self.track.emit(EventBody::Attempt { plugin: name.clone(), index: 0 }).await;
        // A record that can't be written is told by the recorder.
        let _ = self.shared.store.begin_attempt(&task, 0, &name).await;
        let (sink, stream) = event_channel();
        let (plugin, dispatch) = (Arc::clone(&self.plugin), self.dispatch.clone());
        // A task of its own: if the plugin panics, that is this dispatch's failure and nobody
        // else's.
        let answer = tokio::spawn(async move { plugin.dispatch(dispatch, sink).await });
        let outcome = self.relay(answer, stream).await;
        match outcome {
            Ok(mut result) => {
                result.task_id = task;
                result.conversation_id = self.dispatch.options.conversation_id.clone();
                result.plugin.clone_from(&name);
                result.duration_ms = millis(started);
                result.attempts = vec![Attempt { plugin: name, error: None }];
                if result.cost_usd.is_none() {
                    result.cost_usd = self.price(&result);
                }
                Ok(result)
            }
            Err(mut error) => {
                error.plugin_name = name;
                Err(error)
            }
        }
    }

    /// Hands the plugin's events on until it has answered, and requests to end to the plugin.
    async fn relay(
        &mut self,
        mut answer: tokio::task::JoinHandle<Result<DispatchResult, PluginError>>,
        mut stream: EventStream,
    ) -> Result<DispatchResult, PluginError> {
        let mut asked = 0;
        let mut open = true;
        let answer = loop {
            tokio::select! {
                biased;
                Ok(times) = wait_for_more(&mut self.aborted, asked) => {
                    asked = times;
                    let (plugin, task) = (Arc::clone(&self.plugin), self.track.task_id.clone());
                    tokio::spawn(async move { plugin.abort(&task).await });
                }
                event = stream.next(), if open => match event {
                    Some(event) => self.track.emit(event).await,
                    None => open = false,
                },
                answer = &mut answer => break answer,
            }
        };
        for event in stream.take_waiting() {
            self.track.emit(event).await;
        }
        answer.unwrap_or_else(|failed| {
            let what = if failed.is_panic() { "panicked" } else { "was stopped" };
            let message = format!("the plugin {} {what}", self.plugin.name());
            Err(PluginError::new(ErrorCode::Unknown, self.plugin.name(), message)
                .with_cause(Cause::Panic)
                .with_hint("this is an error in the plugin; please report it"))
        })
    }

    /// What it costs by the configured prices, in US dollars.
    fn price(&self, result: &DispatchResult) -> Option<f64> {
        let price = self.shared.config.prices.get(result.model.as_ref()?)?;
        let usage = result.usage.as_ref()?;
        #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
        let cost = |tokens: u64, per_million: f64| tokens as f64 * per_million / 1e6;
        let cached = usage.cache_read.unwrap_or(0);
        let written = usage.cache_creation.unwrap_or(0);
        Some(
            cost(usage.input_tokens, price.input)
                + cost(usage.output_tokens, price.output)
                + cost(cached, price.cache_read.unwrap_or(price.input))
                + cost(written, price.cache_write.unwrap_or(price.input)),
        )
    }

    /// Records the end, and only then tells it (M-08, M-17). Without a claim the task never ran.
    async fn finish(
        mut self,
        claim: Option<Claim>,
        mut outcome: Result<DispatchResult, PluginError>,
    ) {
        let task = self.track.task_id.clone();
        let recorded = match self.track.recorder.take() {
            Some(recorder) => recorder.close().await,
            None => Ok(()),
        };
        self.track.seq += 1;
        let store = &self.shared.store;
        let ended = match (&claim, &outcome) {
            (None, Err(error)) => store.withdraw(&task, error).await.map(drop),
            (None, Ok(_)) => Ok(()),
            (Some(claim), outcome) => {
                let seq = Some(self.track.seq);
                let ending = Ending { outcome: outcome.as_ref(), seq, session: None };
                store.finish(claim, ending).await.map(drop)
            }
        };
        let incomplete = recorded.err().or(ended.err().map(|error| error.to_string()));
        if let (Some(problem), Ok(result)) = (incomplete, &mut outcome) {
            result.warnings.push(format!("the record of this task is incomplete: {problem}"));
        }
        self.shared.running().remove(&task);
        let body = match outcome {
            Ok(result) => EventBody::Complete { result: Box::new(result) },
            Err(error) => EventBody::Error { error: Box::new(error) },
        };
        let event = Event { task_id: task, seq: self.track.seq, offset: None, body };
        let _ = self.track.client.send(event).await;
    }
}

async fn wait_for_more(
    aborted: &mut watch::Receiver<u32>,
    known: u32,
) -> Result<u32, watch::error::RecvError> {
    let asked = aborted.wait_for(|asked| *asked > known).await;
    match asked {
        Ok(asked) => Ok(*asked),
        Err(gone) => Err(gone),
    }
}

fn millis(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}
