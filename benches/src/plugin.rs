//! Claude Code as `mia` has it, but with sessions in memory.

use std::path::Path;
use std::sync::Arc;

use mia_agents::ClaudeCode;
use mia_api::{
    ConversationId, DispatchOptions, DispatchResult, EventBody, PluginContext, PluginError, TaskId,
};
use mia_host::{Supervisor, SupervisorProgram};
use mia_plugin::{
    CodingPlugin, Dispatch, Environment, EventSink, Nobody, PluginConfig, Services, SpawnPlugin,
    event_channel,
};

use crate::Failure;
use crate::sessions::InMemory;

/// A plugin that is ready to be asked.
#[derive(Debug)]
pub(crate) struct Subject {
    plugin: SpawnPlugin<ClaudeCode>,
    supervisor: Supervisor,
    environment: Environment,
}

/// What came of a dispatch.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) result: Result<DispatchResult, PluginError>,
    /// How many events came; neighbouring text may have been joined.
    pub(crate) events: u64,
    /// The bytes of text in them.
    pub(crate) text_bytes: usize,
}

impl Subject {
    /// A plugin around that child, for so many dispatches at once.
    pub(crate) async fn new(child: &Path, at_once: usize) -> Result<Self, Failure> {
        let supervisor = Supervisor::new(SupervisorProgram::ThisProgram);
        supervisor.start()?;
        let plugin = SpawnPlugin::new(ClaudeCode::NAME, ClaudeCode::VERSION, ClaudeCode::default());
        let environment = Environment::of_this_process();
        let config = PluginConfig {
            binary: Some(child.to_owned()),
            max_concurrency: at_once,
            ..PluginConfig::new(ClaudeCode::NAME)
        };
        let services = Services {
            supervisor: supervisor.clone(),
            sessions: Arc::new(InMemory::default()),
            environment: environment.clone(),
            installed_agents: None,
        };
        plugin.initialize(config, services).await.map_err(|error| error.message)?;
        Ok(Self { plugin, supervisor, environment })
    }

    pub(crate) fn supervisor_pid(&self) -> Option<u32> {
        self.supervisor.pid()
    }

    /// Asks once, in a conversation of its own, and reads all events. `first_text` is run at the
    /// first text.
    pub(crate) async fn ask(&self, name: &str, mut first_text: impl FnMut()) -> Answer {
        let (sink, mut stream) = event_channel();
        let answer = self.answer(name, sink);
        let read = async {
            let (mut events, mut text_bytes) = (0, 0);
            while let Some(event) = stream.next().await {
                events += 1;
                if let EventBody::Token { text, .. } = event {
                    if text_bytes == 0 {
                        first_text();
                    }
                    text_bytes += text.len();
                }
            }
            (events, text_bytes)
        };
        let (result, (events, text_bytes)) = tokio::join!(answer, read);
        Answer { result, events, text_bytes }
    }

    async fn answer(&self, name: &str, sink: EventSink) -> Result<DispatchResult, PluginError> {
        let unknown = |error: mia_api::BadId| {
            PluginError::new(mia_api::ErrorCode::Unknown, ClaudeCode::NAME, error.to_string())
        };
        let task: TaskId = name.parse().map_err(unknown)?;
        let conversation: ConversationId = name.parse().map_err(unknown)?;
        let dispatch = Dispatch {
            prompt: "hello".to_owned(),
            context: PluginContext::default(),
            options: DispatchOptions::new(task, conversation, "/".into()),
            environment: self.environment.clone(),
            permissions: Arc::new(Nobody),
            earlier_turns: 0,
        };
        self.plugin.dispatch(dispatch, sink).await
    }
}
