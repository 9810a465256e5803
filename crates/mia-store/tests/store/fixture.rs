//! What the tests share.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use mia_api::{ConversationId, DispatchResult, Event, EventBody, StopReason, TaskId};
use mia_store::{Claim, Ending, NewTask, OpenOptions, Owner, Store, Turn};
use tempfile::TempDir;

/// A folder with a database.
pub(crate) struct Home {
    pub(crate) folder: TempDir,
    pub(crate) path: PathBuf,
}

impl Home {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mia.db");
        Self { folder, path }
    }

    pub(crate) async fn open(&self) -> Store {
        Store::open(&self.path, OpenOptions::default()).await.unwrap()
    }
}

pub(crate) fn id(text: &str) -> TaskId {
    text.parse().unwrap()
}

pub(crate) fn talk(text: &str) -> ConversationId {
    text.parse().unwrap()
}

pub(crate) fn new_task(task: &str, conversation: &str) -> NewTask {
    NewTask {
        task_id: id(task),
        conversation_id: talk(conversation),
        prompt: format!("prompt of {task}"),
        plugin: Some("fake".to_owned()),
        model: None,
        cwd: "/work".into(),
        queue_limit: None,
    }
}

/// Accepts a task and starts it.
pub(crate) async fn start(store: &Store, owner: &Owner, task: &str, conversation: &str) -> Claim {
    store.accept(&new_task(task, conversation), owner).await.unwrap();
    match store.try_start(&id(task), owner).await.unwrap() {
        Turn::Started(claim) => claim,
        waiting => panic!("{task} did not start: {waiting:?}"),
    }
}

pub(crate) fn result(task: &str, conversation: &str, content: &str) -> DispatchResult {
    DispatchResult {
        content: content.to_owned(),
        usage: None,
        session_id: None,
        tool_calls: Vec::new(),
        duration_ms: 12,
        task_id: id(task),
        conversation_id: talk(conversation),
        plugin: "fake".to_owned(),
        model: None,
        cost_usd: None,
        stop_reason: StopReason::EndTurn,
        attempts: Vec::new(),
        files_changed: Vec::new(),
        context_reset: false,
        warnings: Vec::new(),
    }
}

pub(crate) fn ok(result: &DispatchResult) -> Ending<'_> {
    Ending { outcome: Ok(result), seq: None, session: None }
}

/// Numbers events and gives text its offsets, as a dispatcher does.
pub(crate) struct Sequence {
    task: TaskId,
    seq: u64,
    token: u64,
    thought: u64,
}

impl Sequence {
    pub(crate) fn new(task: &str) -> Self {
        Self { task: id(task), seq: 0, token: 0, thought: 0 }
    }

    pub(crate) fn next(&mut self, body: EventBody) -> Event {
        self.seq += 1;
        let offset = match &body {
            EventBody::Attempt { .. } => {
                (self.token, self.thought) = (0, 0);
                None
            }
            EventBody::Token { text, .. } => {
                self.token += text.len() as u64;
                Some(self.token - text.len() as u64)
            }
            EventBody::Thought { text, .. } => {
                self.thought += text.len() as u64;
                Some(self.thought - text.len() as u64)
            }
            _ => None,
        };
        Event { task_id: self.task.clone(), seq: self.seq, offset, body }
    }

    pub(crate) fn all(task: &str, bodies: impl IntoIterator<Item = EventBody>) -> Vec<Event> {
        let mut sequence = Self::new(task);
        bodies.into_iter().map(|body| sequence.next(body)).collect()
    }
}

/// A second process.
pub(crate) struct Probe {
    child: Child,
    /// What it said.
    pub(crate) line: String,
    _stdin: ChildStdin,
}

impl Probe {
    /// Runs a command of the probe and waits until it says that it is done.
    pub(crate) fn run(words: &[&str]) -> Self {
        Self::spawn(Command::new(program()).args(words))
    }

    /// The same as a user without rights where this one has all of them.
    pub(crate) fn run_unprivileged(copy: &Path, words: &[&str]) -> Self {
        use std::os::unix::process::CommandExt;
        let mut command = Command::new(copy);
        command.args(words);
        if is_root(copy) {
            command.uid(65534).gid(65534);
        }
        Self::spawn(&mut command)
    }

    fn spawn(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let stdin = child.stdin.take().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Self { child, line: line.trim_end().to_owned(), _stdin: stdin }
    }

    /// Starts the probe without waiting; `wait` waits for its end.
    pub(crate) fn start(words: &[&str]) -> Child {
        Command::new(program())
            .args(words)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// Kills it with SIGKILL.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_mia-store-probe"))
}

/// A copy of the probe that anybody may run.
pub(crate) fn public_copy(folder: &Path) -> PathBuf {
    let copy = folder.join("probe");
    std::fs::copy(program(), &copy).unwrap();
    copy
}

/// True when the file that we just made belongs to root.
fn is_root(ours: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(ours).unwrap().uid() == 0
}

/// A disk that is soon full, for those who may mount one.
pub(crate) struct SmallDisk {
    pub(crate) folder: PathBuf,
}

impl SmallDisk {
    pub(crate) fn mount(under: &Path, size: &str) -> Option<Self> {
        let folder = under.join("small");
        std::fs::create_dir(&folder).unwrap();
        let mut command = Command::new("mount");
        command.args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"]).arg(&folder);
        let mounted = command.stderr(Stdio::null()).status();
        mounted.is_ok_and(|status| status.success()).then_some(Self { folder })
    }

    pub(crate) fn resize(&self, size: &str) {
        let mut command = Command::new("mount");
        command.args(["-o", &format!("remount,size={size}")]).arg(&self.folder);
        assert!(command.status().unwrap().success());
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.folder).status();
    }
}
