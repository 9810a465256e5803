//! Many tasks at once, each with many watchers that leave and come back.

use std::time::Duration;

use fastrand::Rng;
use futures::future::join_all;
use mia_api::{DispatchBody, DispatchOptions, Event, EventBody, ResumePoint, TaskId};
use mia_daemon::{Connection, Watching};
use pretty_assertions::assert_eq;

use crate::claude::answer;
use crate::daemon::{Daemon, SOON};
use crate::person::Person;
use crate::rounds::rounds;
use crate::stream::{Stream, stream};

/// How often a watcher leaves before it stays.
const LEAVES: usize = 8;

/// What a watcher has got.
#[derive(Debug, Default, PartialEq, Eq)]
struct Seen {
    text: String,
    thoughts: String,
    /// What is no text, by number.
    others: Vec<(u64, &'static str)>,
    /// What the terminal event says that the answer was.
    content: Option<String>,
}

impl Seen {
    /// Takes the next event, which must go on exactly where the one before it ended.
    fn take(&mut self, last: u64, event: Event) {
        let Event { seq, offset, body, .. } = event;
        match &body {
            EventBody::Token { text, .. } => {
                assert_eq!(offset, Some(self.text.len() as u64), "text from another place");
                assert!(seq >= last, "number {seq} after {last}");
                self.text.push_str(text);
            }
            EventBody::Thought { text, .. } => {
                assert_eq!(offset, Some(self.thoughts.len() as u64), "thoughts of another place");
                assert!(seq >= last, "number {seq} after {last}");
                self.thoughts.push_str(text);
            }
            other => {
                assert!(seq > last, "number {seq} after {last}");
                self.others.push((seq, other.kind()));
            }
        }
        if let EventBody::Complete { result } = body {
            self.content = Some(result.content);
        }
    }
}

/// Watches a task to its end, and leaves now and then in between.
async fn watch(connection: &Connection, task: &TaskId, mut rng: Rng, leaves: usize) -> Seen {
    let mut seen = Seen::default();
    let mut watching = Watching::default();
    for visit in 0..=leaves {
        let mut stay = if visit == leaves { usize::MAX } else { rng.usize(0..5) };
        let mut events = connection.watch(task, watching).await.unwrap();
        while stay > 0 {
            let Some(event) = events.next().await.unwrap() else { return seen };
            let (last, point) = (watching.after.seq, ResumePoint::after(&event));
            seen.take(last, event);
            watching.after = point;
            stay -= 1;
        }
        drop(events);
        tokio::time::sleep(Duration::from_millis(rng.u64(0..30))).await;
    }
    seen
}

#[test]
fn m_038_each_of_many_watchers_ends_with_exactly_what_the_agent_said() {
    rounds("watchers", |round| {
        let (tasks, watchers) = (round.size(40, 200), round.size(6, 20));
        // Each watcher is a connection of this process, too.
        mia_host::descriptors::raise();
        let person = Person::new();
        let pieces = round.size(60, 150);
        // The script is the same for all; what they say is not.
        let chances = round.rng.clone();
        let said = |words: &str| stream(words, pieces, 4, &mut chances.clone());
        let claude = person.claude(&said("").script);
        person.configure(&format!(
            "limits: {{concurrent: {tasks}}}\nplugins:\n  claude-code: {{max_concurrency: {tasks}, binary: {:?}}}\n",
            claude.path()
        ));
        let daemon = Daemon::of(&person);
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let bytes = runtime.block_on(async {
            let all = join_all((0..tasks).map(|number| {
                let words = format!("task {number}: für 漢 🎈 {};", round.rng.u32(..));
                let said = said(&words);
                let connection = Connection::over(daemon.socket.clone());
                let rng = round.rng.fork();
                one_task(connection, person.project(), words, said, watchers, rng)
            }));
            let all = tokio::time::timeout(SOON * 5, all).await.unwrap();
            all.into_iter().sum::<usize>()
        });
        assert_eq!(Daemon::of(&person).process, daemon.process, "it is the same daemon still");
        claude.script(&answer("later"));
        assert_eq!(person.run(&["ask", "--plugin", "claude-code", "more"]).code(0).out, "later\n");
        format!("{tasks} tasks, each with {watchers} watchers, {bytes} bytes of text to each set")
    });
}

/// Dispatches a prompt and watches it; the number of bytes of its answer.
async fn one_task(
    connection: Connection,
    folder: std::path::PathBuf,
    words: String,
    said: Stream,
    watchers: usize,
    mut rng: Rng,
) -> usize {
    let task = TaskId::generate();
    let options = DispatchOptions::new(task.clone(), mia_api::ConversationId::generate(), folder);
    let mut body = DispatchBody::of(words, options);
    body.plugin = Some("claude-code".to_owned());
    let events = connection.dispatch(&body).await.unwrap();
    // Who asked goes away, and comes back as one of the others.
    drop(events);
    // The first one stays all the time: the others must have the same.
    let seen = join_all((0..watchers).map(|number| {
        let leaves = if number == 0 { 0 } else { LEAVES };
        watch(&connection, &task, rng.fork(), leaves)
    }))
    .await;
    for one in &seen {
        assert_eq!(one.text, said.text);
        assert_eq!(one.thoughts, said.thoughts);
        assert_eq!(one.content.as_deref(), Some(said.text.as_str()));
        assert_eq!(one.others, seen[0].others);
    }
    said.text.len()
}
