//! Conversations: the list, the title, and the end of one (M-72).

use std::path::{Path, PathBuf};

use mia_api::{EventBody, TaskStatus, ToolCallInfo};
use mia_store::{ConversationFilter, Deleted, Session, Store};
use pretty_assertions::assert_eq;
use sqlx::{Connection, Row};

use crate::fixture::{Home, Probe, Sequence, id, new_task, ok, result, start, talk};

async fn listed(store: &Store, filter: ConversationFilter) -> Vec<String> {
    let found = store.conversations(&filter).await.unwrap();
    found.into_iter().map(|found| found.conversation_id.to_string()).collect()
}

fn session(conversation: &str, plugin: &str) -> Session {
    Session {
        conversation_id: talk(conversation),
        plugin: plugin.to_owned(),
        cwd: None,
        session_id: format!("of {plugin}"),
        state: serde_json::Value::Null,
    }
}

/// Waits for the next millisecond, so that times differ.
fn next_millisecond() {
    let now =
        || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
    let begun = now();
    while now() == begun {
        std::thread::yield_now();
    }
}

/// How many rows each table has.
pub(crate) async fn rows(path: &Path) -> Vec<(&'static str, i64)> {
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(path).read_only(true);
    let mut connection = sqlx::SqliteConnection::connect_with(&options).await.unwrap();
    let mut counts = Vec::new();
    for (table, sql) in [
        ("conversations", "SELECT COUNT(*) FROM conversations"),
        ("tasks", "SELECT COUNT(*) FROM tasks"),
        ("events", "SELECT COUNT(*) FROM events"),
        ("attempts", "SELECT COUNT(*) FROM attempts"),
        ("tool_calls", "SELECT COUNT(*) FROM tool_calls"),
        ("sessions", "SELECT COUNT(*) FROM sessions"),
        ("graves", "SELECT COUNT(*) FROM graves"),
    ] {
        let row = sqlx::query(sql).fetch_one(&mut connection).await.unwrap();
        counts.push((table, row.get(0)));
    }
    connection.close().await.unwrap();
    counts
}

#[tokio::test]
async fn conversations_are_listed_by_their_last_use() {
    let home = Home::new();
    let store = home.open().await;
    let owner = store.owner().unwrap();
    for (task, conversation, cwd) in
        [("t1", "a", "/one"), ("t2", "b", "/two"), ("t3", "a", "/three"), ("t4", "c", "/two")]
    {
        let mut new = new_task(task, conversation);
        new.cwd = PathBuf::from(cwd);
        new.plugin = Some(format!("plugin of {task}"));
        store.accept(&new, &owner).await.unwrap();
        next_millisecond();
    }
    let all = ConversationFilter::default;
    assert_eq!(listed(&store, all()).await, ["c", "a", "b"]);
    assert_eq!(listed(&store, ConversationFilter { limit: 1, ..all() }).await, ["c"]);
    let in_folder = |cwd: &str| ConversationFilter { cwd: Some(cwd.into()), ..all() };
    assert_eq!(listed(&store, in_folder("/two")).await, ["c", "b"]);
    assert_eq!(listed(&store, in_folder("/one")).await, ["a"]);
    assert_eq!(listed(&store, in_folder("/")).await, Vec::<String>::new());
    let with = |text: &str| ConversationFilter { text: Some(text.to_owned()), ..all() };
    assert_eq!(listed(&store, with("PROMPT of t3")).await, ["a"]);
    assert_eq!(listed(&store, with("%")).await, Vec::<String>::new());

    let record = store.conversation(&talk("a"), 1).await.unwrap().unwrap();
    let summary = &record.summary;
    assert_eq!(summary.first_prompt, "prompt of t1");
    assert_eq!((summary.tasks, summary.unfinished), (2, 2));
    assert_eq!(summary.plugin.as_deref(), Some("plugin of t3"));
    assert_eq!(summary.cwd.clone().into_path(), Path::new("/three"));
    assert_eq!(summary.title, None);
    assert!(summary.created_at < summary.updated_at);
    assert_eq!(record.tasks.len(), 1);
    assert_eq!(record.tasks[0].task_id, id("t3"));
    assert_eq!(store.conversation(&talk("nobody"), 9).await.unwrap(), None);
}

#[tokio::test]
async fn a_conversation_is_renamed_and_found_by_its_title() {
    let home = Home::new();
    let store = home.open().await;
    let owner = store.owner().unwrap();
    store.accept(&new_task("t", "c"), &owner).await.unwrap();
    let before = store.conversation(&talk("c"), 0).await.unwrap().unwrap().summary;
    assert!(store.rename_conversation(&talk("c"), Some("The 100% plan")).await.unwrap());
    let after = store.conversation(&talk("c"), 0).await.unwrap().unwrap().summary;
    assert_eq!(after.title.as_deref(), Some("The 100% plan"));
    assert_eq!(after.updated_at, before.updated_at, "a title is no use of it");
    let with = ConversationFilter { text: Some("the 100% P".to_owned()), ..Default::default() };
    assert_eq!(listed(&store, with).await, ["c"]);
    assert!(store.rename_conversation(&talk("c"), None).await.unwrap());
    assert_eq!(store.conversation(&talk("c"), 0).await.unwrap().unwrap().summary, before);
    assert!(!store.rename_conversation(&talk("nobody"), Some("x")).await.unwrap());
}

#[tokio::test]
async fn m_072_a_deleted_conversation_leaves_nothing() {
    let home = Home::new();
    let store = home.open().await;
    let owner = store.owner().unwrap();
    for (task, conversation) in [("t1", "gone"), ("t2", "stays"), ("t3", "gone")] {
        let claim = start(&store, &owner, task, conversation).await;
        store.begin_attempt(&id(task), 0, "fake").await.unwrap();
        let bodies = [
            EventBody::ToolCall(ToolCallInfo { id: "x".to_owned(), ..Default::default() }),
            EventBody::token("said ".repeat(100_000)),
        ];
        store.record(&id(task), &Sequence::all(task, bodies)).await.unwrap();
        store.finish(&claim, ok(&result(task, conversation, ""))).await.unwrap();
        store.put_session(&session(conversation, "codex")).await.unwrap();
        store.put_session(&session(conversation, "fake")).await.unwrap();
    }
    let both = [session("gone", "codex"), session("gone", "fake")];
    assert_eq!(store.sessions_of(&talk("gone")).await.unwrap(), both);
    let deleted = store.delete_conversation(&talk("gone")).await.unwrap();
    assert_eq!(deleted, Deleted::Now { tasks: 2 });
    assert_eq!(store.delete_conversation(&talk("gone")).await.unwrap(), Deleted::Unknown);
    assert_eq!(store.sessions_of(&talk("gone")).await.unwrap(), []);
    assert_eq!(store.sessions_of(&talk("stays")).await.unwrap().len(), 2);
    let left = [
        ("conversations", 1),
        ("tasks", 1),
        ("events", 3),
        ("attempts", 1),
        ("tool_calls", 1),
        ("sessions", 2),
        ("graves", 0),
    ];
    assert_eq!(rows(&home.path).await, left);
    assert_eq!(store.task(&id("t1")).await.unwrap(), None);
    let kept = store.task(&id("t2")).await.unwrap().unwrap();
    assert_eq!(kept.summary.status, TaskStatus::Completed);
    // The id is free again, and so is the conversation's.
    start(&store, &owner, "t1", "gone").await;
    store.check().await.unwrap();
}

#[tokio::test]
async fn m_072_a_busy_conversation_is_not_deleted() {
    let home = Home::new();
    let store = home.open().await;
    let owner = store.owner().unwrap();
    let claim = start(&store, &owner, "t1", "c").await;
    store.finish(&claim, ok(&result("t1", "c", ""))).await.unwrap();
    start(&store, &owner, "t2", "c").await;
    store.accept(&new_task("t3", "c"), &owner).await.unwrap();
    let before = rows(&home.path).await;
    let refused = store.delete_conversation(&talk("c")).await.unwrap();
    assert_eq!(refused, Deleted::Busy { tasks: vec![id("t2"), id("t3")] });
    assert_eq!(rows(&home.path).await, before);
    // The store works on, also for those that wait for its right to write.
    store.accept(&new_task("t4", "c"), &owner).await.unwrap();
}

#[tokio::test]
async fn m_072_what_a_dead_one_left_is_not_busy() {
    let home = Home::new();
    let probe = Probe::run(&["run", home.path.to_str().unwrap(), "t", "c"]);
    let store = home.open().await;
    let busy = Deleted::Busy { tasks: vec![id("t")] };
    assert_eq!(store.delete_conversation(&talk("c")).await.unwrap(), busy);
    probe.kill();
    let deleted = store.delete_conversation(&talk("c")).await.unwrap();
    assert_eq!(deleted, Deleted::Now { tasks: 1 });
    assert!(rows(&home.path).await.iter().all(|(_, count)| *count == 0));
}
