//! A core on a store of its own, with a plugin that does what the prompt says.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::future::BoxFuture;
use mia_api::{
    Cause, DispatchOptions, DispatchResult, ErrorCode, Event, EventBody, NoticeKind, OptionKind,
    PermissionOption, PermissionRequest, PluginError, StopReason, TaskId, ToolCallInfo,
    ToolResultInfo, Usage,
};
use mia_config::Config;
use mia_core::{Core, CoreSetup, DispatchRequest, Registry, TaskEvents};
use mia_host::{Supervisor, SupervisorProgram};
use mia_plugin::{
    CodingPlugin, Dispatch, Environment, EventSink, PluginConfig, Probe, Services, Slots,
};
use mia_store::{OpenOptions, Store};
use tempfile::TempDir;
use tokio::sync::{Notify, Semaphore};

/// What the puppet and its test share.
#[derive(Debug)]
pub struct Strings {
    /// One permit lets one `gate` step go on.
    pub gate: Semaphore,
    /// Told each time that a dispatch stands at a gate.
    pub at_gate: Notify,
    /// The most dispatches that ever ran at once.
    pub most: AtomicUsize,
    /// How often it was asked what is known of its agent.
    pub probes: AtomicUsize,
    /// How many pieces of `long` were said.
    pub said: AtomicUsize,
    slots: Slots,
}

/// A plugin that does what the prompt's lines say: `say TEXT`, `long N`, `tool`, `gate`, `ask`, `fail`,
/// `panic`, `usage N`, `notice TEXT`, `turns`.
#[derive(Debug, Clone)]
pub struct Puppet {
    name: &'static str,
    pub strings: Arc<Strings>,
}

impl Puppet {
    pub fn new(name: &'static str) -> Self {
        let strings = Strings {
            gate: Semaphore::new(0),
            at_gate: Notify::new(),
            most: AtomicUsize::new(0),
            probes: AtomicUsize::new(0),
            said: AtomicUsize::new(0),
            slots: Slots::new(name, 100),
        };
        Self { name, strings: Arc::new(strings) }
    }

    async fn play(
        &self,
        dispatch: &Dispatch,
        events: &EventSink,
    ) -> Result<DispatchResult, PluginError> {
        let mut result = DispatchResult {
            content: String::new(),
            usage: None,
            session_id: None,
            tool_calls: Vec::new(),
            duration_ms: 0,
            task_id: dispatch.options.task_id.clone(),
            conversation_id: dispatch.options.conversation_id.clone(),
            plugin: "whatever".into(),
            model: Some("puppet-1".into()),
            cost_usd: None,
            stop_reason: StopReason::EndTurn,
            attempts: Vec::new(),
            files_changed: Vec::new(),
            context_reset: false,
            warnings: Vec::new(),
        };
        for line in dispatch.prompt.lines() {
            // A line may be for one puppet only: `NAME: step`.
            let line = match line.split_once(": ") {
                Some((name, rest)) if name == self.name => rest,
                Some(_) => continue,
                None => line,
            };
            let (step, rest) = line.split_once(' ').unwrap_or((line, ""));
            match step {
                "say" => {
                    result.content.push_str(rest);
                    let _ = events.send(EventBody::token(rest)).await;
                }
                "long" => {
                    // Each piece by itself, for neighbours would be joined.
                    for _ in 0..rest.parse().unwrap() {
                        let text = "x".repeat(10 * 1024);
                        result.content.push_str(&text);
                        let _ = events.send(EventBody::token(text)).await;
                        let _ = events.send(EventBody::notice(NoticeKind::Warning, "n")).await;
                        self.strings.said.fetch_add(1, Ordering::SeqCst);
                    }
                }
                "think" => {
                    let _ = events.send(EventBody::thought(rest)).await;
                }
                "tool" => {
                    let call =
                        ToolCallInfo { id: "t".into(), name: "x".into(), ..Default::default() };
                    let _ = events.send(EventBody::ToolCall(call)).await;
                    let done = ToolResultInfo { id: "t".into(), ..Default::default() };
                    let _ = events.send(EventBody::ToolResult(done)).await;
                }
                "gate" => {
                    self.strings.at_gate.notify_one();
                    self.strings.gate.acquire().await.unwrap().forget();
                }
                "ask" => {
                    let option =
                        |id: &str, kind| PermissionOption { id: id.into(), name: id.into(), kind };
                    let question = PermissionRequest {
                        id: "q".into(),
                        tool_call_id: "t".into(),
                        title: "may I?".into(),
                        options: vec![
                            option("yes", OptionKind::AllowOnce),
                            option("no", OptionKind::RejectOnce),
                        ],
                    };
                    let answer =
                        mia_plugin::ask(events, dispatch.permissions.as_ref(), question).await;
                    let option = answer.unwrap().option_id.unwrap_or_else(|| "nothing".into());
                    result.content.push_str(&option);
                    let _ = events.send(EventBody::token(option)).await;
                }
                "usage" => {
                    let (n, cached) = rest.split_once(' ').unwrap_or((rest, ""));
                    let n = n.parse().unwrap();
                    let cache_read = (!cached.is_empty()).then_some(n);
                    let (input_tokens, output_tokens) = (n, n);
                    let usage =
                        Usage { input_tokens, output_tokens, cache_read, ..Usage::default() };
                    result.usage = Some(usage);
                }
                "cost" => result.cost_usd = Some(rest.parse().unwrap()),
                "notice" => {
                    let _ = events.send(EventBody::notice(NoticeKind::Warning, rest)).await;
                }
                "work" => events.sign_of_work(),
                "model" => {
                    let said = dispatch.options.model.clone().unwrap_or_else(|| "its own".into());
                    result.content.push_str(&said);
                    let _ = events.send(EventBody::token(said)).await;
                }
                "break" => {
                    let mut error = PluginError::new(ErrorCode::ProviderError, "whatever", rest)
                        .with_cause(Cause::Server)
                        .with_hint("wait");
                    // What it had used, and what that cost.
                    error.partial = result.usage.map(|usage| {
                        let cost_usd = result.cost_usd;
                        Box::new(mia_api::Partial {
                            usage: Some(usage),
                            cost_usd,
                            ..Default::default()
                        })
                    });
                    return Err(error);
                }
                "late" => {
                    let error = PluginError::new(ErrorCode::Timeout, "whatever", rest);
                    return Err(error.with_phase(mia_api::Phase::Total));
                }
                "overflow" => {
                    return Err(PluginError::new(ErrorCode::BufferOverflow, "whatever", rest));
                }
                "fail" => {
                    return Err(PluginError::new(ErrorCode::ProviderError, "whatever", rest));
                }
                "panic" => panic!("the puppet was told to"),
                "turns" => {
                    let said = dispatch.earlier_turns.to_string();
                    result.content.push_str(&said);
                    let _ = events.send(EventBody::token(said)).await;
                }
                other => panic!("unknown step {other}"),
            }
        }
        Ok(result)
    }
}

impl CodingPlugin for Puppet {
    fn name(&self) -> &str {
        self.name
    }

    fn version(&self) -> &str {
        "1"
    }

    fn initialize(
        &self,
        config: PluginConfig,
        _services: Services,
    ) -> BoxFuture<'_, Result<(), PluginError>> {
        Box::pin(async move {
            match config.model.as_deref() {
                Some("impossible") => {
                    Err(PluginError::new(ErrorCode::Unknown, self.name, "no such model"))
                }
                _ => Ok(()),
            }
        })
    }

    fn dispatch(
        &self,
        dispatch: Dispatch,
        events: EventSink,
    ) -> BoxFuture<'_, Result<DispatchResult, PluginError>> {
        let slot = self.strings.slots.take(&dispatch.options.task_id);
        Box::pin(async move {
            let slot = slot?;
            let now = self.strings.slots.taken();
            self.strings.most.fetch_max(now, Ordering::SeqCst);
            tokio::select! {
                outcome = self.play(&dispatch, &events) => outcome,
                () = slot.aborted() => {
                    Err(PluginError::new(ErrorCode::Aborted, "whatever", "aborted")
                        .with_cause(Cause::Requested))
                }
            }
        })
    }

    fn probe<'a>(&'a self, _environment: &'a Environment) -> BoxFuture<'a, Probe> {
        Box::pin(async {
            self.strings.probes.fetch_add(1, Ordering::SeqCst);
            tokio::task::yield_now().await;
            let broken = self.name == "broken";
            Probe { problem: broken.then(|| "it is not well".to_owned()), ..Probe::default() }
        })
    }

    fn abort<'a>(&'a self, task: &'a TaskId) -> BoxFuture<'a, ()> {
        Box::pin(self.strings.slots.abort(task))
    }

    fn running_task_count(&self) -> usize {
        self.strings.slots.taken()
    }
}

/// A core with one puppet, on a database that several may share.
pub struct House {
    pub core: Core,
    pub puppet: Puppet,
}

pub async fn house(folder: &TempDir, config: Config, options: OpenOptions) -> House {
    let puppet = Puppet::new("puppet");
    let core = core_of(folder, config, options, std::slice::from_ref(&puppet)).await;
    House { core, puppet }
}

/// A core with these puppets.
pub async fn core_of(
    folder: &TempDir,
    config: Config,
    options: OpenOptions,
    puppets: &[Puppet],
) -> Core {
    let mut registry = Registry::new();
    for puppet in puppets {
        registry.register(puppet.name, puppet.clone()).unwrap();
    }
    Core::open(CoreSetup {
        registry,
        config,
        source: None,
        store: Store::open(folder.path().join("mia.db"), options).await.unwrap(),
        supervisor: Supervisor::new(SupervisorProgram::default()),
        environment: Environment::default(),
        installed_agents: None,
    })
    .await
    .unwrap()
}

pub async fn simple_house(folder: &TempDir) -> House {
    house(folder, Config::default(), OpenOptions::default()).await
}

pub fn request(conversation: &str, prompt: &str) -> DispatchRequest {
    DispatchRequest {
        prompt: prompt.into(),
        plugin: Some("puppet".into()),
        fallback: None,
        ignore_breaker: false,
        options: DispatchOptions::new(
            TaskId::generate(),
            conversation.parse().unwrap(),
            PathBuf::from("/"),
        ),
        environment: Environment::default(),
        attended: false,
    }
}

/// All events of a task, to the end.
pub async fn all(mut events: TaskEvents) -> Vec<Event> {
    let mut seen = Vec::new();
    while let Some(event) = events.next().await {
        seen.push(event);
    }
    seen
}

/// The kinds of events, joined.
pub fn kinds(events: &[Event]) -> String {
    events.iter().map(|e| e.body.kind()).collect::<Vec<_>>().join(" ")
}

/// The next event that fits.
pub async fn until(events: &mut TaskEvents, fits: impl Fn(&EventBody) -> bool) -> EventBody {
    while let Some(event) = events.next().await {
        if fits(&event.body) {
            return event.body;
        }
    }
    panic!("the task ended before")
}
