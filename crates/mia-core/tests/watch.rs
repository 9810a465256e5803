//! Many who watch, switch, stop and start while tasks run, through the public surface of the core.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test")]
#![expect(unreachable_pub, reason = "a module of the test")]

mod common;

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::{Puppet, all, core_of, house, kinds, request, simple_house, until};
use mia_api::{Cause, ErrorCode, Event, EventBody, ResumePoint, TaskStatus};
use mia_config::Config;
use mia_core::{AnyEvent, Core, CoreSetup, Fresh, Refused, Registry, Source};
use mia_host::{Supervisor, SupervisorProgram};
use mia_plugin::Environment;
use mia_store::{Access, OpenOptions, Store, StoreError};
use mia_testkit as _;
use tempfile::tempdir;

fn text(events: &[Event], kind: &str) -> String {
    let texts = events.iter().filter(|event| event.body.kind() == kind);
    texts
        .map(|event| match &event.body {
            EventBody::Token { text, .. } | EventBody::Thought { text, .. } => text.as_str(),
            _ => "",
        })
        .collect()
}

/// Everything but text, whose chunking is nobody's business.
fn rest(events: &[Event]) -> Vec<(u64, EventBody)> {
    let texts = ["token", "thought"];
    let rest = events.iter().filter(|event| !texts.contains(&event.body.kind()));
    rest.map(|event| (event.seq, event.body.clone())).collect()
}

const PROMPT: &str =
    "say one\nthink two\nsay th\u{fc}r\u{e9}e\nsay four\ntool\nlong 3\nsay five\ngate\nsay six";

#[tokio::test]
async fn m_038_a_task_is_replayed_from_any_point_while_it_runs_and_after_it() {
    let folder = tempdir().unwrap();
    let house = simple_house(&folder).await;
    let asked = request("c", PROMPT);
    let task = asked.options.task_id.clone();
    let first = house.core.dispatch(asked).await.unwrap();
    house.puppet.strings.at_gate.notified().await;
    // Who watches from the start sees what the first one sees.
    let watched = house.core.watch(&task, ResumePoint::default(), false).await.unwrap();
    house.puppet.strings.gate.add_permits(1);
    let whole = all(first).await;
    assert_eq!(rest(&all(watched).await), rest(&whole));
    assert_eq!(whole.last().unwrap().body.kind(), "complete");
    // From every event, and from every byte of every text.
    for (place, event) in whole.iter().enumerate() {
        let mut points = vec![ResumePoint::after(event)];
        if let (EventBody::Token { text, .. } | EventBody::Thought { text, .. }, Some(start)) =
            (&event.body, event.offset)
        {
            let inside = text.char_indices().map(|(byte, _)| byte as u64).take(20);
            points.extend(
                inside.map(|byte| ResumePoint { seq: event.seq, offset: Some(start + byte) }),
            );
        }
        for point in points {
            let again = house.core.watch(&task, point, false).await.unwrap();
            let again = all(again).await;
            assert_eq!(rest(&again), rest(&whole[place + 1..]), "from {point}");
            for kind in ["token", "thought"] {
                let had = match (&event.body, point.offset) {
                    (body, Some(offset)) if body.kind() == kind => usize::try_from(offset).unwrap(),
                    _ => text(&whole[..=place], kind).len(),
                };
                let all = text(&whole, kind);
                assert_eq!(
                    Some(text(&again, kind).as_str()),
                    all.get(had..),
                    "{kind} from {point}"
                );
            }
        }
    }
}

#[tokio::test]
async fn m_038_who_comes_back_in_the_middle_of_what_is_still_in_memory_misses_nothing() {
    let folder = tempdir().unwrap();
    let house = simple_house(&folder).await;
    let asked = request("c", "say one\nsay two\nthink three\nsay four\ngate\nsay five\ntool");
    let task = asked.options.task_id.clone();
    let mut first = house.core.dispatch(asked).await.unwrap();
    house.puppet.strings.at_gate.notified().await;
    let mut seen = vec![first.next().await.unwrap()];
    while let Some(event) = first.next_waiting() {
        seen.push(event);
    }
    let mut watchers = Vec::new();
    for (place, event) in seen.iter().enumerate() {
        let point = ResumePoint::after(event);
        watchers.push((place, house.core.watch(&task, point, false).await.unwrap()));
    }
    house.puppet.strings.gate.add_permits(1);
    let mut whole = seen;
    whole.extend(all(first).await);
    for (place, watcher) in watchers {
        let again = all(watcher).await;
        assert_eq!(rest(&again), rest(&whole[place + 1..]), "after {place}");
        assert_eq!(text(&again, "token"), text(&whole[place + 1..], "token"), "after {place}");
    }
}

#[tokio::test]
async fn m_038_the_same_task_again_is_that_task_and_is_answered_once() {
    let folder = tempdir().unwrap();
    let house = simple_house(&folder).await;
    let asked = request("c", "say a\ngate\nsay b");
    let first = house.core.dispatch(asked.clone()).await.unwrap();
    let second = house.core.dispatch(asked.clone()).await.unwrap();
    assert!(!first.already && second.already);
    house.puppet.strings.gate.add_permits(1);
    let (first, second) = (all(first).await, all(second).await);
    let third = house.core.dispatch(asked).await.unwrap();
    assert!(third.already);
    assert_eq!(text(&first, "token"), "ab");
    assert_eq!(rest(&first), rest(&second));
    assert_eq!(rest(&first), rest(&all(third).await));
    assert_eq!(house.core.store().recent(&Default::default()).await.unwrap().len(), 1);
}

#[tokio::test]
async fn m_038_a_task_of_another_process_can_be_watched() {
    let folder = tempdir().unwrap();
    let here = simple_house(&folder).await;
    let there = simple_house(&folder).await;
    let asked = request("c", "say a\ngate\nsay b");
    let task = asked.options.task_id.clone();
    let _events = there.core.dispatch(asked).await.unwrap();
    there.puppet.strings.at_gate.notified().await;
    let watched = here.core.watch(&task, ResumePoint::default(), false).await.unwrap();
    there.puppet.strings.gate.add_permits(1);
    let seen = all(watched).await;
    assert_eq!(text(&seen, "token"), "ab");
    assert_eq!(seen.last().unwrap().body.kind(), "complete");
    let unknown = here.core.watch(&"none".parse().unwrap(), ResumePoint::default(), false).await;
    assert!(matches!(unknown.unwrap_err(), StoreError::UnknownTask { .. }));
}

#[tokio::test]
async fn a_watcher_that_never_reads_holds_nothing_up_and_still_gets_everything() {
    let folder = tempdir().unwrap();
    let house = simple_house(&folder).await;
    let asked = request("c", "long 500\nsay end");
    let task = asked.options.task_id.clone();
    let slow = house.core.dispatch(asked).await.unwrap();
    let quick = all(house.core.watch(&task, ResumePoint::default(), false).await.unwrap()).await;
    let slow = all(slow).await;
    assert_eq!(text(&slow, "token").len(), 500 * 10 * 1024 + 3);
    assert_eq!(text(&slow, "token"), text(&quick, "token"));
    assert_eq!(rest(&slow), rest(&quick));
}

#[tokio::test]
async fn all_events_come_as_one_stream_and_a_gap_is_told() {
    let folder = tempdir().unwrap();
    let house = simple_house(&folder).await;
    let mut every = house.core.all_events();
    let one = all(house.core.dispatch(request("a", "say a")).await.unwrap()).await;
    let two = all(house.core.dispatch(request("b", "say b")).await.unwrap()).await;
    for event in one.into_iter().chain(two) {
        assert_eq!(every.next().await, Some(AnyEvent::Event(Arc::new(event))));
    }
    // More than is kept for who does not read.
    all(house.core.dispatch(request("c", "long 200")).await.unwrap()).await;
    let Some(AnyEvent::Missed(missed)) = every.next().await else { panic!("nothing is missing") };
    assert!(missed > 0);
    let mut last = None;
    while let Some(next) = every.next_waiting() {
        last = Some(next);
    }
    let Some(AnyEvent::Event(last)) = last else { panic!("no event after the gap") };
    assert_eq!(last.body.kind(), "complete");
}

#[tokio::test]
async fn m_037_all_conversations_together_run_no_more_tasks_than_the_limit() {
    let folder = tempdir().unwrap();
    let mut config = Config::default();
    config.limits.concurrent = 2;
    let house = house(&folder, config, OpenOptions::default()).await;
    let mut tasks = Vec::new();
    for n in 0..6 {
        let asked = request(&format!("c{n}"), "say a\ngate");
        tasks.push(house.core.dispatch(asked).await.unwrap());
    }
    let notice = until(&mut tasks[5], |body| matches!(body, EventBody::Notice { .. })).await;
    let EventBody::Notice { message, .. } = notice else { panic!() };
    assert!(message.contains("limits.concurrent"), "{message}");
    // One that waits is aborted without ever running.
    let last = tasks.pop().unwrap();
    house.core.abort(&last.task_id);
    let EventBody::Error { error } = all(last).await.pop().unwrap().body else { panic!() };
    assert_eq!((error.code, error.cause), (ErrorCode::Aborted, Some(Cause::Requested)));
    house.puppet.strings.gate.add_permits(5);
    for events in tasks {
        assert_eq!(all(events).await.last().unwrap().body.kind(), "complete");
    }
    assert_eq!(house.puppet.strings.most.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn m_037_abort_all_lets_no_waiting_task_begin() {
    let folder = tempdir().unwrap();
    let house = simple_house(&folder).await;
    let mut tasks = Vec::new();
    for _ in 0..5 {
        tasks.push(house.core.dispatch(request("c", "gate\nsay never")).await.unwrap());
    }
    house.puppet.strings.at_gate.notified().await;
    for waiting in tasks.iter_mut().skip(1) {
        until(waiting, |body| matches!(body, EventBody::Notice { .. })).await;
    }
    let aborted = house.core.abort_all();
    assert_eq!(aborted.len(), 5);
    assert_eq!(aborted[4], tasks[0].task_id, "the one that runs is the last");
    for (place, events) in tasks.into_iter().enumerate() {
        let seen = all(events).await;
        let expected = if place == 0 { "accepted attempt error" } else { "error" };
        assert_eq!(kinds(&seen), expected);
    }
    house.core.idle().await;
}

#[tokio::test]
async fn stopping_waits_for_what_was_accepted_and_takes_no_more() {
    let folder = tempdir().unwrap();
    let house = simple_house(&folder).await;
    let running = house.core.dispatch(request("c", "gate\nsay a")).await.unwrap();
    let waiting = house.core.dispatch(request("c", "say b")).await.unwrap();
    house.puppet.strings.at_gate.notified().await;
    house.core.stop_accepting();
    let refused = house.core.dispatch(request("d", "say c")).await.unwrap_err();
    assert!(matches!(refused, Refused::Stopping), "{refused:?}");
    let mut idle = Box::pin(house.core.idle());
    assert!(futures::poll!(&mut idle).is_pending());
    house.puppet.strings.gate.add_permits(1);
    idle.await;
    for events in [running, waiting] {
        assert_eq!(all(events).await.last().unwrap().body.kind(), "complete");
    }
}

#[tokio::test]
async fn m_039_what_runs_when_mia_stops_at_once_is_interrupted_and_keeps_its_text() {
    let folder = tempdir().unwrap();
    let house = simple_house(&folder).await;
    let running = house.core.dispatch(request("c", "say so far\ngate")).await.unwrap();
    let waiting = house.core.dispatch(request("c", "say never")).await.unwrap();
    house.puppet.strings.at_gate.notified().await;
    house.core.interrupt();
    house.core.idle().await;
    for events in [running, waiting] {
        let task = events.task_id.clone();
        let EventBody::Error { error } = all(events).await.pop().unwrap().body else { panic!() };
        assert_eq!((error.code, error.cause), (ErrorCode::Aborted, Some(Cause::Interrupted)));
        let record = house.core.store().task(&task).await.unwrap().unwrap();
        assert_eq!(record.summary.status, TaskStatus::Interrupted);
    }
    let again = simple_house(&folder).await;
    let next = all(again.core.dispatch(request("c", "say b")).await.unwrap()).await;
    assert_eq!(next.last().unwrap().body.kind(), "complete");
}

/// A source that gives what a test puts into it.
#[derive(Clone, Default)]
struct Put(Arc<Mutex<Vec<Result<Fresh, String>>>>);

impl Source for Put {
    fn refresh(&mut self) -> Result<Option<Fresh>, String> {
        self.0.lock().unwrap().pop().transpose()
    }
}

#[tokio::test]
async fn m_032_a_switch_is_in_force_for_the_next_dispatch_and_touches_no_running_task() {
    let folder = tempdir().unwrap();
    let (one, two) = (Puppet::new("one"), Puppet::new("two"));
    let active = |name: &str| Config { active_plugin: Some(name.into()), ..Config::default() };
    let mut registry = Registry::new();
    registry.register("one", one.clone()).unwrap();
    registry.register("two", two.clone()).unwrap();
    let put = Put::default();
    let core = Core::open(CoreSetup {
        registry,
        config: active("one"),
        source: Some(Box::new(put.clone())),
        store: Store::open(folder.path().join("mia.db"), OpenOptions::default()).await.unwrap(),
        supervisor: Supervisor::new(SupervisorProgram::default()),
        environment: Environment::default(),
        installed_agents: None,
    })
    .await
    .unwrap();
    let mut asked = request("c", "say a\ngate");
    asked.plugin = None;
    let running = core.dispatch(asked).await.unwrap();
    one.strings.at_gate.notified().await;
    put.0.lock().unwrap().push(Ok(Fresh { config: active("two"), registry: None }));
    let mut asked = request("d", "say b");
    asked.plugin = None;
    let next = all(core.dispatch(asked.clone()).await.unwrap()).await;
    let EventBody::Complete { result } = &next.last().unwrap().body else { panic!() };
    assert_eq!(result.plugin, "two");
    one.strings.gate.add_permits(1);
    let first = all(running).await;
    let EventBody::Complete { result } = &first.last().unwrap().body else { panic!() };
    assert_eq!(result.plugin, "one");

    // M-40: a mistake changes nothing, and is told until it is mended.
    put.0.lock().unwrap().push(Err("line 3 is wrong".into()));
    core.refresh().await;
    assert_eq!(core.mistake().as_deref(), Some("line 3 is wrong"));
    let asked = |environment: &Environment| {
        let plugins = core.plugins();
        plugins.choose(None, environment, folder.path()).unwrap().name().to_owned()
    };
    assert_eq!(asked(&Environment::default()), "two");
    put.0.lock().unwrap().push(Ok(Fresh { config: active("one"), registry: None }));
    core.refresh().await;
    assert_eq!(
        (core.mistake(), core.plugins().config().active_plugin.as_deref()),
        (None, Some("one"))
    );
    // The caller's own environment says it first.
    let mine: Environment = [("MIA_ACTIVE_PLUGIN", "two")].into_iter().collect();
    assert_eq!(asked(&mine), "two");
}

#[tokio::test]
async fn a_core_on_a_record_that_can_only_be_read_shows_it_and_takes_no_prompts() {
    let folder = tempdir().unwrap();
    let house = simple_house(&folder).await;
    let asked = request("c", "say a");
    let task = asked.options.task_id.clone();
    all(house.core.dispatch(asked).await.unwrap()).await;
    house.core.close().await;
    let options = OpenOptions { access: Access::Read, ..OpenOptions::default() };
    let core = core_of(&folder, Config::default(), options, &[Puppet::new("puppet")]).await;
    let refused = core.dispatch(request("c", "say b")).await.unwrap_err();
    assert!(matches!(refused, Refused::Store(StoreError::ReadOnly { .. })), "{refused:?}");
    let seen = all(core.watch(&task, ResumePoint::default(), false).await.unwrap()).await;
    assert_eq!(text(&seen, "token"), "a");
}

#[tokio::test]
async fn who_watches_and_attends_can_answer_what_a_task_asks_that_nobody_attended() {
    let folder = tempdir().unwrap();
    let house = simple_house(&folder).await;
    let asked = request("c", "gate\nask");
    let task = asked.options.task_id.clone();
    let events = house.core.dispatch(asked).await.unwrap();
    let mut attended = house.core.watch(&task, ResumePoint::default(), true).await.unwrap();
    house.puppet.strings.gate.add_permits(1);
    until(&mut attended, |body| matches!(body, EventBody::Permission(_))).await;
    house.core.permissions().answer(&task, "q", Some("yes")).unwrap();
    assert_eq!(text(&all(events).await, "token"), "yes");
    // Once the one who attended has left, nobody is there.
    drop(attended);
    let asked = request("c", "gate\nask");
    let task = asked.options.task_id.clone();
    let events = house.core.dispatch(asked).await.unwrap();
    drop(house.core.watch(&task, ResumePoint::default(), true).await.unwrap());
    house.puppet.strings.gate.add_permits(1);
    assert_eq!(text(&all(events).await, "token"), "nothing");
}

#[tokio::test]
async fn m_033_twenty_who_ask_at_once_are_one_probe_that_is_good_for_a_while() {
    let folder = tempdir().unwrap();
    let puppets = [Puppet::new("well"), Puppet::new("broken")];
    let core = core_of(&folder, Config::default(), OpenOptions::default(), &puppets).await;
    let environment = Environment::default();
    let asked = async |name: &str, puppet: &Puppet| {
        let twenty = (0..20).map(|_| core.status(name, &environment));
        let all = futures::future::join_all(twenty).await;
        assert!(all.iter().all(|status| status.as_ref().unwrap().available == (name == "well")));
        puppet.strings.probes.load(Ordering::SeqCst)
    };
    tokio::time::pause();
    for (name, puppet, good) in [("well", &puppets[0], 60), ("broken", &puppets[1], 5)] {
        assert_eq!(asked(name, puppet).await, 1, "{name}");
        tokio::time::advance(Duration::from_secs(good - 1)).await;
        assert_eq!(asked(name, puppet).await, 1, "{name}");
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(asked(name, puppet).await, 2, "{name}");
    }
}
