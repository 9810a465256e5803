//! One prompt from acceptance to its terminal event, through the public surface of the core.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test")]
#![expect(unreachable_pub, reason = "a module of the test")]

mod common;

use std::sync::atomic::Ordering;

use common::{all, house, kinds, request, simple_house, until};
use mia_api::{Cause, ErrorCode, EventBody, NoticeKind, ResolvedBy, ResumePoint, TaskStatus};
use mia_config::{Config, Price};
use mia_core::{NoPlugin, Refused, RegistryError};
use mia_plugin::{CodingPlugin, Environment};
use mia_store::{Filter, OpenOptions, StoreError};
use mia_testkit as _;
use tempfile::tempdir;

#[tokio::test]
async fn m_008_one_terminal_event_last_and_what_is_on_record_agrees() {
    let folder = tempdir().unwrap();
    let house = simple_house(&folder).await;
    for (prompt, end) in [
        ("say a\nthink b\ntool\nsay c", "complete"),
        ("say a\nfail because", "error"),
        ("fail because", "error"),
        ("say a\npanic", "error"),
    ] {
        let request = request("c", prompt);
        let task = request.options.task_id.clone();
        let events = all(house.core.dispatch(request).await.unwrap()).await;
        assert_eq!(events.iter().filter(|e| e.body.is_terminal()).count(), 1, "{prompt}");
        let last = events.last().unwrap();
        assert_eq!(last.body.kind(), end, "{prompt}");
        assert!(kinds(&events).starts_with("accepted attempt"), "{}", kinds(&events));
        let numbers: Vec<_> = events.iter().map(|e| e.seq).collect();
        assert_eq!(numbers, (1..=events.len() as u64).collect::<Vec<_>>());

        let record = house.core.store().task(&task).await.unwrap().unwrap();
        match &last.body {
            EventBody::Complete { result } => {
                assert_eq!(record.summary.status, TaskStatus::Completed);
                assert_eq!(record.result.as_ref(), Some(result.as_ref()));
                assert_eq!(result.content, "ac");
                assert_eq!(result.plugin, "puppet");
                assert_eq!(result.attempts.len(), 1);
                assert_eq!(record.tools.len(), 1);
            }
            EventBody::Error { error } => {
                assert_eq!(record.summary.status, TaskStatus::Failed);
                assert_eq!(record.error.as_ref(), Some(error.as_ref()));
                assert_eq!(error.plugin_name, "puppet");
            }
            _ => unreachable!(),
        }
        let kept = house.core.store().events(&task, ResumePoint::default(), 1 << 20).await.unwrap();
        let (told, kept) = (text_of(&events), text_of(&kept.events));
        assert_eq!(told, kept, "{prompt}");
    }
}

fn text_of(events: &[mia_api::Event]) -> String {
    let text = |e: &mia_api::Event| match &e.body {
        EventBody::Token { text, .. } => Some(text.clone()),
        _ => None,
    };
    events.iter().filter_map(text).collect()
}

#[tokio::test]
async fn m_008_a_plugin_that_panics_is_its_own_failure() {
    let folder = tempdir().unwrap();
    let house = simple_house(&folder).await;
    let events = all(house.core.dispatch(request("c", "panic")).await.unwrap()).await;
    let EventBody::Error { error } = &events.last().unwrap().body else { panic!("no error") };
    assert_eq!((error.code, error.cause), (ErrorCode::Unknown, Some(Cause::Panic)));
    // The conversation and the core go on.
    let events = all(house.core.dispatch(request("c", "turns")).await.unwrap()).await;
    let EventBody::Complete { result } = &events.last().unwrap().body else { panic!("no result") };
    assert_eq!(result.content, "1");
}

#[tokio::test]
async fn text_has_its_offset() {
    let folder = tempdir().unwrap();
    let house = simple_house(&folder).await;
    let prompt = "say äb\nnotice x\nsay c\nthink d\nnotice x\nthink e";
    let events = all(house.core.dispatch(request("c", prompt)).await.unwrap()).await;
    let offsets: Vec<_> = events.iter().filter_map(|e| e.offset).collect();
    assert_eq!(offsets, [0, 3, 0, 1]);
}

#[tokio::test]
async fn the_tasks_of_a_conversation_run_one_after_the_other_and_the_second_says_that_it_waits() {
    let folder = tempdir().unwrap();
    // Two cores on one store, as two processes would be.
    let (first, second) = (simple_house(&folder).await, simple_house(&folder).await);
    let running = first.core.dispatch(request("c", "gate\nsay first")).await.unwrap();
    first.puppet.strings.at_gate.notified().await;
    let mut waiting = second.core.dispatch(request("c", "turns")).await.unwrap();
    let accepted = until(&mut waiting, |e| matches!(e, EventBody::Accepted { .. })).await;
    assert!(matches!(accepted, EventBody::Accepted { queue_place: 1, .. }), "{accepted:?}");
    let notice = until(&mut waiting, |e| matches!(e, EventBody::Notice { .. })).await;
    let EventBody::Notice { kind: NoticeKind::Waiting, message } = notice else { panic!() };
    assert!(message.contains(running.task_id.as_str()), "{message}");
    // Another conversation does not wait.
    let other = all(second.core.dispatch(request("d", "turns")).await.unwrap()).await;
    assert_eq!(other.last().unwrap().body.kind(), "complete");
    assert_eq!(second.puppet.running_task_count(), 0);
    first.puppet.strings.gate.add_permits(1);
    all(running).await;
    let EventBody::Complete { result } = until(&mut waiting, EventBody::is_terminal).await else {
        panic!("the second failed")
    };
    assert_eq!(result.content, "1");
}

#[tokio::test]
async fn m_024_a_waiting_task_is_aborted_without_ever_running() {
    let folder = tempdir().unwrap();
    let house = simple_house(&folder).await;
    let running = house.core.dispatch(request("c", "gate")).await.unwrap();
    house.puppet.strings.at_gate.notified().await;
    let mut waiting = house.core.dispatch(request("c", "say never")).await.unwrap();
    until(&mut waiting, |e| matches!(e, EventBody::Notice { .. })).await;
    house.core.abort(&waiting.task_id);
    let EventBody::Error { error } = until(&mut waiting, EventBody::is_terminal).await else {
        panic!("it ran")
    };
    assert_eq!((error.code, error.exit_code()), (ErrorCode::Aborted, 130));
    assert_eq!(house.puppet.strings.most.load(Ordering::SeqCst), 1);
    house.puppet.strings.gate.add_permits(1);
    assert_eq!(all(running).await.last().unwrap().body.kind(), "complete");
}

#[tokio::test]
async fn m_024_a_running_task_is_aborted_and_a_late_abort_changes_nothing() {
    let folder = tempdir().unwrap();
    let house = simple_house(&folder).await;
    let running = house.core.dispatch(request("c", "say a\ngate")).await.unwrap();
    house.puppet.strings.at_gate.notified().await;
    let task = running.task_id.clone();
    house.core.abort(&task);
    house.core.abort(&task);
    let EventBody::Error { error } = all(running).await.pop().unwrap().body else { panic!() };
    assert_eq!(error.code, ErrorCode::Aborted);
    house.core.abort(&task);
    let next = all(house.core.dispatch(request("c", "say b")).await.unwrap()).await;
    assert_eq!(next.last().unwrap().body.kind(), "complete");
}

#[tokio::test]
async fn a_question_is_answered_once_or_refused_at_once_when_nobody_is_there() {
    let folder = tempdir().unwrap();
    let house = simple_house(&folder).await;
    let unattended = all(house.core.dispatch(request("c", "ask")).await.unwrap()).await;
    let by: Vec<_> = unattended
        .iter()
        .filter_map(|e| match &e.body {
            EventBody::PermissionResolved(resolution) => Some(resolution.by),
            _ => None,
        })
        .collect();
    assert_eq!(by, [ResolvedBy::Nobody]);
    assert_eq!(text_of(&unattended), "nothing");

    let mut attended = request("c", "ask");
    attended.attended = true;
    let mut events = house.core.dispatch(attended).await.unwrap();
    let task = events.task_id.clone();
    until(&mut events, |e| matches!(e, EventBody::Permission(_))).await;
    let broker = house.core.permissions();
    broker.answer(&task, "q", Some("yes")).unwrap();
    assert!(broker.answer(&task, "q", Some("no")).is_err());
    assert_eq!(text_of(&all(events).await), "yes");
}

#[tokio::test]
async fn what_cannot_be_dispatched_is_refused_and_not_on_record() {
    let folder = tempdir().unwrap();
    let house = simple_house(&folder).await;
    let refused = |request| async { house.core.dispatch(request).await.unwrap_err() };
    assert!(matches!(refused(request("c", " \n")).await, Refused::Empty));
    assert!(matches!(refused(request("c", "a\0b")).await, Refused::Nul(1)));
    let mut unknown = request("c", "say a");
    unknown.plugin = Some("pupet".into());
    let error = refused(unknown).await;
    assert!(error.to_string().contains("did you mean \"puppet\""), "{error}");
    let mut nowhere = request("c", "say a");
    nowhere.options.working_directory = folder.path().join("gone");
    assert!(matches!(refused(nowhere).await, Refused::WorkingDirectory { .. }));
    let mut nobody = request("c", "say a");
    nobody.plugin = None;
    let error = refused(nobody).await;
    assert!(matches!(error, Refused::NoPlugin(NoPlugin::NoneInstalled { .. })), "{error:?}");
    assert!(house.core.store().recent(&Filter::default()).await.unwrap().is_empty());

    // An id stands for one prompt of one conversation, ended or not.
    for prompt in ["say a", "say b\ngate"] {
        let once = request("c", prompt);
        let events = house.core.dispatch(once.clone()).await.unwrap();
        if prompt == "say a" {
            all(events).await;
        }
        let mut other = once.clone();
        other.prompt = "say other".into();
        let error = refused(other).await;
        assert!(matches!(error, Refused::Store(StoreError::TaskConflict { .. })), "{error:?}");
    }
}

#[tokio::test]
async fn a_disabled_plugin_is_not_asked() {
    let folder = tempdir().unwrap();
    let mut config = Config::default();
    let mut settings = config.plugin("puppet");
    settings.enabled = false;
    config.plugins.insert("puppet".into(), settings);
    let house = house(&folder, config, OpenOptions::default()).await;
    let error = house.core.dispatch(request("c", "say a")).await.unwrap_err();
    let disabled =
        matches!(error, Refused::NoPlugin(NoPlugin::Registry(RegistryError::Disabled { .. })));
    assert!(disabled, "{error:?}");
}

#[tokio::test]
async fn m_006_the_cost_is_by_configured_prices_or_unknown() {
    let folder = tempdir().unwrap();
    let mut config = Config::default();
    let price = Price { input: 3.0, output: 15.0, cache_read: None, cache_write: None };
    config.prices.insert("puppet-1".into(), price);
    let priced = house(&folder, config, OpenOptions::default()).await;
    let cost = |events: Vec<mia_api::Event>| match &events.last().unwrap().body {
        EventBody::Complete { result } => result.cost_usd,
        other => panic!("{other:?}"),
    };
    let known = all(priced.core.dispatch(request("c", "usage 1000000")).await.unwrap()).await;
    assert_eq!(cost(known), Some(18.0));
    // Tokens without a price make the whole unknown: it is never guessed.
    let cached =
        all(priced.core.dispatch(request("c", "usage 1000000 cached")).await.unwrap()).await;
    assert_eq!(cost(cached), None);
    let unknown = simple_house(&folder).await;
    let unknown = all(unknown.core.dispatch(request("c", "usage 1000000")).await.unwrap()).await;
    assert_eq!(cost(unknown), None);
}

#[tokio::test]
async fn a_record_that_cannot_be_written_never_stops_the_answer() {
    let folder = tempdir().unwrap();
    let options = OpenOptions { max_size: Some(1024 * 1024), ..OpenOptions::default() };
    let house = house(&folder, Config::default(), options).await;
    let request = request("c", "long 200\nsay end");
    let events = all(house.core.dispatch(request).await.unwrap()).await;
    let EventBody::Complete { result } = &events.last().unwrap().body else { panic!("{events:?}") };
    assert_eq!(result.content.len(), 200 * 10 * 1024 + 3);
    assert_eq!(text_of(&events), result.content);
    let notices = events.iter().filter(|e| {
        matches!(&e.body, EventBody::Notice { kind: NoticeKind::History, message }
            if message.contains("no space is left"))
    });
    assert_eq!(notices.count(), 1);
    assert!(result.warnings.iter().any(|w| w.contains("incomplete")), "{:?}", result.warnings);
}

#[tokio::test]
async fn a_prompt_that_cannot_be_put_on_record_is_not_sent() {
    let folder = tempdir().unwrap();
    let options = OpenOptions { max_size: Some(1024 * 1024), ..OpenOptions::default() };
    let house = house(&folder, Config::default(), options).await;
    let prompt = format!("say {}", "x".repeat(2 * 1024 * 1024));
    let error = house.core.dispatch(request("c", &prompt)).await.unwrap_err();
    assert!(matches!(error, Refused::Store(_)), "{error:?}");
    assert!(error.to_string().contains("no space is left"), "{error}");
    assert_eq!(house.puppet.strings.most.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn m_024_an_abort_at_any_moment_ends_the_task() {
    let folder = tempdir().unwrap();
    let house = simple_house(&folder).await;
    // The agent would wait for ever; the abort comes right after acceptance, at the first event,
    // at the second, and when the plugin has begun.
    for after in 0..4 {
        let mut events = house.core.dispatch(request("c", "say a\ngate")).await.unwrap();
        for _ in 0..after {
            events.next().await.unwrap();
        }
        house.core.abort(&events.task_id);
        let EventBody::Error { error } = all(events).await.pop().unwrap().body else { panic!() };
        assert_eq!(error.code, ErrorCode::Aborted, "after {after} events");
    }
    assert_eq!(house.puppet.running_task_count(), 0);
}

#[tokio::test]
async fn m_024_an_abort_gets_through_to_a_task_whose_reader_stands_still() {
    let folder = tempdir().unwrap();
    let house = simple_house(&folder).await;
    let events = house.core.dispatch(request("c", "long 300\ngate\nsay never")).await.unwrap();
    // It has said 3 MB, more than is kept for a reader, and nobody has read a word.
    house.puppet.strings.at_gate.notified().await;
    let wait = std::time::Duration::from_secs(20);
    house.core.abort(&events.task_id);
    let task = events.task_id.clone();
    mia_testkit::proc::wait_for("the end", wait, || {
        (house.puppet.running_task_count() == 0).then_some(())
    })
    .await;
    // The conversation is free though nobody has read a word.
    let next = all(house.core.dispatch(request("c", "say b")).await.unwrap()).await;
    assert_eq!(next.last().unwrap().body.kind(), "complete");
    let seen = all(events).await;
    let EventBody::Error { error } = &seen.last().unwrap().body else {
        panic!("it ran on: {task}")
    };
    assert_eq!(error.code, ErrorCode::Aborted);
}

#[tokio::test]
async fn what_was_accepted_is_answered_even_if_nobody_waited_for_the_acceptance() {
    let folder = tempdir().unwrap();
    let house = simple_house(&folder).await;
    {
        let mut dispatch = Box::pin(house.core.dispatch(request("c", "say a")));
        assert!(futures::poll!(&mut dispatch).is_pending());
    }
    let next = all(house.core.dispatch(request("c", "say b")).await.unwrap()).await;
    assert_eq!(next.last().unwrap().body.kind(), "complete");
}

#[tokio::test]
async fn a_plugin_that_refuses_its_configuration_is_an_error_only_for_who_asks_it() {
    let folder = tempdir().unwrap();
    let mut config = Config::default();
    let mut settings = config.plugin("puppet");
    settings.model = Some("impossible".into());
    config.plugins.insert("puppet".into(), settings);
    let house = house(&folder, config, OpenOptions::default()).await;
    let error = house.core.dispatch(request("c", "say a")).await.unwrap_err();
    assert!(matches!(error, Refused::NoPlugin(NoPlugin::Refuses(_))), "{error:?}");
    let plugins = house.core.plugins();
    let probe = plugins.probe("puppet", &Environment::default()).await.unwrap();
    assert_eq!(probe.problem.as_deref(), Some("no such model"));
}

#[tokio::test]
async fn m_019_the_limit_covers_the_wait_for_the_conversation() {
    let folder = tempdir().unwrap();
    let house = simple_house(&folder).await;
    let running = house.core.dispatch(request("c", "gate")).await.unwrap();
    house.puppet.strings.at_gate.notified().await;
    let mut hurried = request("c", "say never");
    hurried.options.timeout_ms = Some(100);
    let events = all(house.core.dispatch(hurried).await.unwrap()).await;
    let EventBody::Error { error } = &events.last().unwrap().body else { panic!("it ran") };
    assert_eq!((error.code, error.phase), (ErrorCode::Timeout, Some(mia_api::Phase::Queue)));
    assert_eq!(house.puppet.strings.most.load(Ordering::SeqCst), 1);
    house.puppet.strings.gate.add_permits(1);
    all(running).await;
}
