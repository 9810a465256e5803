//! A folder to ask about, a guide to ask, and what it said.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use mia_api::{
    ConversationId, DispatchOptions, DispatchResult, EventBody, PermissionRequest,
    PermissionResolution, PluginContext, PluginError, ResolvedBy, TaskId,
};
use mia_host::{Supervisor, SupervisorProgram};
use mia_plugin::{
    CodingPlugin, Dispatch, Environment, Nobody, Permissions, PluginConfig, Services, SessionKey,
    SessionRecord, Sessions, SessionsError, event_channel,
};
// Linked for the supervisor that this binary becomes.
use mia_testkit as _;
use tempfile::TempDir;

use crate::Guide;

/// The record of sessions, in memory; its writes fail once that is set.
#[derive(Debug, Default)]
pub(super) struct InMemory(
    pub(super) Mutex<HashMap<SessionKey, SessionRecord>>,
    pub(super) AtomicBool,
);

impl Sessions for InMemory {
    fn get<'a>(
        &'a self,
        key: &'a SessionKey,
    ) -> BoxFuture<'a, Result<Option<SessionRecord>, SessionsError>> {
        let found = self.0.lock().unwrap().get(key).cloned();
        Box::pin(async { Ok(found) })
    }

    fn latest<'a>(
        &'a self,
        _plugin: &'a str,
        _conversation: &'a ConversationId,
    ) -> BoxFuture<'a, Result<Option<SessionRecord>, SessionsError>> {
        Box::pin(async { Ok(None) })
    }

    fn put<'a>(
        &'a self,
        key: &'a SessionKey,
        record: &'a SessionRecord,
    ) -> BoxFuture<'a, Result<(), SessionsError>> {
        if self.1.load(Ordering::Relaxed) {
            return Box::pin(async { Err(SessionsError("the disk is full".to_owned())) });
        }
        self.0.lock().unwrap().insert(key.clone(), record.clone());
        Box::pin(async { Ok(()) })
    }

    fn remove<'a>(&'a self, key: &'a SessionKey) -> BoxFuture<'a, Result<(), SessionsError>> {
        self.0.lock().unwrap().remove(key);
        Box::pin(async { Ok(()) })
    }

    fn remove_all<'a>(
        &'a self,
        plugin: &'a str,
        conversation: &'a ConversationId,
    ) -> BoxFuture<'a, Result<(), SessionsError>> {
        let is_of = |key: &SessionKey| key.plugin == plugin && key.conversation == *conversation;
        self.0.lock().unwrap().retain(|key, _| !is_of(key));
        Box::pin(async { Ok(()) })
    }

    fn remove_older<'a>(
        &'a self,
        plugin: &'a str,
        age: Duration,
    ) -> BoxFuture<'a, Result<usize, SessionsError>> {
        assert_eq!((plugin, age), ("guide", Duration::from_secs(9)));
        let removed = self.0.lock().unwrap().drain().count();
        Box::pin(async move { Ok(removed) })
    }

    fn recap<'a>(
        &'a self,
        _conversation: &'a ConversationId,
        _before: &'a TaskId,
        _held_by: Option<&'a SessionKey>,
    ) -> BoxFuture<'a, Result<Option<String>, SessionsError>> {
        Box::pin(async { Ok(None) })
    }
}

/// Answers each question with that option, or never.
#[derive(Debug)]
pub(super) enum Somebody {
    Says(&'static str),
    Thinks,
}

impl Permissions for Somebody {
    fn somebody_there(&self) -> bool {
        true
    }

    fn ask(&self, request: PermissionRequest) -> BoxFuture<'static, PermissionResolution> {
        match self {
            Self::Says(option) => {
                let option_id = Some((*option).to_owned());
                let answer =
                    PermissionResolution { id: request.id, option_id, by: ResolvedBy::Client };
                Box::pin(async { answer })
            }
            Self::Thinks => Box::pin(std::future::pending()),
        }
    }
}

/// What a guide said.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) events: Vec<EventBody>,
    pub(super) outcome: Result<DispatchResult, PluginError>,
}

impl Said {
    /// The answer.
    pub(super) fn text(&self) -> &str {
        &self.outcome.as_ref().unwrap().content
    }

    /// Names of the tools that were called, with a mark on those that failed.
    pub(super) fn tools(&self) -> Vec<String> {
        let results = self.events.iter().filter_map(|event| match event {
            EventBody::ToolResult(result) => Some(result),
            _ => None,
        });
        results.map(|r| format!("{}{}", r.name, if r.is_error { "!" } else { "" })).collect()
    }
}

/// A folder with a guide in it.
#[derive(Debug)]
pub(super) struct Fixture {
    _folder: TempDir,
    pub(super) home: PathBuf,
    pub(super) cwd: PathBuf,
    pub(super) sessions: Arc<InMemory>,
    pub(super) guide: Arc<Guide>,
    pub(super) path: Option<std::ffi::OsString>,
}

impl Fixture {
    /// An empty folder.
    pub(super) async fn empty() -> Self {
        let folder = TempDir::new().unwrap();
        let (home, cwd) = (folder.path().join("home"), folder.path().join("demo"));
        std::fs::create_dir(&home).unwrap();
        std::fs::create_dir(&cwd).unwrap();
        let sessions = Arc::new(InMemory::default());
        let guide = guide(&sessions, PluginConfig::new("guide")).await;
        let path = std::env::var_os("PATH");
        Self { _folder: folder, home, cwd, sessions, guide, path }
    }

    /// A small project in git with two commits.
    pub(super) async fn project() -> Self {
        let fixture = Self::empty().await;
        fixture.write("README.md", "# Demo\n\nA **demo** of [things](x).\n\nMore of it.\n");
        fixture.write("Cargo.toml", "[package]\nname = \"demo-things\"\nversion = \"0.1.0\"\n");
        fixture.write("src/main.rs", "fn main() {\n    // TODO: more\n    println!(\"hi\");\n}\n");
        fixture.write("docs/README.md", "# Docs\n\nHow things work.\n");
        fixture.write(".gitignore", "target/\n");
        fixture.write("target/debris.rs", "// TODO: never seen\n");
        fixture.git(&["init", "-q", "-b", "main"]);
        fixture.commit("First");
        fixture.write("src/lib.rs", "pub fn parse_output() {}\n");
        fixture.commit("Add a library");
        fixture
    }

    pub(super) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.cwd.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(super) fn commit(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", message]);
    }

    pub(super) fn git(&self, arguments: &[&str]) {
        let done = Command::new("git")
            .args(arguments)
            .current_dir(&self.cwd)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", &self.home)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_AUTHOR_NAME", "Ann")
            .env("GIT_AUTHOR_EMAIL", "ann@example.org")
            .env("GIT_AUTHOR_DATE", "2030-01-02T03:04:05Z")
            .env("GIT_COMMITTER_NAME", "Ann")
            .env("GIT_COMMITTER_EMAIL", "ann@example.org")
            .env("GIT_COMMITTER_DATE", "2030-01-02T03:04:05Z")
            .output()
            .unwrap();
        assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    }

    pub(super) fn dispatch(&self, prompt: &str) -> Dispatch {
        let conversation = "talk".parse().unwrap();
        let path = self.path.clone().map(|path| ("PATH".into(), path));
        let home = Some(("HOME".into(), self.home.clone().into_os_string()));
        let environment: Environment = path
            .into_iter()
            .chain(home)
            .collect::<Vec<(std::ffi::OsString, _)>>()
            .into_iter()
            .collect();
        Dispatch {
            prompt: prompt.to_owned(),
            context: PluginContext::default(),
            options: DispatchOptions::new(
                "task-1".parse().unwrap(),
                conversation,
                self.cwd.clone(),
            ),
            environment,
            permissions: Arc::new(Nobody),
            earlier_turns: 0,
        }
    }

    pub(super) async fn ask(&self, prompt: &str) -> Said {
        ask(&self.guide, self.dispatch(prompt)).await
    }
}

/// A guide that keeps its sessions there.
pub(super) async fn guide(sessions: &Arc<InMemory>, config: PluginConfig) -> Arc<Guide> {
    let guide = Arc::new(Guide::new());
    let services = Services {
        supervisor: Supervisor::new(SupervisorProgram::ThisProgram),
        sessions: Arc::clone(sessions) as Arc<dyn Sessions>,
        environment: Environment::default(),
        installed_agents: None,
    };
    guide.initialize(config, services).await.unwrap();
    guide
}

/// Asks, and checks what is true of every answer.
pub(super) async fn ask(guide: &Guide, dispatch: Dispatch) -> Said {
    let (sink, mut stream) = event_channel();
    let read = async {
        let mut events = Vec::new();
        while let Some(event) = stream.next().await {
            events.push(event);
        }
        events
    };
    let (outcome, events) = tokio::join!(guide.dispatch(dispatch, sink), read);
    let mut text = String::new();
    let mut open = Vec::new();
    let mut calls = Vec::new();
    for event in &events {
        match event {
            EventBody::Token { text: more, .. } => text.push_str(more),
            EventBody::ToolCall(call) => {
                open.push(call.id.clone());
                calls.push(call.clone());
            }
            EventBody::ToolResult(result) => {
                let at = open.iter().position(|id| *id == result.id).unwrap();
                open.remove(at);
                assert!(result.output.len() <= 16 * 1024);
            }
            _ => {}
        }
    }
    if let Ok(result) = &outcome {
        assert_eq!(result.content, text);
        assert_eq!(result.tool_calls, calls);
        assert!(open.is_empty(), "calls without a result: {open:?}");
        assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
        assert_eq!((&result.usage, &result.model, result.cost_usd), (&None, &None, None));
        assert!(text.ends_with('\n') && !text.ends_with("\n\n"), "{text:?}");
    }
    assert_eq!(guide.running_task_count(), 0);
    Said { events, outcome }
}

/// Makes a file's time the same each time.
pub(super) fn touch(path: &Path, seconds: u64) {
    let time = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    std::fs::File::options().append(true).open(path).unwrap().set_modified(time).unwrap();
}
