//! What lists, sums, removing and recording take on a large database.

use std::future::Future;
use std::time::{Duration, Instant};

use mia_api::{Event, EventBody};
use mia_store::{ConversationFilter, Filter, OpenOptions, Store, StoreError, bench};

/// Milliseconds from 1970 to some day, and a minute's.
const NOW: i64 = 1_790_000_000_000;
const MINUTE: i64 = 60_000;

pub(crate) async fn lists(path: &str) -> Result<String, StoreError> {
    let store = Store::open(path, OpenOptions::default()).await?;
    if store.recent(&Filter { limit: 1, ..Filter::default() }).await?.is_empty() {
        timed("fill 100,000", async { bench::fill(&store, 100_000, NOW).await }).await?;
    }
    let base = || Filter { limit: 20, prompt_chars: Some(200), ..Filter::default() };
    let grep = |text: &str| Filter { grep: Some(text.to_owned()), ..base() };
    let plugin = |name: &str| Filter { plugin: Some(name.to_owned()), ..base() };
    for (name, filter) in [
        ("newest", base()),
        ("newest, whole prompts", Filter { prompt_chars: None, ..base() }),
        ("failed", Filter { failed: true, ..base() }),
        ("plugin codex", plugin("codex")),
        ("plugin rare", plugin("rare")),
        ("plugin unknown", plugin("unknown")),
        ("rare and failed", Filter { failed: true, ..plugin("rare") }),
        ("unknown and failed", Filter { failed: true, ..plugin("unknown") }),
        ("since an hour", Filter { since: Some(NOW - 60 * MINUTE), ..base() }),
        ("since ever", Filter { since: Some(0), ..base() }),
        ("since tomorrow", Filter { since: Some(NOW + 1440 * MINUTE), ..base() }),
        ("rare since ever", Filter { since: Some(0), ..plugin("rare") }),
        ("grep frequent", grep("LOOK AT")),
        ("grep seldom", grep("needle 9999")),
        ("grep nothing", grep("not to be found")),
        (
            "grep nothing in a week",
            Filter { since: Some(NOW - 10_080 * MINUTE), ..grep("not to be found") },
        ),
        ("grep nothing in failed", Filter { failed: true, ..grep("not to be found") }),
    ] {
        for _ in 0..2 {
            timed(name, store.recent(&filter)).await?;
        }
    }
    for since in [None, Some(NOW - 1440 * MINUTE), Some(NOW - 10_080 * MINUTE)] {
        timed(&format!("usage {since:?}"), store.usage(since)).await?;
    }
    let folder = |cwd: &str| ConversationFilter { cwd: Some(cwd.into()), ..Default::default() };
    timed("conversations", store.conversations(&ConversationFilter::default())).await?;
    timed("conversations of a folder", store.conversations(&folder("/projects/3"))).await?;
    timed("conversations of no folder", store.conversations(&folder("/none"))).await?;
    memory("after the lists");
    let writing = tokio::spawn(writes(path.to_owned()));
    timed("prune 20,000", store.prune(None, None)).await?;
    let before = NOW - 80_000 * MINUTE;
    println!("{:?}", timed("prune 20,000", store.prune(Some(before), None)).await?);
    writing.abort();
    if let Ok(worst) = writing.await {
        println!("{worst:?}");
    }
    println!("{:?}", *WORST.lock().unwrap());
    memory("at the end");
    Ok("measured".to_owned())
}

static WORST: std::sync::Mutex<Vec<Duration>> = std::sync::Mutex::new(Vec::new());

/// Writes one small thing after the other; the longest waits are kept.
async fn writes(path: String) {
    let store = Store::open(&path, OpenOptions::default()).await.unwrap();
    let name = "c1".parse().unwrap();
    loop {
        let begun = Instant::now();
        store.rename_conversation(&name, Some("x")).await.unwrap();
        {
            let mut worst = WORST.lock().unwrap();
            worst.push(begun.elapsed());
            worst.sort_by(|a, b| b.cmp(a));
            worst.truncate(10);
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

async fn timed<T>(
    name: &str,
    work: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    let begun = Instant::now();
    let done = work.await?;
    println!("{name}: {:?}", begun.elapsed());
    Ok(done)
}

fn memory(when: &str) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap_or("unknown");
    println!("{when}: {line}");
}

/// 200 tasks that each record 32 batches of 64 KiB.
pub(crate) async fn recorders(path: &str) -> Result<String, StoreError> {
    let store = Store::open(path, OpenOptions::default()).await?;
    memory("opened");
    let owner = super::owner(&store)?;
    let begun = Instant::now();
    let mut work = Vec::new();
    for number in 0..200 {
        let store = store.clone();
        let new = super::new_task(&format!("r{number}"), &format!("r{number}"));
        store.accept(&new, owner).await?;
        work.push(tokio::spawn(async move {
            let mut slowest = Duration::ZERO;
            for seq in 1..=32_u64 {
                let text = "x".repeat(64 * 1024);
                let event = Event {
                    task_id: new.task_id.clone(),
                    seq,
                    offset: Some((seq - 1) * 65_536),
                    body: EventBody::token(text),
                };
                let begun = Instant::now();
                store.record(&new.task_id, &[event]).await?;
                slowest = slowest.max(begun.elapsed());
            }
            Ok::<_, StoreError>((slowest, Instant::now()))
        }));
    }
    let mut ends = Vec::new();
    for one in work {
        ends.push(one.await.unwrap()?);
    }
    let first = ends.iter().map(|(_, at)| *at).min().unwrap() - begun;
    let slowest = ends.iter().map(|(slowest, _)| *slowest).max().unwrap();
    memory("recorded");
    Ok(format!(
        "200 x 32 x 64 KiB in {:?}, the first done after {first:?}, the slowest batch {slowest:?}",
        begun.elapsed()
    ))
}
