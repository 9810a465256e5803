//! Claude Code behind the dispatcher, with everything on record: what `mia` does without its doors.

use std::path::{Path, PathBuf};
use std::time::Instant;

use mia_agents::ClaudeCode;
use mia_api::{DispatchOptions, DispatchResult, EventBody, PluginError, TaskId};
use mia_config::{Config, PluginSettings};
use mia_core::{Core, CoreSetup, DispatchRequest, Registry};
use mia_host::{Supervisor, SupervisorProgram};
use mia_plugin::{Environment, SpawnPlugin};
use mia_store::{OpenOptions, Store};
use serde_json::{Value, json};

use crate::{Failure, meter};

/// A core around one agent.
#[derive(Debug)]
pub(crate) struct Whole {
    core: Core,
    environment: Environment,
}

/// What came of a dispatch.
#[derive(Debug, Default)]
struct Answer {
    result: Option<Result<DispatchResult, PluginError>>,
    events: u64,
    text_bytes: usize,
}

impl Whole {
    async fn new(child: &Path, database: PathBuf) -> Result<Self, Failure> {
        let supervisor = Supervisor::new(SupervisorProgram::ThisProgram);
        supervisor.start()?;
        let mut registry = Registry::new();
        let plugin = SpawnPlugin::new(ClaudeCode::NAME, ClaudeCode::VERSION, ClaudeCode::default());
        registry.register(ClaudeCode::NAME, plugin)?;
        let mut config = Config::default();
        let settings = PluginSettings {
            binary: Some(child.into()),
            ..PluginSettings::named(ClaudeCode::NAME)
        };
        config.plugins.insert(ClaudeCode::NAME.to_owned(), settings);
        let environment = Environment::of_this_process();
        let core = Core::open(CoreSetup {
            registry,
            config,
            source: None,
            store: Store::open(database, OpenOptions::default()).await?,
            supervisor,
            environment: environment.clone(),
            installed_agents: None,
        })
        .await?;
        Ok(Self { core, environment })
    }

    /// Asks once, in a conversation of its own, and reads all events.
    async fn ask(&self, name: &str) -> Result<Answer, Failure> {
        let (task, conversation): (TaskId, _) = (name.parse()?, name.parse()?);
        let request = DispatchRequest {
            prompt: "hello".to_owned(),
            plugin: Some(ClaudeCode::NAME.to_owned()),
            fallback: None,
            ignore_breaker: false,
            options: DispatchOptions::new(task, conversation, "/".into()),
            environment: self.environment.clone(),
            attended: false,
        };
        let mut events = self.core.dispatch(request).await?;
        let mut answer = Answer::default();
        while let Some(event) = events.next().await {
            answer.events += 1;
            match event.body {
                EventBody::Token { text, .. } => answer.text_bytes += text.len(),
                EventBody::Complete { result } => answer.result = Some(Ok(*result)),
                EventBody::Error { error } => answer.result = Some(Err(*error)),
                _ => {}
            }
        }
        Ok(answer)
    }
}

/// One long answer, from its acceptance to its terminal event with all events read.
pub(crate) async fn stream(child: &Path, database: PathBuf) -> Result<Value, Failure> {
    let whole = Whole::new(child, database).await?;
    let (began, cpu) = (Instant::now(), meter::cpu());
    let answer = whole.ask("stream").await?;
    let (wall, cpu) = (began.elapsed(), meter::cpu() - cpu);
    let (outcome, content_bytes) = match &answer.result {
        Some(Ok(result)) => ("ok".to_owned(), result.content.len()),
        Some(Err(error)) => (error.code.as_str().to_owned(), 0),
        None => ("nothing".to_owned(), 0),
    };
    let figures = json!({
        "wall_us": meter::micros(wall),
        "cpu_us": meter::micros(cpu),
        "events": answer.events,
        "text_bytes": answer.text_bytes,
        "content_bytes": content_bytes,
        "peak_kib": meter::peak_kib(),
        "outcome": outcome,
    });
    whole.core.close().await;
    Ok(figures)
}

/// Dispatches one after the other, each in a conversation of its own; the first is not counted, for
/// the supervisor gets ready in it.
pub(crate) async fn each(child: &Path, count: usize, database: PathBuf) -> Result<Value, Failure> {
    let whole = Whole::new(child, database).await?;
    let mut times = Vec::new();
    for number in 0..=count {
        let began = Instant::now();
        let answer = whole.ask(&format!("dispatch-{number}")).await?;
        times.push(began.elapsed());
        answer.result.ok_or("a task without a terminal event")?.map_err(|error| error.message)?;
    }
    times.remove(0);
    whole.core.close().await;
    Ok(json!({ "median_us": meter::median(times) }))
}
