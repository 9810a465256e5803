//! A plugin around the made-up CLI, with all that it needs, in a folder of its own.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::FutureExt;
use mia_api::{
    ConversationId, DispatchOptions, DispatchResult, ErrorCode, EventBody, NoticeKind,
    PluginContext, PluginError, TaskId,
};
use mia_host::{Supervisor, SupervisorProgram};
use mia_plugin::{
    CodingPlugin, Dispatch, Environment, EventStream, Nobody, PluginConfig, Services, SpawnPlugin,
    event_channel,
};
use mia_testkit::fakecli::FakeCli;
use mia_testkit::proc::{self, Process};
use pretty_assertions::assert_eq;

use crate::memory::Memory;
use crate::toy::Toy;

/// Longer than anything here takes by itself, shorter than what a hanging child takes.
pub(crate) const SOON: Duration = Duration::from_secs(30);

/// A plugin and its child's script.
pub(crate) struct World {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) cli: FakeCli,
    pub(crate) sessions: Arc<Memory>,
    pub(crate) plugin: Arc<SpawnPlugin<Toy>>,
}

impl World {
    /// A plugin whose child does that.
    pub(crate) async fn new(script: &str) -> Self {
        Self::with(Toy::default(), script, |_| {}).await
    }

    /// A plugin around that adapter, with other settings.
    pub(crate) async fn with(
        toy: Toy,
        script: &str,
        change: impl FnOnce(&mut PluginConfig),
    ) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let cli = FakeCli::new(dir.path());
        cli.script(script);
        let sessions = Arc::new(Memory::default());
        let plugin = Arc::new(SpawnPlugin::new("toy", "1", toy));
        let mut config = PluginConfig::new("toy");
        config.binary = Some(cli.path().to_owned());
        change(&mut config);
        let services = Services {
            supervisor: Supervisor::new(SupervisorProgram::ThisProgram),
            sessions: Arc::clone(&sessions) as _,
            environment: environment(),
            installed_agents: None,
        };
        plugin.initialize(config, services).await.unwrap();
        Self { dir, cli, sessions, plugin }
    }

    /// A dispatch of that prompt, in a conversation of its own, with nobody there.
    pub(crate) fn dispatch(&self, prompt: &str) -> Dispatch {
        Dispatch {
            prompt: prompt.to_owned(),
            context: PluginContext::default(),
            options: DispatchOptions::new(
                TaskId::generate(),
                ConversationId::generate(),
                self.dir.path().to_owned(),
            ),
            environment: environment(),
            permissions: Arc::new(Nobody),
            earlier_turns: 0,
        }
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

    /// What a file beside the program holds.
    pub(crate) fn file(&self, name: &str) -> String {
        std::fs::read_to_string(self.cli.beside(name)).unwrap()
    }

    /// Waits until the child has made that file.
    pub(crate) async fn made(&self, name: &str) {
        let path = self.cli.beside(name);
        proc::wait_for(name, SOON, || path.exists().then_some(())).await;
    }

    /// Opens the gate that the child waits at.
    pub(crate) fn open_gate(&self, name: &str) {
        std::fs::write(self.cli.beside(name), "").unwrap();
    }

    /// The process whose pid is in that file.
    pub(crate) fn process(&self, name: &str) -> Option<Process> {
        Process::of(self.file(name).parse().unwrap())
    }

    /// Everything that runs and was started from this folder.
    pub(crate) fn alive(&self) -> Vec<Process> {
        proc::with_argument(&self.dir.path().to_string_lossy())
    }

    /// The supervisor, once it has run a child to its end.
    pub(crate) async fn supervisor(&self) -> Process {
        self.cli.next_script("touch here\nwait-file go-on\n");
        let running = self.start(self.dispatch("x"));
        self.made("here").await;
        let parent = self.alive().first().and_then(Process::parent).unwrap();
        self.open_gate("go-on");
        running.end().await.outcome.unwrap_err();
        Process::of(parent).unwrap()
    }

    /// Waits until the child has written something and can write no more.
    pub(crate) async fn stuck(&self) {
        let mut seen = (0, Instant::now());
        proc::wait_for("the child to be stuck", SOON, || {
            let child = self.alive().into_iter().next()?;
            let written = written_by(child.pid())?;
            if written != seen.0 {
                seen = (written, Instant::now());
            }
            (written > 100_000 && seen.1.elapsed() > Duration::from_millis(100)).then_some(())
        })
        .await;
    }

    /// Waits until nothing of this folder runs.
    pub(crate) async fn all_gone(&self) {
        proc::wait_for("everything to be gone", SOON, || self.alive().is_empty().then_some(()))
            .await;
    }
}

/// A caller's environment with a program path and nothing else.
pub(crate) fn environment() -> Environment {
    [("PATH", "/usr/bin:/bin"), ("HOME", "/nonexistent")].into_iter().collect()
}

/// How many bytes a process has written.
fn written_by(pid: u32) -> Option<u64> {
    let io = std::fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
    io.lines().find_map(|line| line.strip_prefix("wchar: "))?.parse().ok()
}

/// A dispatch under way.
pub(crate) struct Running {
    pub(crate) task: TaskId,
    pub(crate) stream: EventStream,
    pub(crate) seen: Vec<EventBody>,
    pub(crate) dispatched: tokio::task::JoinHandle<Result<DispatchResult, PluginError>>,
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
        assert!(tokio::time::timeout(SOON, seen).await.unwrap(), "it ended: {:?}", self.seen);
    }

    /// Reads events until the answer holds that text.
    pub(crate) async fn until_said(&mut self, text: &str) {
        while !tokens(&self.seen).contains(text) {
            self.until(|event| matches!(event, EventBody::Token { .. })).await;
        }
    }

    /// Reads all events and takes the outcome; checks what is true of each dispatch.
    pub(crate) async fn end(mut self) -> Ran {
        let all = async {
            while let Some(event) = self.stream.next().await {
                self.seen.push(event);
            }
            (&mut self.dispatched).await.unwrap()
        };
        let outcome = tokio::time::timeout(SOON, all).await.unwrap();
        let took = self.began.elapsed();
        // M-08: the sink is gone with the outcome, so nothing follows.
        assert_eq!(self.stream.next().now_or_never(), Some(None));
        let ran = Ran { events: self.seen, outcome, took };
        ran.check();
        ran
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
    /// What is true of each dispatch: what is told at the end is what was told before (M-08).
    fn check(&self) {
        let content = match &self.outcome {
            Ok(result) => result.content.as_str(),
            Err(error) => error.partial.as_ref().map_or("", |partial| partial.content.as_str()),
        };
        assert_eq!(content, tokens(&self.events));
        let asked = self.events.iter().filter(|e| matches!(e, EventBody::Permission(_)));
        let answered = self.events.iter().filter(|e| matches!(e, EventBody::PermissionResolved(_)));
        assert_eq!(asked.count(), answered.count(), "each question is closed: {:?}", self.events);
        if let Ok(result) = &self.outcome {
            let calls = self.events.iter().filter(|e| matches!(e, EventBody::ToolCall(_)));
            assert_eq!(result.tool_calls.len(), calls.count());
        }
    }

    /// The answer.
    pub(crate) fn content(&self) -> &str {
        &self.outcome.as_ref().unwrap().content
    }

    pub(crate) fn error(&self) -> &PluginError {
        self.outcome.as_ref().unwrap_err()
    }

    pub(crate) fn code(&self) -> Option<ErrorCode> {
        self.outcome.as_ref().err().map(|error| error.code)
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

/// The path of a program that does not exist.
pub(crate) fn nowhere() -> PathBuf {
    "/nonexistent/toy".into()
}
