//! A second process for the tests of the store: does one thing with a database, says that it is
//! done, and waits for the end of stdin or for its own.
#![expect(clippy::unwrap_used, reason = "a test's helper fails loudly")]

#[cfg(feature = "bench")]
mod measure;

use std::io::{Read, Write};
use std::time::Instant;

use mia_api::{DispatchResult, Event, EventBody, StopReason, TaskId};
use mia_store::{
    Accepted, Claim, Ending, Filter, NewTask, OpenOptions, Owner, Session, Store, StoreError,
};

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let said = match words.as_slice() {
        ["run", path, task, conversation] => run(path, task, conversation).await,
        ["finish", path, task, conversation] => finish(path, task, conversation).await,
        ["accept", path, task, conversation] => accept(path, task, conversation).await,
        ["read", path] => read(path).await,
        ["write", path, task, conversation] => {
            accept(path, task, conversation).await.map(|_| "written".to_owned())
        }
        ["work", path, name, count] => work(path, name, count.parse().unwrap()).await,
        ["time", path] => time(path).await,
        #[cfg(feature = "bench")]
        ["measure", path] => measure::lists(path).await,
        #[cfg(feature = "bench")]
        ["record", path] => measure::recorders(path).await,
        _ => Ok("unknown command".to_owned()),
    };
    let line = said.unwrap_or_else(|error| format!("{} {error}", error.code()));
    let mut stdout = std::io::stdout();
    writeln!(stdout, "{line}").unwrap();
    stdout.flush().unwrap();
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

fn new_task(task: &str, conversation: &str) -> NewTask {
    NewTask {
        task_id: task.parse().unwrap(),
        conversation_id: conversation.parse().unwrap(),
        prompt: format!("prompt of {task}"),
        plugin: Some("fake".to_owned()),
        model: None,
        cwd: "/work".into(),
        queue_limit: None,
    }
}

/// Leaks the owner, so that it is held until the process dies.
fn owner(store: &Store) -> Result<&'static Owner, StoreError> {
    Ok(Box::leak(Box::new(store.owner()?)))
}

async fn start(path: &str, task: &str, conversation: &str) -> Result<(Store, Claim), StoreError> {
    let store = Store::open(path, OpenOptions::default()).await?;
    let owner = owner(&store)?;
    let new = new_task(task, conversation);
    store.accept(&new, owner).await?;
    let claim = store.wait_turn(&new.task_id, owner, |_, _| {}).await?;
    store.begin_attempt(&new.task_id, 0, "fake").await?;
    store.record(&new.task_id, &said(&new.task_id)).await?;
    Ok((store, claim))
}

fn said(task: &TaskId) -> Vec<Event> {
    let mut offset = 0;
    let words = ["partial ", "words"];
    words
        .iter()
        .zip(1..)
        .map(|(text, seq)| {
            let event = Event {
                task_id: task.clone(),
                seq,
                offset: Some(offset),
                body: EventBody::token(*text),
            };
            offset += text.len() as u64;
            event
        })
        .collect()
}

async fn run(path: &str, task: &str, conversation: &str) -> Result<String, StoreError> {
    let (store, claim) = start(path, task, conversation).await?;
    std::mem::forget(store);
    Ok(format!("running {}", claim.epoch))
}

async fn accept(path: &str, task: &str, conversation: &str) -> Result<String, StoreError> {
    let store = Store::open(path, OpenOptions::default()).await?;
    let owner = owner(&store)?;
    let accepted = store.accept(&new_task(task, conversation), owner).await?;
    std::mem::forget(store);
    Ok(match accepted {
        Accepted::New { queue_place, .. } => format!("accepted {queue_place}"),
        other => format!("{other:?}"),
    })
}

async fn finish(path: &str, task: &str, conversation: &str) -> Result<String, StoreError> {
    let (store, claim) = start(path, task, conversation).await?;
    let new = new_task(task, conversation);
    let session = Session {
        conversation_id: new.conversation_id.clone(),
        plugin: "fake".to_owned(),
        cwd: None,
        session_id: "session-1".to_owned(),
        state: serde_json::Value::Null,
    };
    let result = result(&new);
    let ending = Ending { outcome: Ok(&result), seq: None, session: Some(&session) };
    store.finish(&claim, ending).await?;
    std::mem::forget(store);
    Ok("finished".to_owned())
}

fn result(new: &NewTask) -> DispatchResult {
    DispatchResult {
        content: "partial words".to_owned(),
        usage: None,
        session_id: Some("session-1".to_owned()),
        tool_calls: Vec::new(),
        duration_ms: 1,
        task_id: new.task_id.clone(),
        conversation_id: new.conversation_id.clone(),
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

async fn read(path: &str) -> Result<String, StoreError> {
    let store = Store::open(path, OpenOptions::read()).await?;
    Ok(format!("read {}", store.recent(&Filter::default()).await?.len()))
}

async fn work(path: &str, name: &str, count: usize) -> Result<String, StoreError> {
    let store = Store::open(path, OpenOptions::default()).await?;
    let owner = store.owner()?;
    for number in 0..count {
        let new = new_task(&format!("{name}-{number}"), "shared");
        store.accept(&new, &owner).await?;
        let claim = store.wait_turn(&new.task_id, &owner, |_, _| {}).await?;
        store.record(&new.task_id, &said(&new.task_id)).await?;
        let result = result(&new);
        store.finish(&claim, Ending { outcome: Ok(&result), seq: None, session: None }).await?;
    }
    Ok("worked".to_owned())
}

async fn time(path: &str) -> Result<String, StoreError> {
    let mut times = Vec::new();
    for _ in 0..21 {
        let begun = Instant::now();
        let store = Store::open(path, OpenOptions::default()).await?;
        times.push(begun.elapsed());
        store.close().await;
    }
    times.sort();
    let begun = Instant::now();
    let store = Store::open(path, OpenOptions::read()).await?;
    let opened = begun.elapsed();
    store.recent(&Filter::default()).await?;
    Ok(format!(
        "open min {:?} median {:?} max {:?}, read {opened:?}, and a list {:?}",
        times.first().unwrap(),
        times.get(10).unwrap(),
        times.last().unwrap(),
        begun.elapsed()
    ))
}
