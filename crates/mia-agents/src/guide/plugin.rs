//! [`Guide`] as a `CodingPlugin`: slots, sessions, limits.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use mia_api::{
    Cause, ConversationId, DispatchResult, ErrorCode, EventBody, NoticeKind, Partial, Phase,
    PluginError, TaskId,
};
use mia_plugin::{
    CodingPlugin, Dispatch, Environment, EventSink, PluginConfig, Probe, Services, SessionKey,
    SessionRecord, SessionsError, Slot, Slots,
};

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
    setup: OnceLock<Setup>,
}

/// What `initialize` brought.
#[derive(Debug)]
struct Setup {
    config: PluginConfig,
    services: Services,
    slots: Slots,
}

impl Guide {
    /// The name that people select it by.
    pub const NAME: &'static str = "guide";

    /// A guide that was not initialised yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn setup(&self) -> Result<&Setup, PluginError> {
        self.setup.get().ok_or_else(|| {
            PluginError::new(ErrorCode::Unknown, Self::NAME, "use a plugin that is not initialised")
        })
    }

    fn key(conversation: &ConversationId) -> SessionKey {
        SessionKey { plugin: Self::NAME.to_owned(), conversation: conversation.clone(), cwd: None }
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
        let slots = Slots::new(Self::NAME, config.max_concurrency);
        let done = self.setup.set(Setup { config, services, slots }).map_err(|_| {
            PluginError::new(ErrorCode::Unknown, Self::NAME, "initialise a plugin twice")
        });
        Box::pin(async { done })
    }

    fn dispatch(
        &self,
        dispatch: Dispatch,
        events: EventSink,
    ) -> BoxFuture<'_, Result<DispatchResult, PluginError>> {
        let ready = self
            .setup()
            .and_then(|setup| Ok((setup, setup.slots.take(&dispatch.options.task_id)?)));
        Box::pin(async move {
            let (Setup { config, services, .. }, slot) = ready?;
            run(config, services, &dispatch, &events, &slot).await
        })
    }

    fn probe<'a>(&'a self, _environment: &'a Environment) -> BoxFuture<'a, Probe> {
        let version = Some(self.version().to_owned());
        Box::pin(async { Probe { version, ..Probe::default() } })
    }

    fn get_session<'a>(
        &'a self,
        conversation: &'a ConversationId,
    ) -> BoxFuture<'a, Result<Option<String>, PluginError>> {
        Box::pin(async move {
            let Setup { services, .. } = self.setup()?;
            let found = services.sessions.get(&Self::key(conversation)).await;
            Ok(found.map_err(session_error)?.map(|record| record.session_id))
        })
    }

    fn clear_session<'a>(
        &'a self,
        conversation: &'a ConversationId,
    ) -> BoxFuture<'a, Result<(), PluginError>> {
        Box::pin(async move {
            let Setup { services, .. } = self.setup()?;
            services.sessions.remove_all(Self::NAME, conversation).await.map_err(session_error)
        })
    }

    fn abort<'a>(&'a self, task: &'a TaskId) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            if let Ok(Setup { slots, .. }) = self.setup() {
                slots.abort(task).await;
            }
        })
    }

    fn running_task_count(&self) -> usize {
        self.setup().map_or(0, |setup| setup.slots.taken())
    }

    fn cleanup(&self, max_age: Duration) -> BoxFuture<'_, usize> {
        Box::pin(async move {
            let Ok(Setup { services, .. }) = self.setup() else {
                return 0;
            };
            services.sessions.remove_older(Self::NAME, max_age).await.unwrap_or(0)
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
    let limit = options.timeout_ms.map(Duration::from_millis).or(config.timeout);
    let deadline = limit.and_then(|limit| tokio::time::Instant::now().checked_add(limit));
    let stop = Stop::new(slot.requests(), deadline, events.clone());
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
        let found = stop.or(services.sessions.get(&key)).await?.map_err(session_error)?;
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
        let record = SessionRecord { session_id: session_id.clone(), state: memory.write() };
        if let Err(error) = services.sessions.put(&key, &record).await {
            // The answer was given; it is not lost for that.
            warnings.push(format!(
                "the session could not be saved, so the next turn may begin a fresh one: {error}"
            ));
        }
        Ok(session_id)
    }
    .await;

    match outcome {
        Ok(session_id) => Ok(DispatchResult {
            session_id: Some(session_id),
            tool_calls: talk.calls,
            duration_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
            warnings,
            ..DispatchResult::new(
                options.task_id.clone(),
                options.conversation_id.clone(),
                Guide::NAME,
                talk.content,
            )
        }),
        Err(Failed::Early(ended)) => {
            let mut error = early(ended, limit);
            let (content, usage, session_id) = (talk.content, None, None);
            error.partial = Some(Box::new(Partial { content, usage, cost_usd: None, session_id }));
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
        Ended::Aborted => {
            PluginError::new(ErrorCode::Aborted, Guide::NAME, "finish the answer: it was aborted")
                .with_cause(Cause::Requested)
        }
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
