//! A real agent behind its plugin, with all that it needs, in a home of its own.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use mia_agents::{ClaudeCode, Codex, Gemini, OpenCode, Qwen};
use mia_api::{
    ConversationId, DispatchOptions, DispatchResult, EventBody, NoticeKind, OptionKind,
    PermissionRequest, PermissionResolution, PluginContext, PluginError, ResolvedBy, TaskId,
    ToolCallInfo, ToolResultInfo,
};
use mia_host::{Supervisor, SupervisorProgram};
use mia_plugin::conformance::InMemorySessions;
use mia_plugin::{
    Ability, CliAdapter, CodingPlugin, Dispatch, Environment, EventStream, Nobody, Permissions,
    PluginConfig, Services, SpawnPlugin, event_channel,
};
use mia_testkit::agents::{self, RealAgent, RealHome};
use mia_testkit::fakellm::{FakeLlm, Happening, Options};
use mia_testkit::proc::{self, Process};

/// Longer than anything here takes by itself, on a loaded machine.
pub(crate) const SOON: Duration = Duration::from_secs(50);
/// Variable by which all that a world starts is found.
const MARK: &str = "CONFORMANCE_MARK";

/// The adapter of a real agent.
pub(crate) trait Real: CliAdapter + Default + std::fmt::Debug {
    const AGENT: RealAgent;
    const VERSION: &'static str;
    /// A model that it takes besides its default one.
    const OTHER_MODEL: &'static str;
    /// What a folder may hold so that the agent runs `touch sprung` by itself.
    const TRAP: &'static [(&'static str, &'static str)];
    /// The oddest name of a folder that its tools work in.
    const ODD_FOLDER: &'static str = "a b ü 漢 'q\"";
    /// What makes it ask before it runs `dd if=/dev/null of=made.txt`.
    const ASKS: &'static str = "TOOL bash dd if=/dev/null of=made.txt";
}

impl Real for ClaudeCode {
    const AGENT: RealAgent = RealAgent::ClaudeCode;
    const VERSION: &'static str = Self::VERSION;
    const OTHER_MODEL: &'static str = "claude-chosen";
    const TRAP: &'static [(&'static str, &'static str)] = &[(
        ".claude/settings.json",
        r#"{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"touch sprung"}]}]}}"#,
    )];
}

impl Real for Codex {
    const AGENT: RealAgent = RealAgent::Codex;
    const VERSION: &'static str = Self::VERSION;
    const OTHER_MODEL: &'static str = "gpt-5.6-terra";
    const TRAP: &'static [(&'static str, &'static str)] = &[(
        ".codex/config.toml",
        "notify = [\"touch\", \"sprung\"]\n[mcp_servers.trap]\ncommand = \"touch\"\nargs = [\"sprung\"]\n",
    )];
    // It runs any command in a sandbox, and asks where the model wants one to run outside. What the
    // sandbox stops it asks for too, but only if the command ends at once.
    const ASKS: &'static str = r#"TOOL bash {"cmd":"dd if=/dev/null of=made.txt","sandbox_permissions":"require_escalated","justification":"It is needed"}"#;
}

impl Real for Gemini {
    const AGENT: RealAgent = RealAgent::Gemini;
    const VERSION: &'static str = Self::VERSION;
    const OTHER_MODEL: &'static str = "gemini-2.5-pro";
    const TRAP: &'static [(&'static str, &'static str)] = &[(
        ".gemini/settings.json",
        r#"{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"touch sprung"}]}]}}"#,
    )];
    // Its tools refuse paths with a double quote in them.
    const ODD_FOLDER: &'static str = "a b ü 漢 'q";
}

impl Real for OpenCode {
    const AGENT: RealAgent = RealAgent::OpenCode;
    const VERSION: &'static str = Self::VERSION;
    const OTHER_MODEL: &'static str = "fake/chosen-model";
    const TRAP: &'static [(&'static str, &'static str)] = &[
        ("opencode.json", r#"{"plugin":["./trap.js"]}"#),
        (
            "trap.js",
            "import { writeFileSync } from 'fs'\nwriteFileSync('sprung', '')\nexport const Trap = async () => ({})\n",
        ),
    ];
}

impl Real for Qwen {
    const AGENT: RealAgent = RealAgent::Qwen;
    const VERSION: &'static str = Self::VERSION;
    const OTHER_MODEL: &'static str = "qwen-chosen";
    const TRAP: &'static [(&'static str, &'static str)] = &[(
        ".qwen/settings.json",
        r#"{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"touch sprung"}]}]}}"#,
    )];
}

/// A plugin, its model and its home.
pub(crate) struct World<A: Real> {
    pub(crate) llm: FakeLlm,
    pub(crate) home: RealHome,
    pub(crate) plugin: Arc<SpawnPlugin<A>>,
    pub(crate) sessions: Arc<InMemorySessions>,
    program: PathBuf,
}

impl<A: Real> World<A> {
    /// A fresh one; none where the agent is not installed, which fails in CI.
    pub(crate) async fn new() -> Option<Self> {
        Self::with(|_| {}).await
    }

    /// The same with other settings.
    pub(crate) async fn with(change: impl FnOnce(&mut PluginConfig)) -> Option<Self> {
        Self::of(None, change).await
    }

    /// The same with the model server at this address.
    pub(crate) async fn at(url: String) -> Option<Self> {
        Self::of(Some(url), |_| {}).await
    }

    async fn of(url: Option<String>, change: impl FnOnce(&mut PluginConfig)) -> Option<Self> {
        let Some(program) = A::AGENT.program() else {
            agents::skip_or_fail(A::AGENT.name());
            return None;
        };
        let require_key = Some("dummy".to_owned());
        let llm = FakeLlm::with(Options { bodies: true, require_key, ..Options::default() });
        let llm = llm.unwrap();
        let home = RealHome::of(A::AGENT, url.as_deref().unwrap_or(llm.url()));
        let sessions = Arc::new(InMemorySessions::default());
        let plugin = plugin(&program, Arc::clone(&sessions), change).await;
        Some(Self { llm, home, plugin, sessions, program })
    }

    /// A second plugin over the same record of sessions, as after a restart of Mia.
    pub(crate) async fn restart(&mut self) {
        self.plugin = plugin(&self.program, Arc::clone(&self.sessions), |_| {}).await;
    }

    /// Whether the agent can do that.
    pub(crate) fn can(&self, ability: Ability) -> bool {
        self.plugin.lacks().iter().all(|lack| lack.ability != ability)
    }

    /// A dispatch of the conversation that an earlier one had begun.
    pub(crate) fn next(&self, conversation: &ConversationId, turns: u64, prompt: &str) -> Dispatch {
        let mut dispatch = self.dispatch(prompt);
        dispatch.options.conversation_id = conversation.clone();
        dispatch.earlier_turns = turns;
        dispatch
    }

    /// The real program.
    pub(crate) fn program(&self) -> &PathBuf {
        &self.program
    }

    /// The caller's environment.
    pub(crate) fn environment(&self) -> Vec<(String, String)> {
        let mark = (MARK.to_owned(), self.mark());
        self.home.env().into_iter().chain([mark]).collect()
    }

    fn mark(&self) -> String {
        self.home.home().to_string_lossy().into_owned()
    }

    /// A dispatch of that prompt, in a conversation of its own, with nobody there.
    pub(crate) fn dispatch(&self, prompt: &str) -> Dispatch {
        let (task, conversation) = (TaskId::generate(), ConversationId::generate());
        Dispatch {
            prompt: prompt.to_owned(),
            context: PluginContext::default(),
            options: DispatchOptions::new(task, conversation, self.home.work()),
            environment: self.environment().into_iter().collect::<Environment>(),
            permissions: Arc::new(Nobody),
            earlier_turns: 0,
        }
    }

    /// Dispatches the prompt with everything allowed, and reads all events.
    pub(crate) async fn ask(&self, prompt: &str) -> Ran {
        let mut dispatch = self.dispatch(prompt);
        dispatch.options.permissions = Some(mia_api::PermissionPolicy::Full);
        self.run(dispatch).await
    }

    /// Dispatches and reads all events.
    pub(crate) async fn run(&self, dispatch: Dispatch) -> Ran {
        self.start(dispatch).end().await
    }

    /// Dispatches and lets it run.
    pub(crate) fn start(&self, dispatch: Dispatch) -> Running {
        let (task, plugin) = (dispatch.options.task_id.clone(), Arc::clone(&self.plugin));
        let (sink, stream) = event_channel();
        let began = Instant::now();
        let dispatched = tokio::spawn(async move { plugin.dispatch(dispatch, sink).await });
        Running { task, stream, seen: Vec::new(), dispatched, began }
    }

    /// Everything that runs and was started here, the tools of the agent included.
    pub(crate) fn alive(&self) -> Vec<Process> {
        proc::with_env(MARK, &self.mark())
    }

    /// The process that runs this command line.
    pub(crate) async fn process(&self, command: &str) -> Process {
        let wanted = |process: &Process| process.command() == command;
        proc::wait_for(command, SOON, || self.alive().into_iter().find(wanted)).await
    }

    /// Waits until the model was asked that often.
    pub(crate) async fn until_asked(&self, times: usize) {
        let asked = || (self.llm.log().turns().count() >= times).then_some(());
        proc::wait_for("a request to the model", SOON, asked).await;
    }

    /// What the model was asked and what became of it, side work left out.
    pub(crate) fn asked(&self) -> Vec<(String, Happening)> {
        let log = self.llm.log();
        log.turns().map(|request| (request.verb.clone(), request.happening)).collect()
    }

    /// A file in the work folder.
    pub(crate) fn file(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.home.work().join(name)).ok()
    }
}

async fn plugin<A: Real>(
    program: &std::path::Path,
    sessions: Arc<InMemorySessions>,
    change: impl FnOnce(&mut PluginConfig),
) -> Arc<SpawnPlugin<A>> {
    let plugin = Arc::new(SpawnPlugin::new(A::AGENT.name(), A::VERSION, A::default()));
    let mut config = PluginConfig::new(A::AGENT.name());
    config.binary = Some(program.to_owned());
    config.max_concurrency = 16;
    change(&mut config);
    let services = Services {
        supervisor: Supervisor::new(SupervisorProgram::ThisProgram),
        sessions,
        environment: Environment::default(),
        installed_agents: None,
    };
    plugin.initialize(config, services).await.unwrap();
    plugin
}

/// What a process that is to be killed has to know.
pub(crate) struct Killed {
    pub(crate) url: String,
    /// A folder; also the value by which its children are found.
    pub(crate) mark: PathBuf,
}

impl Killed {
    pub(crate) const URL: &'static str = "MODEL_OF_THE_KILLED";
    pub(crate) const MARK: &'static str = "MARK_OF_THE_KILLED";

    /// None in a process that nobody kills.
    pub(crate) fn from_env() -> Option<Self> {
        let mark = std::env::var(Self::MARK).ok()?.into();
        Some(Self { url: std::env::var(Self::URL).ok()?, mark })
    }
}

/// A dispatch under way.
pub(crate) struct Running {
    pub(crate) task: TaskId,
    pub(crate) stream: EventStream,
    pub(crate) seen: Vec<EventBody>,
    dispatched: tokio::task::JoinHandle<Result<DispatchResult, PluginError>>,
    began: Instant,
}

impl Running {
    /// Reads events until one is as wanted.
    pub(crate) async fn until(&mut self, wanted: impl Fn(&EventBody) -> bool) {
        let seen = async {
            while let Some(event) = self.stream.next().await {
                let found = wanted(&event);
                self.seen.push(event);
                if found {
                    return true;
                }
            }
            false
        };
        let found = tokio::time::timeout(SOON, seen).await;
        assert_eq!(found, Ok(true), "{:?}", self.seen);
    }

    /// Reads events until the answer holds that text.
    pub(crate) async fn until_said(&mut self, text: &str) {
        while !tokens(&self.seen).contains(text) {
            self.until(|event| matches!(event, EventBody::Token { .. })).await;
        }
    }

    /// Reads all events and takes the outcome.
    pub(crate) async fn end(mut self) -> Ran {
        let all = async {
            while let Some(event) = self.stream.next().await {
                self.seen.push(event);
            }
            (&mut self.dispatched).await.unwrap()
        };
        let outcome = tokio::time::timeout(SOON, all).await.unwrap();
        Ran { events: self.seen, outcome, took: self.began.elapsed() }
    }
}

/// What came of a dispatch.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) events: Vec<EventBody>,
    pub(crate) outcome: Result<DispatchResult, PluginError>,
    pub(crate) took: Duration,
}

impl Ran {
    /// The result.
    pub(crate) fn result(&self) -> &DispatchResult {
        self.outcome.as_ref().unwrap_or_else(|error| panic!("{error:?} after {:?}", self.events))
    }

    /// The answer, which is what the events said.
    pub(crate) fn answer(&self) -> &str {
        let answer = &self.result().content;
        assert_eq!(*answer, self.said(), "{:?}", self.events);
        answer
    }

    pub(crate) fn error(&self) -> &PluginError {
        self.outcome.as_ref().unwrap_err()
    }

    /// What had been said before it failed.
    pub(crate) fn partial(&self) -> &str {
        self.error().partial.as_ref().map_or("", |partial| &partial.content)
    }

    /// The text of the main agent as it streamed.
    pub(crate) fn said(&self) -> String {
        tokens(&self.events)
    }

    /// The text of the main agent's thoughts.
    pub(crate) fn thoughts(&self) -> String {
        let texts = self.events.iter().filter_map(|event| match event {
            EventBody::Thought { text, parent_id: None, .. } => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    /// The tool calls in the events.
    pub(crate) fn calls(&self) -> Vec<&ToolCallInfo> {
        let calls = self.events.iter().filter_map(|event| match event {
            EventBody::ToolCall(call) => Some(call),
            _ => None,
        });
        calls.collect()
    }

    /// The results of tools in the events.
    pub(crate) fn results(&self) -> Vec<&ToolResultInfo> {
        let results = self.events.iter().filter_map(|event| match event {
            EventBody::ToolResult(result) => Some(result),
            _ => None,
        });
        results.collect()
    }

    /// The messages of all notices of that kind.
    pub(crate) fn notices(&self, wanted: NoticeKind) -> Vec<&str> {
        let notices = self.events.iter().filter_map(|event| match event {
            EventBody::Notice { kind, message } if *kind == wanted => Some(message.as_str()),
            _ => None,
        });
        notices.collect()
    }
}

/// The text of the main agent, joined.
pub(crate) fn tokens(events: &[EventBody]) -> String {
    let texts = events.iter().filter_map(|event| match event {
        EventBody::Token { text, parent_id: None, .. } => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

/// Somebody who gives each question the answer of that kind, and writes down what was asked.
#[derive(Debug)]
pub(crate) struct Somebody {
    answer: OptionKind,
    asked: Mutex<Vec<PermissionRequest>>,
}

impl Somebody {
    pub(crate) fn who_says(answer: OptionKind) -> Arc<Self> {
        Arc::new(Self { answer, asked: Mutex::default() })
    }

    pub(crate) fn asked(&self) -> Vec<PermissionRequest> {
        self.asked.lock().unwrap().clone()
    }
}

impl Permissions for Somebody {
    fn somebody_there(&self) -> bool {
        true
    }

    fn ask(&self, request: PermissionRequest) -> BoxFuture<'static, PermissionResolution> {
        let option_id = request.option(self.answer).map(str::to_owned);
        let id = request.id.clone();
        self.asked.lock().unwrap().push(request);
        let by = ResolvedBy::Client;
        Box::pin(async move { PermissionResolution { id, option_id, by } })
    }
}
