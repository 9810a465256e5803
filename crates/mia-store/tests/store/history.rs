//! Lists, and what a conversation is remembered by (M-70, M-18).

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mia_api::{Cause, ErrorCode, EventBody, PluginError, TaskStatus};
use mia_store::{Ending, Exchange, Filter, Store, TranscriptLimits};
use pretty_assertions::assert_eq;

use crate::fixture::{Home, Sequence, id, new_task, ok, result, start, talk};

async fn listed(store: &Store, filter: Filter) -> Vec<String> {
    let tasks = store.recent(&filter).await.unwrap();
    tasks.into_iter().map(|task| task.task_id.to_string()).collect()
}

#[tokio::test]
async fn m_070_a_list_has_what_fits_and_the_newest_first() {
    let home = Home::new();
    let store = home.open().await;
    let owner = store.owner().unwrap();
    let error =
        PluginError::new(ErrorCode::ProviderError, "codex", "the provider said NO: 100%_off")
            .with_cause(Cause::RateLimited);
    for (task, conversation) in [("t1", "a"), ("t2", "b"), ("t3", "a")] {
        let claim = start(&store, &owner, task, conversation).await;
        let good = result(task, conversation, "");
        let outcome = if task == "t2" { Err(&error) } else { Ok(&good) };
        store.finish(&claim, Ending { outcome, seq: None, session: None }).await.unwrap();
    }
    start(&store, &owner, "t4", "c").await;
    let all = Filter::default;
    assert_eq!(listed(&store, all()).await, ["t4", "t3", "t2", "t1"]);
    assert_eq!(listed(&store, Filter { limit: 2, ..all() }).await, ["t4", "t3"]);
    assert_eq!(listed(&store, Filter { failed: true, ..all() }).await, ["t2"]);
    assert_eq!(listed(&store, Filter { unfinished: true, ..all() }).await, ["t4"]);
    let plugin = Some("codex".to_owned());
    assert_eq!(listed(&store, Filter { plugin, ..all() }).await, ["t2"]);
    let conversation = Some(talk("a"));
    assert_eq!(listed(&store, Filter { conversation, ..all() }).await, ["t3", "t1"]);
    let grep = |text: &str| Filter { grep: Some(text.to_owned()), ..Filter::default() };
    assert_eq!(listed(&store, grep("PROMPT of T3")).await, ["t3"]);
    assert_eq!(listed(&store, grep("said no: 100%_")).await, ["t2"]);
    // What means something to LIKE is only text.
    assert_eq!(listed(&store, grep("prompt_of")).await, Vec::<String>::new());
    assert_eq!(listed(&store, grep("%")).await, ["t2"]);
    assert_eq!(listed(&store, grep("\\")).await, Vec::<String>::new());
    let now = store.recent(&all()).await.unwrap()[0].created_at;
    assert_eq!(
        listed(&store, Filter { since: Some(now + 1), ..all() }).await,
        Vec::<String>::new()
    );
    assert_eq!(listed(&store, Filter { since: Some(0), ..all() }).await.len(), 4);

    let failed = &store.recent(&Filter { failed: true, ..all() }).await.unwrap()[0];
    let json = serde_json::to_value(failed).unwrap();
    assert_eq!(
        json["error"],
        serde_json::json!({
            "code": "PROVIDER_ERROR",
            "cause": "rate_limited",
            "message": "the provider said NO: 100%_off",
        })
    );
    assert_eq!(json["status"], "failed");
    assert_eq!(store.task(&id("t2")).await.unwrap().unwrap().error, Some(error));
}

#[tokio::test]
async fn m_070_a_text_is_looked_for_in_words_and_not_in_json() {
    let home = Home::new();
    let store = home.open().await;
    let owner = store.owner().unwrap();
    let mut error = PluginError::new(ErrorCode::ProcessExit, "codex", "it said \"no\"\nand left");
    error.detail = Some("C:\\temp\tis \"full\"".to_owned());
    let claim = start(&store, &owner, "t1", "a").await;
    let ending = Ending { outcome: Err(&error), seq: None, session: None };
    store.finish(&claim, ending).await.unwrap();
    let mut quoted = new_task("t2", "b");
    quoted.prompt = "say \"null\"\nthen go".to_owned();
    store.accept(&quoted, &owner).await.unwrap();
    let grep = |text: &str| Filter { grep: Some(text.to_owned()), ..Filter::default() };
    for (text, found) in [
        ("SAID \"no\"\nAND", &["t1"][..]),
        ("c:\\temp\tis \"full", &["t1"]),
        ("say \"null\"\nthen", &["t2"]),
        // The error's JSON has all of these.
        ("null", &["t2"]),
        ("retry_after_ms", &[]),
        ("process_exit", &[]),
        ("\\n", &[]),
    ] {
        assert_eq!(listed(&store, grep(text)).await, found, "{text:?}");
    }
}

#[tokio::test]
async fn m_070_a_list_says_what_happened_also_beside_a_damaged_record() {
    use sqlx::Connection;
    let home = Home::new();
    let store = home.open().await;
    let owner = store.owner().unwrap();
    let long = "ü".repeat(500);
    for (task, message) in
        [("t1", "short"), ("t2", long.as_str()), ("t3", "x"), ("t4", "x"), ("t5", "x")]
    {
        let error = PluginError::new(ErrorCode::ProcessExit, "fake", message);
        let claim = start(&store, &owner, task, task).await;
        let ending = Ending { outcome: Err(&error), seq: None, session: None };
        store.finish(&claim, ending).await.unwrap();
    }
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(&home.path);
    let mut raw = sqlx::SqliteConnection::connect_with(&options).await.unwrap();
    for sql in [
        "UPDATE tasks SET error = 'torn {' WHERE id = 't3'",
        "UPDATE tasks SET error = '{\"message\": 7}' WHERE id = 't4'",
        "UPDATE tasks SET error = CAST(X'7b226d657373616765223a22ff227d' AS TEXT) WHERE id = 't5'",
    ] {
        sqlx::query(sql).execute(&mut raw).await.unwrap();
    }
    let tasks = store.recent(&Filter::default()).await.unwrap();
    let messages: Vec<_> = tasks.into_iter().map(|task| task.error.unwrap().message).collect();
    let cut = "ü".repeat(400);
    let expected = [Some("\u{fffd}"), Some("7"), None, Some(cut.as_str()), Some("short")];
    assert_eq!(messages.iter().map(Option::as_deref).collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn m_070_a_list_cuts_long_prompts_where_asked() {
    let home = Home::new();
    let store = home.open().await;
    let owner = store.owner().unwrap();
    let mut task = new_task("t", "c");
    task.prompt = "ü".repeat(500_000);
    store.accept(&task, &owner).await.unwrap();
    let cut = Filter { prompt_chars: Some(3), ..Filter::default() };
    assert_eq!(store.recent(&cut).await.unwrap()[0].prompt, "üüü");
    assert_eq!(store.recent(&Filter::default()).await.unwrap()[0].prompt, task.prompt);
}

#[tokio::test]
async fn m_018_a_transcript_has_what_was_said_before() {
    let home = Home::new();
    let store = home.open().await;
    let owner = store.owner().unwrap();
    for (task, said) in [("t1", "first answer"), ("t2", "second änswer"), ("t3", "third")] {
        let claim = start(&store, &owner, task, "c").await;
        let events = Sequence::all(
            task,
            [
                EventBody::Attempt { plugin: "x".to_owned(), index: 0 },
                EventBody::token("of an attempt before"),
                EventBody::Attempt { plugin: "fake".to_owned(), index: 1 },
                EventBody::token(said),
                EventBody::Token {
                    text: "of a sub-agent".to_owned(),
                    parent_id: Some("x".to_owned()),
                    raw: None,
                },
            ],
        );
        store.record(&id(task), &events).await.unwrap();
        store.finish(&claim, ok(&result(task, "c", said))).await.unwrap();
    }
    // One that only its result tells of.
    let claim = start(&store, &owner, "t4", "c").await;
    store.finish(&claim, ok(&result("t4", "c", "fourth"))).await.unwrap();
    start(&store, &owner, "t5", "c").await;

    let limits = TranscriptLimits { turns: 3, prompt: 9, answer: 6 };
    let said = store.transcript(&talk("c"), &id("t5"), None, limits).await.unwrap();
    let exchange = |task: &str, answer: &str, answer_cut| Exchange {
        task_id: id(task),
        plugin: Some("fake".to_owned()),
        status: TaskStatus::Completed,
        prompt: "prompt of".to_owned(),
        prompt_cut: true,
        answer: answer.to_owned(),
        answer_cut,
    };
    let expected = [
        exchange("t2", "nswer", true),
        exchange("t3", "third", false),
        exchange("t4", "fourth", false),
    ];
    assert_eq!(said, expected);
    let said = store.transcript(&talk("c"), &id("t2"), None, Default::default()).await.unwrap();
    assert_eq!(said.len(), 1);
    assert_eq!((said[0].prompt.as_str(), said[0].prompt_cut), ("prompt of t1", false));
    assert_eq!(said[0].answer, "first answer");
}

#[tokio::test]
async fn m_056_a_transcript_since_a_plugins_last_turn_is_what_others_said() {
    let home = Home::new();
    let store = home.open().await;
    let owner = store.owner().unwrap();
    for (task, plugin) in [("t1", "fake"), ("t2", "other"), ("t3", "other")] {
        let claim = start(&store, &owner, task, "c").await;
        let mut answered = result(task, "c", "so it is");
        plugin.clone_into(&mut answered.plugin);
        store.finish(&claim, ok(&answered)).await.unwrap();
    }
    start(&store, &owner, "t4", "c").await;
    let since = async |plugin, cwd: Option<&str>| {
        let since = Some((plugin, cwd.map(std::path::Path::new)));
        let said = store.transcript(&talk("c"), &id("t4"), since, Default::default()).await;
        said.unwrap().into_iter().map(|turn| turn.task_id.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(since("fake", None).await, ["t2", "t3"]);
    assert_eq!(since("other", None).await, Vec::<String>::new());
    assert_eq!(since("third", None).await, ["t1", "t2", "t3"]);
    assert_eq!(since("fake", Some("/elsewhere")).await, ["t1", "t2", "t3"], "another session");
}

#[tokio::test]
async fn the_last_conversation_is_of_the_folder_or_of_all() {
    let home = Home::new();
    let store = home.open().await;
    let owner = store.owner().unwrap();
    assert_eq!(store.last_conversation(None).await.unwrap(), None);
    // A path need not be UTF-8.
    let odd = PathBuf::from(OsString::from_vec(b"/w\xff".to_vec()));
    for (task, conversation, cwd) in [("t1", "a", odd.as_path()), ("t2", "b", Path::new("/b"))] {
        let mut new = new_task(task, conversation);
        new.cwd = cwd.to_owned();
        store.accept(&new, &owner).await.unwrap();
    }
    assert_eq!(store.last_conversation(None).await.unwrap(), Some(talk("b")));
    assert_eq!(store.last_conversation(Some(&odd)).await.unwrap(), Some(talk("a")));
    assert_eq!(store.last_conversation(Some(Path::new("/c"))).await.unwrap(), None);
    assert_eq!(store.task(&id("t1")).await.unwrap().unwrap().cwd.into_path(), odd);
    assert_eq!(store.turns(&talk("a")).await.unwrap(), 1);
    assert_eq!(store.turns(&talk("nobody")).await.unwrap(), 0);
}

#[tokio::test]
async fn m_070_a_failed_task_took_as_long_as_it_ran_whatever_the_clock_of_the_wall_does() {
    use sqlx::Connection;
    let home = Home::new();
    let store = home.open().await;
    let owner = store.owner().unwrap();
    let error = PluginError::new(ErrorCode::ProcessExit, "fake", "x");
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(&home.path);
    let mut raw = sqlx::SqliteConnection::connect_with(&options).await.unwrap();
    for (task, jump) in [("t1", 0), ("t2", 86_400_000), ("t3", -86_400_000)] {
        let claim = start(&store, &owner, task, task).await;
        let began = claim.started;
        sqlx::query("UPDATE tasks SET started_at = started_at - $1 WHERE id = $2")
            .bind(jump)
            .bind(task)
            .execute(&mut raw)
            .await
            .unwrap();
        // So that 0 is told from what it took.
        while began.elapsed() < Duration::from_millis(2) {
            tokio::task::yield_now().await;
        }
        let ending = Ending { outcome: Err(&error), seq: None, session: None };
        store.finish(&claim, ending).await.unwrap();
        let most = began.elapsed().as_millis();
        let took = store.task(&id(task)).await.unwrap().unwrap().summary.duration_ms.unwrap();
        assert!((2..=most).contains(&u128::from(took)), "{task}: {took} ms of at most {most}");
    }
    // What never ran took no time.
    store.accept(&new_task("t4", "t4"), &owner).await.unwrap();
    store.withdraw(&id("t4"), &error).await.unwrap();
    assert_eq!(store.task(&id("t4")).await.unwrap().unwrap().summary.duration_ms, None);
}
