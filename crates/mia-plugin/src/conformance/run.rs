//! One plugin under check, and the dispatches that run in it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use mia_api::{
    ConversationId, DispatchOptions, DispatchResult, EventBody, PermissionPolicy,
    PermissionRequest, PermissionResolution, PluginContext, PluginError, TaskId,
};
use tokio::task::JoinHandle;

use super::cases::Broken;
use super::sessions::InMemorySessions;
use super::subject::Subject;
use crate::contract::{CodingPlugin, Dispatch, Services};
use crate::permissions::Permissions;
use crate::sink::{EventStream, event_channel};

/// Longer than anything here takes by itself.
const PATIENCE: Duration = Duration::from_secs(60);

/// Waits, but not for ever.
pub(super) async fn soon<T>(what: &str, wait: impl Future<Output = T>) -> Result<T, Broken> {
    let waited = tokio::time::timeout(PATIENCE, wait).await;
    waited.map_err(|_| Broken(format!("{what} took over {PATIENCE:?}")))
}

/// Somebody who is there and never answers.
#[derive(Debug)]
struct Silent;

impl Permissions for Silent {
    fn somebody_there(&self) -> bool {
        true
    }

    fn ask(&self, _request: PermissionRequest) -> BoxFuture<'static, PermissionResolution> {
        Box::pin(std::future::pending())
    }
}

/// A plugin that was initialized.
pub(super) struct Bench<'a> {
    pub(super) subject: &'a Subject,
    pub(super) plugin: Arc<dyn CodingPlugin>,
}

impl<'a> Bench<'a> {
    /// A fresh plugin that runs so many dispatches at once.
    pub(super) async fn new(subject: &'a Subject, most: usize) -> Result<Self, Broken> {
        let plugin = (subject.make)();
        let bench = Self { subject, plugin };
        soon("initialize", bench.initialize(most))
            .await?
            .map_err(|error| Broken(format!("initialize: {error}")))?;
        Ok(bench)
    }

    /// Initializes it.
    pub(super) async fn initialize(&self, most: usize) -> Result<(), PluginError> {
        let mut config = self.subject.config.clone();
        config.max_concurrency = most;
        let services = Services {
            supervisor: self.subject.supervisor.clone(),
            sessions: Arc::new(InMemorySessions::default()),
            environment: self.subject.environment.clone(),
            installed_agents: None,
        };
        self.plugin.initialize(config, services).await
    }

    /// A dispatch, in a conversation of its own or in that one.
    pub(super) fn dispatch(&self, prompt: &str, conversation: Option<&ConversationId>) -> Dispatch {
        let options = DispatchOptions::new(
            TaskId::generate(),
            conversation.cloned().unwrap_or_else(ConversationId::generate),
            self.subject.cwd.clone(),
        );
        Dispatch {
            prompt: prompt.to_owned(),
            context: PluginContext::default(),
            options,
            environment: self.subject.environment.clone(),
            permissions: Arc::new(Silent),
            earlier_turns: 0,
        }
    }

    /// The same, allowed to do anything.
    pub(super) fn allowed(&self, prompt: &str) -> Dispatch {
        let mut dispatch = self.dispatch(prompt, None);
        dispatch.options.permissions = Some(PermissionPolicy::Full);
        dispatch
    }

    /// Lets a dispatch run.
    pub(super) fn start(&self, dispatch: Dispatch) -> Running {
        let (sink, stream) = event_channel();
        let task = dispatch.options.task_id.clone();
        let plugin = Arc::clone(&self.plugin);
        let answer = tokio::spawn(async move { plugin.dispatch(dispatch, sink).await });
        Running { task, stream, events: Vec::new(), answer }
    }

    /// Lets the prompt run that is not over by itself, until it shows something.
    pub(super) async fn busy(
        &self,
        conversation: Option<&ConversationId>,
    ) -> Result<Running, Broken> {
        let mut running = self.start(self.dispatch(&self.subject.busy, conversation));
        soon("the first sign of a busy dispatch", running.until_visible()).await??;
        Ok(running)
    }

    /// Dispatches, and waits for the end.
    pub(super) async fn run(&self, dispatch: Dispatch) -> Result<Ran, Broken> {
        self.start(dispatch).end().await
    }
}

/// A dispatch under way.
pub(super) struct Running {
    pub(super) task: TaskId,
    stream: EventStream,
    events: Vec<EventBody>,
    answer: JoinHandle<Result<DispatchResult, PluginError>>,
}

impl Running {
    async fn until_visible(&mut self) -> Result<(), Broken> {
        while let Some(event) = self.stream.next().await {
            let visible = event.is_visible();
            self.events.push(event);
            if visible {
                return Ok(());
            }
        }
        Err(Broken(format!("a busy dispatch ended: {:?}", self.events)))
    }

    /// Reads to the end, and checks what is true of each dispatch.
    pub(super) async fn end(mut self) -> Result<Ran, Broken> {
        let all = async {
            while let Some(event) = self.stream.next().await {
                self.events.push(event);
            }
            (&mut self.answer).await
        };
        let answer = soon("the end of a dispatch", all).await?;
        let outcome = answer.map_err(|error| Broken(format!("a dispatch panicked: {error}")))?;
        let ran = Ran { task: self.task, events: self.events, outcome };
        ran.check()?;
        Ok(ran)
    }

    /// Drops the future of the dispatch.
    pub(super) async fn dropped(self) {
        self.answer.abort();
        let _ = self.answer.await;
    }

    /// Nobody reads its events any more; waits for its end.
    pub(super) async fn unread(self) -> Result<Result<DispatchResult, PluginError>, Broken> {
        let Self { stream, answer, .. } = self;
        drop(stream);
        let answer = soon("the end of a dispatch that nobody reads", answer).await?;
        answer.map_err(|error| Broken(format!("a dispatch panicked: {error}")))
    }
}

/// What came of a dispatch.
#[derive(Debug)]
pub(super) struct Ran {
    task: TaskId,
    pub(super) events: Vec<EventBody>,
    pub(super) outcome: Result<DispatchResult, PluginError>,
}

impl Ran {
    /// What is true of each dispatch: what is told at the end is what was told before (M-08), and
    /// each question has its answer, each result its call (M-09).
    fn check(&self) -> Result<(), Broken> {
        let broken = |what: String| Err(Broken(format!("{what}: {self:?}")));
        let mut asked = BTreeMap::new();
        let mut calls = Vec::new();
        for event in &self.events {
            match event {
                EventBody::Permission(question) => *asked.entry(&question.id).or_insert(0) += 1,
                EventBody::PermissionResolved(answer) => *asked.entry(&answer.id).or_insert(0) -= 1,
                EventBody::ToolCall(call) => calls.push(call.id.as_str()),
                EventBody::ToolResult(result) if !calls.contains(&result.id.as_str()) => {
                    return broken(format!("the result of {} comes before its call", result.id));
                }
                _ => {}
            }
        }
        if asked.values().any(|open| *open != 0) {
            return broken("a question has no answer, or an answer no question".to_owned());
        }
        if let Ok(result) = &self.outcome {
            let listed: Vec<&str> = result.tool_calls.iter().map(|call| call.id.as_str()).collect();
            if listed != calls {
                return broken("the calls of the result are not those of the events".to_owned());
            }
            if result.task_id != self.task {
                return broken("the result is of another task".to_owned());
            }
        }
        let said = self.said();
        let told = match &self.outcome {
            Ok(result) => result.content.as_str(),
            Err(error) => error.partial.as_ref().map_or("", |partial| partial.content.as_str()),
        };
        if told != said {
            return broken(format!("the events say {said:?}, the end says {told:?}"));
        }
        Ok(())
    }

    /// The text of the main agent.
    pub(super) fn said(&self) -> String {
        let texts = self.events.iter().filter_map(|event| match event {
            EventBody::Token { text, parent_id: None, .. } => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    /// The result, which has to hold that text.
    pub(super) fn says(&self, text: &str) -> Result<&DispatchResult, Broken> {
        match &self.outcome {
            Ok(result) if result.content.contains(text) => Ok(result),
            outcome => Err(Broken(format!("expected an answer with {text:?}: {outcome:?}"))),
        }
    }
}
