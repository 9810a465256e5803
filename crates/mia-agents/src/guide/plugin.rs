//! [`Guide`] as a `CodingPlugin`: slots, sessions, limits.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use mia_api::{
    Cause, ConversationId, DispatchResult, ErrorCode, EventBody, NoticeKind, Partial, Phase,
    PluginError, StopReason, TaskId,
};
use mia_plugin::{
    CodingPlugin, Dispatch, EventSink, PluginConfig, Probe, Services, SessionKey, SessionRecord,
    SessionsError,
};
use tokio::sync::watch;

use super::answer;
use super::help;
use super::session::Memory;
use super::stop::{Ended, Stop};
use super::talk::Talk;

/// The plugin `guide`: answers without any agent or model, and says so.
///
/// Made for trying Mia with nothing installed. It never runs unless it is named.
#[derive(Debug, Default)]
pub struct Guide {
    setup: OnceLock<(PluginConfig, Services)>,
    running: Arc<Running>,
}

/// The dispatches that run, by a number of their own: a caller may choose a task id twice.
#[derive(Debug, Default)]
struct Running(Mutex<Tasks>);

#[derive(Debug, Default)]
struct Tasks {
    last: u64,
    tasks: HashMap<u64, (TaskId, watch::Sender<bool>)>,
}

/// A place among the dispatches that run, free again when it is dropped.
#[derive(Debug)]
struct Slot {
    running: Arc<Running>,
    number: u64,
    abort: watch::Receiver<bool>,
}

impl Running {
    /// Each change is one insertion or removal, so a panic leaves nothing half done.
    fn lock(&self) -> MutexGuard<'_, Tasks> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A slot, where one is free (M-20).
    fn take(self: &Arc<Self>, task: &TaskId, most: usize) -> Option<Slot> {
        let mut tasks = self.lock();
        if tasks.tasks.len() >= most {
            return None;
        }
        let (sender, abort) = watch::channel(false);
        tasks.last += 1;
        let number = tasks.last;
        tasks.tasks.insert(number, (task.clone(), sender));
        Some(Slot {
            running: Arc::clone(self),
            number,
            abort,
        })
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.running.lock().tasks.remove(&self.number);
    }
}

impl Guide {
    /// The name that people select it by.
    pub const NAME: &'static str = "guide";

    /// A guide that was not initialised yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn setup(&self) -> Result<&(PluginConfig, Services), PluginError> {
        self.setup.get().ok_or_else(|| {
            PluginError::new(
                ErrorCode::Unknown,
                Self::NAME,
                "use a plugin that is not initialised",
            )
        })
    }

    fn key(conversation: &ConversationId) -> SessionKey {
        SessionKey {
            plugin: Self::NAME.to_owned(),
            conversation: conversation.clone(),
            cwd: None,
        }
    }
}

impl CodingPlugin for Guide {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn version(&self) -> &str {
        env!("CARGO_PKG_VERSION")
    }

    fn initialize(
        &self,
        config: PluginConfig,
        services: Services,
    ) -> BoxFuture<'_, Result<(), PluginError>> {
        let done = self.setup.set((config, services)).map_err(|_| {
            PluginError::new(ErrorCode::Unknown, Self::NAME, "initialise a plugin twice")
        });
        Box::pin(async { done })
    }

    fn dispatch(
        &self,
        dispatch: Dispatch,
        events: EventSink,
    ) -> BoxFuture<'_, Result<DispatchResult, PluginError>> {
        let ready = self.setup().and_then(|(config, services)| {
            let slot = self
                .running
                .take(&dispatch.options.task_id, config.max_concurrency);
            let slot = slot.ok_or_else(|| {
                let most = config.max_concurrency;
                PluginError::new(
                    ErrorCode::ConcurrencyLimit,
                    Self::NAME,
                    format!("run more than {most} dispatches at once"),
                )
                .with_phase(Phase::Start)
                .with_hint("try again in a moment, or raise max_concurrency of the plugin")
            })?;
            Ok((config, services, slot))
        });
        Box::pin(async move {
            let (config, services, slot) = ready?;
            run(config, services, &dispatch, &events, &slot).await
        })
    }

    fn probe(&self) -> BoxFuture<'_, Probe> {
        let version = Some(self.version().to_owned());
        Box::pin(async {
            Probe {
                version,
                ..Probe::default()
            }
        })
    }

    fn get_session<'a>(
        &'a self,
        conversation: &'a ConversationId,
    ) -> BoxFuture<'a, Result<Option<String>, PluginError>> {
        Box::pin(async move {
            let (_, services) = self.setup()?;
            let found = services.sessions.get(&Self::key(conversation)).await;
            Ok(found
                .map_err(session_error)?
                .map(|record| record.session_id))
        })
    }

    fn clear_session<'a>(
        &'a self,
        conversation: &'a ConversationId,
    ) -> BoxFuture<'a, Result<(), PluginError>> {
        Box::pin(async move {
            let (_, services) = self.setup()?;
            services
                .sessions
                .remove_all(Self::NAME, conversation)
                .await
                .map_err(session_error)
        })
    }

    fn abort<'a>(&'a self, task: &'a TaskId) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let senders: Vec<watch::Sender<bool>> = {
                let tasks = self.running.lock();
                let same = tasks.tasks.values().filter(|(running, _)| running == task);
                same.map(|(_, sender)| sender.clone()).collect()
            };
            for sender in senders {
                sender.send_replace(true);
                // The receivers live as long as the dispatch.
                sender.closed().await;
            }
        })
    }

    fn running_task_count(&self) -> usize {
        self.running.lock().tasks.len()
    }

    fn cleanup(&self, max_age: Duration) -> BoxFuture<'_, usize> {
        Box::pin(async move {
            let Ok((_, services)) = self.setup() else {
                return 0;
            };
            services
                .sessions
                .remove_older(Self::NAME, max_age)
                .await
                .unwrap_or(0)
        })
    }
}

async fn run(
    config: &PluginConfig,
    services: &Services,
    dispatch: &Dispatch,
    events: &EventSink,
    slot: &Slot,
) -> Result<DispatchResult, PluginError> {
    let began = Instant::now();
    let options = &dispatch.options;
    let limit = options
        .timeout_ms
        .map(Duration::from_millis)
        .or(config.timeout);
    let deadline = limit.and_then(|limit| tokio::time::Instant::now().checked_add(limit));
    let stop = Stop::new(slot.abort.clone(), deadline);
    if let Err(error) = std::fs::read_dir(&options.working_directory) {
        let folder = options.working_directory.display();
        return Err(PluginError::new(
            ErrorCode::SpawnFailure,
            Guide::NAME,
            format!("read the working directory {folder}: {error}"),
        )
        .with_cause(Cause::WorkingDirectory)
        .with_phase(Phase::Start)
        .with_hint("go to a folder that exists, or name one with --cwd"));
    }

    let key = Guide::key(&options.conversation_id);
    let mut warnings = Vec::new();
    let mut talk = Talk::new(dispatch, services, events, stop.clone());
    let outcome = async {
        let found = stop
            .or(services.sessions.get(&key))
            .await?
            .map_err(session_error)?;
        let (session_id, mut memory) = match found {
            Some(record) => {
                let memory = Memory::read(&record.state).unwrap_or_default();
                (record.session_id, memory)
            }
            None => (format!("guide-{}", options.task_id), Memory::default()),
        };
        if !options.files.is_empty() || !options.images.is_empty() {
            let warning = "the guide does not look at files and images that come with a prompt";
            warnings.push(warning.to_owned());
            let notice = EventBody::notice(NoticeKind::Warning, warning);
            stop.or(events.send(notice)).await?.map_err(Ended::from)?;
        }
        let last = answer::answer(&mut talk, &memory).await?;
        if memory.turns == 0 && !talk.content.contains("no AI model") {
            talk.say(help::FOOTNOTE).await?;
        }
        memory.remember(&dispatch.prompt, last);
        let record = SessionRecord {
            session_id: session_id.clone(),
            state: memory.write(),
        };
        services
            .sessions
            .put(&key, &record)
            .await
            .map_err(session_error)?;
        Ok(session_id)
    }
    .await;

    match outcome {
        Ok(session_id) => Ok(DispatchResult {
            content: talk.content,
            usage: None,
            session_id: Some(session_id),
            tool_calls: talk.calls,
            duration_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
            task_id: options.task_id.clone(),
            conversation_id: options.conversation_id.clone(),
            plugin: Guide::NAME.to_owned(),
            model: None,
            cost_usd: None,
            stop_reason: StopReason::EndTurn,
            attempts: Vec::new(),
            files_changed: Vec::new(),
            context_reset: false,
            warnings,
        }),
        Err(Failed::Early(ended)) => {
            let mut error = early(ended, limit);
            let (content, usage, session_id) = (talk.content, None, None);
            error.partial = Some(Box::new(Partial {
                content,
                usage,
                session_id,
            }));
            Err(error)
        }
        Err(Failed::Store(error)) => Err(*error),
    }
}

/// How an answer fails.
enum Failed {
    Early(Ended),
    Store(Box<PluginError>),
}

impl From<Ended> for Failed {
    fn from(ended: Ended) -> Self {
        Self::Early(ended)
    }
}

impl From<PluginError> for Failed {
    fn from(error: PluginError) -> Self {
        Self::Store(Box::new(error))
    }
}

fn early(ended: Ended, limit: Option<Duration>) -> PluginError {
    match ended {
        Ended::Aborted => PluginError::new(
            ErrorCode::Aborted,
            Guide::NAME,
            "finish the answer: it was aborted",
        )
        .with_cause(Cause::Requested),
        Ended::Unheard => PluginError::new(
            ErrorCode::Aborted,
            Guide::NAME,
            "finish the answer: nobody reads it any more",
        )
        .with_cause(Cause::Interrupted),
        Ended::Deadline => {
            let limit = limit.unwrap_or_default().as_millis();
            PluginError::new(
                ErrorCode::Timeout,
                Guide::NAME,
                format!("finish the answer within {limit} ms"),
            )
            .with_phase(Phase::Total)
        }
    }
}

fn session_error(error: SessionsError) -> PluginError {
    PluginError::new(ErrorCode::SessionError, Guide::NAME, error.to_string())
        .with_cause(Cause::Store)
}
