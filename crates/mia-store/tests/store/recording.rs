//! Events on record: joined, once, whole (M-70).

use mia_api::{
    DispatchResult, Event, EventBody, TaskStatus, ToolCallInfo, ToolKind, ToolResultInfo, Usage,
};
use mia_store::{OpenOptions, Store, StoreError};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::fixture::{Home, Sequence, id, ok, result, start};

async fn events(store: &Store, task: &str) -> Vec<Event> {
    store.events(&id(task), Default::default(), usize::MAX).await.unwrap().events
}

fn call(tool: &str) -> ToolCallInfo {
    ToolCallInfo {
        id: tool.to_owned(),
        name: "Bash".to_owned(),
        title: "ls".to_owned(),
        kind: ToolKind::Execute,
        input: json!({ "command": "ls", "at": 0.1 }),
        ..ToolCallInfo::default()
    }
}

fn returned(tool: &str, output: &str) -> ToolResultInfo {
    ToolResultInfo {
        id: tool.to_owned(),
        name: "Bash".to_owned(),
        output: output.to_owned(),
        duration_ms: 5,
        ..ToolResultInfo::default()
    }
}

#[tokio::test]
async fn m_070_neighbouring_text_is_joined_and_nothing_else() {
    let home = Home::new();
    let store = home.open().await;
    let owner = store.owner().unwrap();
    start(&store, &owner, "t", "c").await;
    let sub = |text: &str| EventBody::Token {
        text: text.to_owned(),
        parent_id: Some("tool-1".to_owned()),
        raw: None,
    };
    let with_raw = EventBody::Token {
        text: "f".to_owned(),
        parent_id: None,
        raw: Some(json!({ "_meta": 1 })),
    };
    let bodies = [
        EventBody::Attempt { plugin: "fake".to_owned(), index: 0 },
        EventBody::token("a\0"),
        EventBody::token("bü"),
        EventBody::thought("hm"),
        EventBody::token("c"),
        sub("d"),
        sub("e"),
        EventBody::ToolCall(call("x")),
        EventBody::token("g"),
        with_raw.clone(),
        EventBody::token("h"),
    ];
    let sent = Sequence::all("t", bodies);
    // One by one, as a slow model speaks.
    for event in &sent {
        store.record(&id("t"), std::slice::from_ref(event)).await.unwrap();
    }
    let kept: Vec<EventBody> =
        events(&store, "t").await.into_iter().map(|event| event.body).collect();
    let expected = [
        EventBody::Attempt { plugin: "fake".to_owned(), index: 0 },
        EventBody::token("a\0bü"),
        EventBody::thought("hm"),
        EventBody::token("c"),
        sub("de"),
        EventBody::ToolCall(call("x")),
        EventBody::token("g"),
        with_raw,
        EventBody::token("h"),
    ];
    assert_eq!(kept, expected);
    // The same all at once makes the same record.
    start(&store, &owner, "t2", "c2").await;
    let sent: Vec<Event> =
        sent.into_iter().map(|event| Event { task_id: id("t2"), ..event }).collect();
    store.record(&id("t2"), &sent).await.unwrap();
    let kept: Vec<EventBody> =
        events(&store, "t2").await.into_iter().map(|event| event.body).collect();
    assert_eq!(kept, expected);
}

#[tokio::test]
async fn m_070_text_with_a_gap_before_it_is_not_joined() {
    let home = Home::new();
    let store = home.open().await;
    let owner = store.owner().unwrap();
    start(&store, &owner, "t", "c").await;
    let sent = Sequence::all("t", ["one", "lost", "two"].map(EventBody::token));
    store.record(&id("t"), &[sent[0].clone(), sent[2].clone()]).await.unwrap();
    assert_eq!(events(&store, "t").await, [sent[0].clone(), sent[2].clone()]);
}

#[tokio::test]
async fn m_070_a_batch_again_is_recorded_once() {
    let home = Home::new();
    let store = home.open().await;
    let owner = store.owner().unwrap();
    start(&store, &owner, "t", "c").await;
    let sent = Sequence::all("t", ["one ", "two ", "three"].map(EventBody::token));
    store.record(&id("t"), &sent[..2]).await.unwrap();
    store.record(&id("t"), &sent[..2]).await.unwrap();
    store.record(&id("t"), &sent).await.unwrap();
    let kept = events(&store, "t").await;
    assert_eq!(kept.len(), 1);
    assert_eq!(kept[0].body, EventBody::token("one two three"));
}

#[tokio::test]
async fn m_070_text_takes_at_most_a_fifth_more_than_its_bytes() {
    // As batches come at full speed, and as a model of 20 tokens a second makes them.
    for batch in [4096_usize, 1] {
        let home = Home::new();
        let store = home.open().await;
        let owner = store.owner().unwrap();
        let claim = start(&store, &owner, "t", "c").await;
        let mut sequence = Sequence::new("t");
        let word = "the quick brown fox jumps over the lazy dog; ".repeat(4);
        let mut said = String::new();
        while said.len() < 1024 * 1024 {
            let mut events = Vec::with_capacity(batch);
            for _ in 0..batch.min(6000) {
                if said.len() < 1024 * 1024 {
                    said.push_str(&word);
                    events.push(sequence.next(EventBody::token(word.as_str())));
                }
            }
            store.record(&id("t"), &events).await.unwrap();
        }
        let result = result("t", "c", &said);
        store.finish(&claim, ok(&result)).await.unwrap();
        assert_eq!(store.task(&id("t")).await.unwrap().unwrap().result, Some(result));
        drop(owner);
        store.close().await;
        let size = std::fs::metadata(&home.path).unwrap().len();
        let most = said.len() as u64 * 12 / 10;
        assert!(size <= most, "batches of {batch}: {size} bytes for {} of text", said.len());
    }
}

#[tokio::test]
async fn m_008_the_result_comes_back_as_it_was() {
    let home = Home::new();
    let store = home.open().await;
    let owner = store.owner().unwrap();
    let claim = start(&store, &owner, "t", "c").await;
    let bodies = [
        EventBody::Attempt { plugin: "broken".to_owned(), index: 0 },
        EventBody::Attempt { plugin: "fake".to_owned(), index: 1 },
        EventBody::token("all "),
        EventBody::ToolCall(call("x")),
        EventBody::ToolResult(returned("x", "a file")),
        EventBody::token("of it"),
    ];
    let sent = Sequence::all("t", bodies);
    store.record(&id("t"), &sent).await.unwrap();
    let unseen = ToolCallInfo { id: "never seen".to_owned(), ..call("y") };
    let full = DispatchResult {
        tool_calls: vec![call("x"), unseen],
        cost_usd: Some(0.1 + 0.2),
        usage: Some(Usage {
            input_tokens: 1,
            output_tokens: 2,
            cache_creation: None,
            cache_read: Some(3),
        }),
        model: Some("m".to_owned()),
        warnings: vec!["w".to_owned()],
        ..result("t", "c", "all of it")
    };
    store.finish(&claim, ok(&full)).await.unwrap();
    let record = store.task(&id("t")).await.unwrap().unwrap();
    assert_eq!(record.result.as_ref(), Some(&full));
    assert_eq!(record.summary.status, TaskStatus::Completed);
    assert_eq!(record.summary.usage, full.usage);
    assert_eq!(record.summary.cost_usd, full.cost_usd);
    assert_eq!(record.tools[0].call, call("x"));
    assert_eq!(record.tools[0].result, Some(returned("x", "a file")));
    let kept = events(&store, "t").await;
    assert_eq!(kept[..sent.len()], sent[..]);
    let end = &kept[sent.len()];
    assert_eq!((end.seq, end.body.clone()), (7, EventBody::Complete { result: Box::new(full) }));
}

#[tokio::test]
async fn m_008_content_that_differs_from_the_events_is_kept_too() {
    let home = Home::new();
    let store = home.open().await;
    let owner = store.owner().unwrap();
    for (task, content) in [("t1", "something else"), ("t2", "said and more"), ("t3", "sai")] {
        let claim = start(&store, &owner, task, task).await;
        let sent = Sequence::all(task, [EventBody::token("said")]);
        store.record(&id(task), &sent).await.unwrap();
        store.finish(&claim, ok(&result(task, task, content))).await.unwrap();
        let record = store.task(&id(task)).await.unwrap().unwrap();
        assert_eq!(record.result.unwrap().content, content);
    }
}

#[tokio::test]
async fn m_009_results_are_paired_by_id() {
    let home = Home::new();
    let store = home.open().await;
    let owner = store.owner().unwrap();
    start(&store, &owner, "t", "c").await;
    let mut failed = returned("a", "first");
    failed.is_error = true;
    let bodies = [
        EventBody::ToolCall(call("a")),
        EventBody::ToolCall(call("b")),
        EventBody::ToolResult(returned("b", "second")),
        EventBody::ToolResult(failed.clone()),
        EventBody::ToolResult(returned("orphan", "third")),
    ];
    store.record(&id("t"), &Sequence::all("t", bodies)).await.unwrap();
    let mut tools = store.task(&id("t")).await.unwrap().unwrap().tools;
    tools.sort_by(|a, b| a.call.id.cmp(&b.call.id));
    let pairs: Vec<_> =
        tools.into_iter().map(|tool| (tool.call.id, tool.result.unwrap())).collect();
    let expected = [
        ("a".to_owned(), failed),
        ("b".to_owned(), returned("b", "second")),
        ("orphan".to_owned(), returned("orphan", "third")),
    ];
    assert_eq!(pairs, expected);
}

#[tokio::test]
async fn m_070_tool_output_is_whole_up_to_the_limit() {
    let home = Home::new();
    let options = OpenOptions { tool_output: 5, ..OpenOptions::default() };
    let store = Store::open(&home.path, options).await.unwrap();
    let owner = store.owner().unwrap();
    start(&store, &owner, "t", "c").await;
    let bodies = [returned("a", "12345"), returned("b", "123456"), returned("c", "1234ü")]
        .map(EventBody::ToolResult);
    store.record(&id("t"), &Sequence::all("t", bodies)).await.unwrap();
    let kept: Vec<_> = store
        .task(&id("t"))
        .await
        .unwrap()
        .unwrap()
        .tools
        .into_iter()
        .map(|tool| tool.result.unwrap())
        .map(|result| (result.output, result.truncated))
        .collect();
    let expected =
        [("12345", false), ("12345", true), ("1234", true)].map(|(o, t)| (o.to_owned(), t));
    assert_eq!(kept, expected);
}

#[tokio::test]
async fn m_008_nothing_is_recorded_after_the_end() {
    let home = Home::new();
    let store = home.open().await;
    let owner = store.owner().unwrap();
    let claim = start(&store, &owner, "t", "c").await;
    store.finish(&claim, ok(&result("t", "c", ""))).await.unwrap();
    let late = Sequence::all("t", [EventBody::token("late")]);
    let error = store.record(&id("t"), &late).await.unwrap_err();
    assert!(
        matches!(error, StoreError::WrongStatus { status: TaskStatus::Completed, .. }),
        "{error}"
    );
}
