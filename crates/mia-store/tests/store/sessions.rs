//! The session map (M-17, M-72).

use std::path::Path;
use std::time::Duration;

use mia_store::{Ending, Session, Store};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::fixture::{Home, new_task, result, start, talk};

fn session(conversation: &str, plugin: &str, cwd: Option<&str>, agents: &str) -> Session {
    Session {
        conversation_id: talk(conversation),
        plugin: plugin.to_owned(),
        cwd: cwd.map(Into::into),
        session_id: agents.to_owned(),
        state: json!({ "cost": 0.1, "n": 2 }),
    }
}

async fn found(store: &Store, plugin: &str, cwd: Option<&str>) -> Option<Session> {
    store.session(plugin, &talk("c"), cwd.map(Path::new)).await.unwrap()
}

#[tokio::test]
async fn m_017_a_session_is_kept_by_conversation_plugin_and_folder() {
    let home = Home::new();
    let store = home.open().await;
    let anywhere = session("c", "codex", None, "s1");
    let here = session("c", "claude-code", Some("/here"), "s2");
    let there = session("c", "claude-code", Some("/there"), "s3");
    for one in [&anywhere, &here, &there] {
        store.put_session(one).await.unwrap();
    }
    assert_eq!(found(&store, "codex", None).await, Some(anywhere));
    assert_eq!(found(&store, "claude-code", Some("/here")).await, Some(here.clone()));
    assert_eq!(found(&store, "claude-code", None).await, None);
    let again = Session { session_id: "s4".to_owned(), ..here };
    store.put_session(&again).await.unwrap();
    assert_eq!(found(&store, "claude-code", Some("/here")).await, Some(again));
    let folder = Path::new("/here");
    assert_eq!(store.remove_session("claude-code", &talk("c"), Some(folder)).await.unwrap(), 1);
    let latest = store.latest_session("claude-code", &talk("c")).await.unwrap();
    assert_eq!(latest, Some(there));
    assert_eq!(store.remove_session("claude-code", &talk("c"), None).await.unwrap(), 1);
    assert_eq!(store.remove_session("claude-code", &talk("c"), None).await.unwrap(), 0);
    assert!(found(&store, "codex", None).await.is_some());
}

#[tokio::test]
async fn m_017_the_session_is_written_with_the_end_or_not_at_all() {
    let home = Home::new();
    let store = home.open().await;
    let owner = store.owner().unwrap();
    let mut claim = start(&store, &owner, "t", "c").await;
    let session = session("c", "fake", None, "s");
    let result = result("t", "c", "");
    let ending = Ending { outcome: Ok(&result), seq: None, session: Some(&session) };
    claim.epoch += 1;
    store.finish(&claim, ending).await.unwrap_err();
    assert_eq!(found(&store, "fake", None).await, None);
    claim.epoch -= 1;
    store.finish(&claim, ending).await.unwrap();
    assert_eq!(found(&store, "fake", None).await, Some(session));
}

#[tokio::test]
async fn m_072_cleanup_spares_the_young_and_the_busy() {
    let home = Home::new();
    let store = home.open().await;
    let owner = store.owner().unwrap();
    store.put_session(&session("c", "fake", None, "idle")).await.unwrap();
    store.put_session(&session("busy", "fake", None, "busy")).await.unwrap();
    store.put_session(&session("c", "other", None, "other")).await.unwrap();
    store.accept(&new_task("t", "busy"), &owner).await.unwrap();
    let day = Duration::from_secs(86_400);
    assert_eq!(store.remove_older_sessions(Some("fake"), day).await.unwrap(), 0);
    // The clock has to have moved on by a millisecond.
    while store.remove_older_sessions(Some("fake"), Duration::ZERO).await.unwrap() == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(found(&store, "fake", None).await, None);
    assert!(found(&store, "other", None).await.is_some());
    let busy = store.latest_session("fake", &talk("busy")).await.unwrap();
    assert_eq!(busy.unwrap().session_id, "busy");
}

#[tokio::test]
async fn m_072_cleanup_spares_what_a_live_conversation_refers_to() {
    let home = Home::new();
    let store = home.open().await;
    let owner = store.owner().unwrap();
    store.put_session(&session("c", "fake", None, "old")).await.unwrap();
    store.put_session(&session("gone", "fake", None, "old, too")).await.unwrap();
    let claim = start(&store, &owner, "t", "c").await;
    let used = store.task(&crate::fixture::id("t")).await.unwrap().unwrap().summary.created_at;
    store.finish(&claim, crate::fixture::ok(&result("t", "c", ""))).await.unwrap();
    // Make the sessions, and not the conversation, older than the age.
    set_used(&home, used - 3_600_000).await;
    let minute = Duration::from_secs(60);
    assert_eq!(store.remove_older_sessions(None, minute).await.unwrap(), 1);
    assert!(store.sessions_of(&talk("gone")).await.unwrap().is_empty());
    assert_eq!(store.sessions_of(&talk("c")).await.unwrap().len(), 1);
    // Once its last task is older, too, it is let go.
    age_conversation(&home, used - 3_600_000).await;
    assert_eq!(store.remove_older_sessions(None, minute).await.unwrap(), 1);
    assert!(store.sessions_of(&talk("c")).await.unwrap().is_empty());
}

async fn set_used(home: &Home, at: i64) {
    change(home, "UPDATE sessions SET used = $1", at).await;
}

async fn age_conversation(home: &Home, at: i64) {
    change(home, "UPDATE conversations SET updated_at = $1", at).await;
}

async fn change(home: &Home, sql: &'static str, at: i64) {
    use sqlx::Connection;
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(&home.path);
    let mut connection = sqlx::SqliteConnection::connect_with(&options).await.unwrap();
    sqlx::query(sql).bind(at).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}
