//! What is checked.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mia_api::{Cause, ConversationId, DispatchResult, ErrorCode, EventBody, PluginError, TaskId};

use super::run::{Bench, soon};
use super::subject::Subject;
use crate::callbacks::{DispatchCallbacks, dispatch_with_callbacks};

/// A rule that a plugin breaks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Broken(pub(super) String);

fn ensure(holds: bool, rule: impl FnOnce() -> String) -> Result<(), Broken> {
    if holds { Ok(()) } else { Err(Broken(rule())) }
}

fn failed(what: &'static str) -> impl FnOnce(PluginError) -> Broken {
    move |error| Broken(format!("{what}: {error}"))
}

/// Checks a plugin against all rules, on fresh instances of it.
///
/// Needs a runtime with timers and, for plugins that run programs, a supervisor that works here.
///
/// # Errors
/// With the first rule that it breaks.
pub async fn check(subject: &Subject) -> Result<(), Broken> {
    initialize(subject).await?;
    answer(subject).await?;
    tools(subject).await?;
    sessions(subject).await?;
    abort(subject).await?;
    concurrency(subject).await?;
    left_alone(subject).await
}

/// It says who it is, fails politely before `initialize`, and refuses a second one.
async fn initialize(subject: &Subject) -> Result<(), Broken> {
    let raw = Bench { subject, plugin: (subject.make)() };
    let plugin = &raw.plugin;
    let shown = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    ensure(!plugin.name().is_empty() && plugin.name().chars().all(shown), || {
        format!("the name {:?} is not of lower-case letters, digits and hyphens", plugin.name())
    })?;
    ensure(!plugin.version().is_empty(), || "it has no version".to_owned())?;
    let conversation = ConversationId::generate();
    let ran = raw.run(raw.dispatch("x", Some(&conversation))).await?;
    ensure(ran.outcome.is_err(), || "it answers before it is initialized".to_owned())?;
    ensure(!matches!(plugin.get_session(&conversation).await, Ok(Some(_))), || {
        "it has sessions before it is initialized".to_owned()
    })?;
    plugin.abort(&TaskId::generate()).await;
    ensure((plugin.running_task_count(), plugin.cleanup(Duration::ZERO).await) == (0, 0), || {
        "it has tasks or sessions before it is initialized".to_owned()
    })?;
    raw.initialize(1).await.map_err(failed("initialize"))?;
    ensure(raw.initialize(1).await.is_err(), || "it is initialized twice".to_owned())?;
    let environment = &raw.subject.environment;
    let probe = tokio::time::timeout(Duration::from_secs(5), plugin.probe(environment)).await;
    let probe = probe.map_err(|_| Broken("its probe takes over 5 s".to_owned()))?;
    ensure(probe.problem.is_none() && plugin.is_available().await, || {
        format!("it is not available: {probe:?}")
    })
}

/// Records the page's callbacks.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<String>>>);

impl Told {
    fn note(&self, what: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(what);
    }
}

impl DispatchCallbacks for Told {
    fn on_token(&mut self, token: &str) {
        self.note(token.to_owned());
    }
    fn on_complete(&mut self, result: &DispatchResult) {
        self.note(format!("complete {}", result.content));
    }
    fn on_error(&mut self, error: &PluginError) {
        self.note(format!("error {}", error.code));
    }
}

/// It answers; events, callbacks and result agree.
async fn answer(subject: &Subject) -> Result<(), Broken> {
    let bench = Bench::new(subject, 1).await?;
    let dispatch = bench.dispatch(&subject.answer.text, None);
    let conversation = dispatch.options.conversation_id.clone();
    let ran = bench.run(dispatch).await?;
    let result = ran.says(&subject.answer.says)?;
    ensure(result.plugin == bench.plugin.name() && result.conversation_id == conversation, || {
        format!("the result is of another plugin or conversation: {result:?}")
    })?;
    let session = bench.plugin.get_session(&conversation).await.map_err(failed("get_session"))?;
    ensure(session == result.session_id, || {
        format!("the session is {session:?}, the result says {:?}", result.session_id)
    })?;
    ensure(bench.plugin.running_task_count() == 0, || "a task that ended still runs".to_owned())?;
    let told = Told::default();
    let dispatch = bench.dispatch(&subject.answer.text, None);
    let called = dispatch_with_callbacks(bench.plugin.as_ref(), dispatch, told.clone());
    let result = soon("an answer", called).await?.map_err(failed("dispatch"))?;
    let mut calls = told.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let last = calls.pop();
    ensure(last == Some(format!("complete {}", result.content)), || {
        format!("the last callback is {last:?}")
    })?;
    ensure(calls.concat() == result.content, || format!("the callbacks say {calls:?}"))
}

/// Its tool calls are shown, and each has its result.
async fn tools(subject: &Subject) -> Result<(), Broken> {
    let Some(prompt) = &subject.tool else {
        return Ok(());
    };
    let bench = Bench::new(subject, 1).await?;
    let ran = bench.run(bench.allowed(prompt)).await?;
    let result = ran.says("")?;
    ensure(!result.tool_calls.is_empty(), || "no tool was called".to_owned())?;
    for call in &result.tool_calls {
        let names = ran.events.iter().filter_map(|event| match event {
            EventBody::ToolResult(result) if result.id == call.id => Some(result.name.as_str()),
            _ => None,
        });
        let names: Vec<&str> = names.collect();
        ensure(names == [call.name.as_str()], || {
            format!("the call {} has not one result of its name: {:?}", call.id, ran.events)
        })?;
    }
    Ok(())
}

/// A conversation goes on, until its session is forgotten.
async fn sessions(subject: &Subject) -> Result<(), Broken> {
    let Some(remember) = &subject.remember else {
        return Ok(());
    };
    let bench = Bench::new(subject, 1).await?;
    let plugin = &bench.plugin;
    let conversation = ConversationId::generate();
    let turn = |prompt: &str| bench.dispatch(prompt, Some(&conversation));
    bench.run(turn(remember)).await?.says("")?;
    let mut second = turn(&subject.recall.text);
    second.earlier_turns = 1;
    let ran = bench.run(second).await?;
    let result = ran.says(&subject.recall.says)?;
    ensure(!result.context_reset, || "its context was reset".to_owned())?;
    let session =
        || async { plugin.get_session(&conversation).await.map_err(failed("get_session")) };
    ensure(session().await? == result.session_id && result.session_id.is_some(), || {
        format!("it has no session: {result:?}")
    })?;
    ensure(plugin.cleanup(Duration::from_secs(3600)).await == 0, || {
        "a young session was removed".to_owned()
    })?;
    let other = ConversationId::generate();
    plugin.clear_session(&other).await.map_err(failed("clear_session"))?;
    ensure(session().await?.is_some(), || "another conversation's session was cleared".to_owned())?;
    plugin.clear_session(&conversation).await.map_err(failed("clear_session"))?;
    ensure(session().await?.is_none(), || "a cleared session is still there".to_owned())?;
    let ran = bench.run(turn(&subject.recall.text)).await?;
    ensure(!ran.said().contains(&subject.recall.says), || {
        "a cleared session is still known".to_owned()
    })?;
    ensure(plugin.cleanup(Duration::ZERO).await >= 1 && session().await?.is_none(), || {
        "an old session was not removed".to_owned()
    })
}

/// An abort ends its task, and nothing else (M-24).
async fn abort(subject: &Subject) -> Result<(), Broken> {
    let bench = Bench::new(subject, 1).await?;
    let plugin = &bench.plugin;
    let unknown = TaskId::generate();
    soon("the abort of an unknown task", plugin.abort(&unknown)).await?;
    let conversation = ConversationId::generate();
    let running = bench.busy(Some(&conversation)).await?;
    ensure(plugin.running_task_count() == 1, || "a task that runs is not counted".to_owned())?;
    plugin.abort(&unknown).await;
    let task = running.task.clone();
    soon("an abort", async { tokio::join!(plugin.abort(&task), plugin.abort(&task)) }).await?;
    ensure(plugin.running_task_count() == 0, || "an aborted task still runs".to_owned())?;
    let ran = running.end().await?;
    let why = ran.outcome.as_ref().err().map(|error| (error.code, error.cause));
    ensure(why == Some((ErrorCode::Aborted, Some(Cause::Requested))), || {
        format!("an aborted task is not ABORTED, requested: {:?}", ran.outcome)
    })?;
    plugin.abort(&task).await;
    let after = bench.run(bench.dispatch(&subject.answer.text, Some(&conversation))).await?;
    after.says(&subject.answer.says)?;
    Ok(())
}

/// No more dispatches run at once than is set (M-20).
async fn concurrency(subject: &Subject) -> Result<(), Broken> {
    let bench = Bench::new(subject, 2).await?;
    let (first, second) = tokio::join!(bench.busy(None), bench.busy(None));
    let (first, second) = (first?, second?);
    ensure(bench.plugin.running_task_count() == 2, || "two tasks are not two".to_owned())?;
    let third = bench.run(bench.dispatch(&subject.answer.text, None)).await?;
    let code = third.outcome.as_ref().err().map(|error| error.code);
    ensure(code == Some(ErrorCode::ConcurrencyLimit), || {
        format!("one task too many is not refused: {:?}", third.outcome)
    })?;
    bench.plugin.abort(&first.task).await;
    ensure(bench.plugin.running_task_count() == 1, || {
        "an abort ended another task too".to_owned()
    })?;
    first.end().await?;
    bench.run(bench.dispatch(&subject.answer.text, None)).await?.says(&subject.answer.says)?;
    bench.plugin.abort(&second.task).await;
    second.end().await?;
    Ok(())
}

/// A dispatch that nobody waits for, or that nobody reads, does not go on.
async fn left_alone(subject: &Subject) -> Result<(), Broken> {
    let bench = Bench::new(subject, 1).await?;
    let running = bench.busy(None).await?;
    soon("the end of a dropped dispatch", running.dropped()).await?;
    ensure(bench.plugin.running_task_count() == 0, || {
        "a dropped dispatch holds its slot".to_owned()
    })?;
    let running = bench.busy(None).await?;
    // Nobody aborts it, and it may be in a call that says nothing: it has to notice by itself.
    ensure(running.unread().await?.is_err(), || {
        "a busy dispatch that nobody reads answers".to_owned()
    })?;
    ensure(bench.plugin.running_task_count() == 0, || "an ended dispatch holds its slot".to_owned())
}
