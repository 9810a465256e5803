//! What plugins and models have used (M-70).

use mia_api::{ErrorCode, PluginError, Usage, UsageRow};
use mia_store::{Ending, Owner, Store};
use pretty_assertions::assert_eq;

use crate::fixture::{Home, result, start};

async fn ended(store: &Store, owner: &Owner, task: &str, model: Option<&str>, input: Option<u64>) {
    let claim = start(store, owner, task, task).await;
    let mut answered = result(task, task, "");
    answered.model = model.map(str::to_owned);
    answered.usage = input.map(|input_tokens| Usage {
        input_tokens,
        output_tokens: 1,
        cache_creation: None,
        cache_read: Some(2),
    });
    answered.cost_usd = input.map(|_| 0.25);
    store
        .finish(&claim, Ending { outcome: Ok(&answered), seq: None, session: None })
        .await
        .unwrap();
}

#[tokio::test]
async fn m_070_usage_is_summed_by_plugin_and_model() {
    let home = Home::new();
    let store = home.open().await;
    let owner = store.owner().unwrap();
    assert_eq!(store.usage(None).await.unwrap().rows, []);
    ended(&store, &owner, "t1", Some("small"), Some(10)).await;
    ended(&store, &owner, "t2", Some("small"), None).await;
    ended(&store, &owner, "t3", Some("large"), Some(100)).await;
    let claim = start(&store, &owner, "t4", "t4").await;
    let error = PluginError::new(ErrorCode::Timeout, "codex", "too slow");
    let ending = Ending { outcome: Err(&error), seq: None, session: None };
    store.finish(&claim, ending).await.unwrap();
    // What still runs is not counted.
    start(&store, &owner, "t5", "t5").await;

    let mut rows = store.usage(Some(0)).await.unwrap().rows;
    for row in &mut rows {
        if row.plugin.as_deref() == Some("codex") {
            // As long as the test took.
            row.duration_ms = 0;
        }
    }
    let row = |plugin: &str, model: Option<&str>, input_tokens| UsageRow {
        plugin: Some(plugin.to_owned()),
        model: model.map(str::to_owned),
        tasks: 1,
        failed: 0,
        usage: Usage { input_tokens, output_tokens: 1, cache_creation: None, cache_read: Some(2) },
        tokens_unknown: 0,
        cost_usd: Some(0.25),
        cost_unknown: 0,
        duration_ms: 12,
    };
    let small = UsageRow {
        tasks: 2,
        tokens_unknown: 1,
        cost_unknown: 1,
        duration_ms: 24,
        ..row("fake", Some("small"), 10)
    };
    let failed = UsageRow {
        failed: 1,
        usage: Usage::default(),
        tokens_unknown: 1,
        cost_usd: None,
        cost_unknown: 1,
        duration_ms: 0,
        ..row("codex", None, 0)
    };
    assert_eq!(rows, [row("fake", Some("large"), 100), small, failed]);
}

#[tokio::test]
async fn m_070_usage_counts_from_a_time_on() {
    let home = Home::new();
    let store = home.open().await;
    let owner = store.owner().unwrap();
    ended(&store, &owner, "t1", None, Some(1)).await;
    let at = store.recent(&mia_store::Filter::default()).await.unwrap()[0].created_at;
    let report = store.usage(Some(at)).await.unwrap();
    assert_eq!((report.since, report.rows.len()), (Some(at), 1));
    assert_eq!(store.usage(Some(at + 1)).await.unwrap().rows, []);
}

#[tokio::test]
async fn m_070_absurd_figures_do_not_break_the_sum() {
    let home = Home::new();
    let store = home.open().await;
    let owner = store.owner().unwrap();
    for task in ["t1", "t2"] {
        ended(&store, &owner, task, None, Some(u64::MAX)).await;
    }
    let rows = store.usage(None).await.unwrap().rows;
    assert_eq!((rows[0].tasks, rows[0].usage.output_tokens), (2, 2));
    assert_eq!(rows[0].usage.input_tokens, 2_000_000_000_000);
}
