//! Several plugins, one after the other, through the public surface of the core.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test")]
#![expect(unreachable_pub, dead_code, reason = "a module of the tests")]

mod common;

use common::{Puppet, all, core_of, kinds, request};
use mia_api::{Cause, DispatchResult, ErrorCode, Event, EventBody, NoticeKind, PluginError};
use mia_config::{AfterOutput, Config, Fallback, PluginSettings};
use mia_core::{Core, DispatchRequest, NoPlugin};
use mia_plugin::CodingPlugin as _;
use mia_store::OpenOptions;
use mia_testkit as _;
use pretty_assertions::assert_eq;
use tempfile::{TempDir, tempdir};

/// Three plugins; `a` is active, `b` and `c` are its fallbacks.
struct Three {
    core: Core,
    puppets: Vec<Puppet>,
    _folder: TempDir,
}

impl Three {
    async fn new() -> Self {
        Self::with(|_| {}).await
    }

    async fn with(change: impl FnOnce(&mut Config)) -> Self {
        let folder = tempdir().unwrap();
        let plugins = ["b", "nobody", "a", "b", "c"].map(str::to_owned).to_vec();
        let mut config = Config {
            active_plugin: Some("a".to_owned()),
            fallback: Fallback { plugins, ..Fallback::default() },
            ..Config::default()
        };
        change(&mut config);
        let puppets = ["a", "b", "c"].map(Puppet::new).to_vec();
        let core = core_of(&folder, config, OpenOptions::default(), &puppets).await;
        Self { core, puppets, _folder: folder }
    }

    async fn ask(&self, prompt: &str) -> Vec<Event> {
        self.run(unnamed(prompt)).await
    }

    async fn run(&self, request: DispatchRequest) -> Vec<Event> {
        all(self.core.dispatch(request).await.unwrap()).await
    }
}

/// A request that names no plugin, in a conversation of its own.
fn unnamed(prompt: &str) -> DispatchRequest {
    let conversation = mia_api::ConversationId::generate().to_string();
    DispatchRequest { plugin: None, ..request(&conversation, prompt) }
}

fn result(events: &[Event]) -> &DispatchResult {
    match &events.last().unwrap().body {
        EventBody::Complete { result } => result,
        other => panic!("no result: {other:?}"),
    }
}

fn error(events: &[Event]) -> &PluginError {
    match &events.last().unwrap().body {
        EventBody::Error { error } => error,
        other => panic!("no error: {other:?}"),
    }
}

/// The plugins that were asked, by the events.
fn asked(events: &[Event]) -> Vec<(String, u32)> {
    let asked = events.iter().filter_map(|event| match &event.body {
        EventBody::Attempt { plugin, index } => Some((plugin.clone(), *index)),
        _ => None,
    });
    asked.collect()
}

fn names(events: &[Event]) -> Vec<String> {
    asked(events).into_iter().map(|(name, _)| name).collect()
}

#[tokio::test]
async fn m_034_m_035_a_failure_before_any_output_asks_the_next_plugin() {
    let three = Three::new().await;
    let events = three.ask("a: break it is down\nsay hello").await;
    assert_eq!(asked(&events), [("a".to_owned(), 0), ("b".to_owned(), 1)]);
    let result = result(&events);
    assert_eq!((result.plugin.as_str(), result.content.as_str()), ("b", "hello"));
    assert_eq!(result.attempts.len(), 2);
    let first = result.attempts[0].error.as_ref().unwrap();
    assert_eq!((first.plugin_name.as_str(), first.message.as_str()), ("a", "it is down"));
    assert_eq!(result.attempts[1].error, None);
    let notices = events.iter().filter(|event| {
        matches!(&event.body, EventBody::Notice { kind: NoticeKind::Fallback, message }
            if message.contains("it is down") && message.contains("b is asked"))
    });
    assert_eq!(notices.count(), 1);
    assert_eq!(events.iter().filter(|event| event.body.is_terminal()).count(), 1);
    // The record agrees.
    let task = three.core.store().task(&result.task_id).await.unwrap().unwrap();
    assert_eq!(task.attempts.len(), 2);
    assert_eq!(task.summary.plugin.as_deref(), Some("b"));
}

#[tokio::test]
async fn m_034_after_visible_output_no_other_plugin_is_asked() {
    let three = Three::new().await;
    for shown in ["say one", "think hm", "tool", "work"] {
        let events = three.ask(&format!("{shown}\nfail it is down")).await;
        assert_eq!(names(&events), ["a"], "{shown}");
        assert_eq!(error(&events).message, "it is down");
        assert!(error(&events).attempts.is_empty());
    }
    assert_eq!(three.puppets[1].strings.most.load(std::sync::atomic::Ordering::SeqCst), 0);
}

#[tokio::test]
async fn m_034_after_output_restart_begins_anew_and_says_so_first() {
    let three = Three::with(|config| config.fallback.after_output = AfterOutput::Restart).await;
    let events = three.ask("say one\na: break it is down\nsay two").await;
    assert_eq!(names(&events), ["a", "b"]);
    assert_eq!(result(&events).content, "onetwo", "the second telling only");
    let kinds = kinds(&events);
    assert!(kinds.contains("token notice attempt token"), "{kinds}");
    // The offsets are those of the attempt.
    let offsets = events.iter().filter_map(|event| match event.body {
        EventBody::Token { .. } => event.offset,
        _ => None,
    });
    assert_eq!(offsets.collect::<Vec<_>>()[..2], [0, 0]);
}

#[tokio::test]
async fn m_034_an_overflow_and_an_abort_are_nobody_elses_task() {
    let three = Three::new().await;
    let events = three.ask("overflow too long").await;
    assert_eq!((names(&events).len(), error(&events).code), (1, ErrorCode::BufferOverflow));

    let running = three.core.dispatch(unnamed("gate")).await.unwrap();
    three.puppets[0].strings.at_gate.notified().await;
    three.core.abort(&running.task_id);
    let events = all(running).await;
    assert_eq!(error(&events).code, ErrorCode::Aborted);
    assert_eq!(names(&events), ["a"], "no other one");
}

#[tokio::test]
async fn m_034_a_plugins_own_limit_moves_on() {
    let three = Three::new().await;
    let events = three.ask("a: late too long for a\nsay hello").await;
    assert_eq!(result(&events).plugin, "b");
}

#[tokio::test]
async fn m_035_when_all_fail_the_error_lists_each_with_its_hint() {
    let three = Three::new().await;
    let events = three.ask("a: break one\nb: fail two\nc: break three").await;
    assert_eq!(names(&events), ["a", "b", "c"]);
    let error = error(&events);
    assert_eq!((error.plugin_name.as_str(), error.message.as_str()), ("a", "one"));
    let all: Vec<_> = error
        .attempts
        .iter()
        .map(|attempt| {
            let error = attempt.error.as_ref().unwrap();
            (attempt.plugin.as_str(), error.message.as_str(), error.hint.as_deref())
        })
        .collect();
    let expected = [("a", "one", Some("wait")), ("b", "two", None), ("c", "three", Some("wait"))];
    assert_eq!(all, expected);
}

#[tokio::test]
async fn m_031_who_is_asked() {
    let three = Three::with(|config| {
        let disabled = PluginSettings { enabled: false, ..PluginSettings::named("b") };
        config.plugins.insert("b".to_owned(), disabled);
    })
    .await;
    let everybody_fails = "fail x";
    assert_eq!(names(&three.ask(everybody_fails).await), ["a", "c"], "less b, which is disabled");
    let named = |fallback| DispatchRequest {
        plugin: Some("c".to_owned()),
        fallback,
        ..unnamed(everybody_fails)
    };
    assert_eq!(names(&three.run(named(None)).await), ["c"], "only the one that was named");
    assert_eq!(names(&three.run(named(Some(true))).await), ["c", "a"], "unless asked");
    let alone = DispatchRequest { fallback: Some(false), ..unnamed(everybody_fails) };
    assert_eq!(names(&three.run(alone).await), ["a"]);
    // A model is one plugin's own.
    let mut request = unnamed("a: fail x\nmodel");
    request.options.model = Some("a-model".to_owned());
    assert_eq!(result(&three.run(request).await).content, "its own");
}

#[tokio::test]
async fn m_031_a_name_that_there_is_not_is_told_and_never_hidden_by_a_fallback() {
    let three = Three::new().await;
    let events = three.ask("say hello").await;
    let told = |events: &[Event], text: &str| {
        events.iter().any(|event| {
            matches!(&event.body, EventBody::Notice { message, .. } if message.contains(text))
        })
    };
    assert!(told(&events, "fallback.plugins: there is no plugin \"nobody\""), "{events:?}");
    let mistyped = Three::with(|config| config.active_plugin = Some("aa".to_owned())).await;
    let events = mistyped.ask("say hello").await;
    assert_eq!(result(&events).plugin, "b");
    assert!(told(&events, "active_plugin: there is no plugin \"aa\""), "{events:?}");
    let named = DispatchRequest {
        plugin: Some("nope".to_owned()),
        fallback: Some(true),
        ..unnamed("say hello")
    };
    let refused = three.core.dispatch(named).await.unwrap_err();
    assert!(matches!(refused, mia_core::Refused::NoPlugin(NoPlugin::Registry(_))), "{refused:?}");
}

#[tokio::test]
async fn m_006_what_a_failed_attempt_has_used_is_of_the_dispatch() {
    let three = Three::new().await;
    let prompt = |cost: &str| format!("usage 10\n{cost}a: break it is down\nsay hello");
    let events = three.ask(&prompt("cost 0.5\n")).await;
    let known = result(&events);
    assert_eq!(known.usage.as_ref().unwrap().input_tokens, 20);
    assert_eq!(known.cost_usd, Some(1.0));
    // What one does not tell is not guessed.
    let events = three.ask(&prompt("b: cost 0.5\n")).await;
    assert_eq!(result(&events).cost_usd, None);
}

#[tokio::test]
async fn m_034_one_that_refuses_its_configuration_is_told_and_passed_over() {
    let broken = |config: &mut Config| {
        let settings =
            PluginSettings { model: Some("impossible".to_owned()), ..PluginSettings::named("a") };
        config.plugins.insert("a".to_owned(), settings);
    };
    let three = Three::with(broken).await;
    let events = three.ask("say hello").await;
    assert_eq!(result(&events).plugin, "b");
    let first = result(&events).attempts[0].error.as_ref().unwrap();
    assert_eq!(first.message, "no such model");
    // Without a fallback it is not accepted at all.
    let three = Three::with(|config| {
        broken(config);
        config.fallback = Fallback::default();
    })
    .await;
    let refused = three.core.dispatch(unnamed("say hello")).await.unwrap_err();
    let mia_core::Refused::NoPlugin(NoPlugin::Refuses(error)) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(error.message, "no such model");
}

#[tokio::test]
async fn m_036_a_plugin_that_fails_three_times_is_left_alone_and_tried_on_demand() {
    let three = Three::new().await;
    let one = |prompt: &str| DispatchRequest { plugin: Some("a".to_owned()), ..unnamed(prompt) };
    // Aborts and the user's own mistakes never count.
    for _ in 0..5 {
        three.run(one("fail of my own")).await;
        let running = three.core.dispatch(one("gate")).await.unwrap();
        three.puppets[0].strings.at_gate.notified().await;
        three.core.abort(&running.task_id);
        assert_eq!(error(&all(running).await).code, ErrorCode::Aborted);
    }
    assert_eq!(three.core.breaker("a"), None);
    for _ in 0..3 {
        assert_eq!(three.core.breaker("a"), None);
        three.run(one("break it is down")).await;
    }
    assert!(three.core.breaker("a").is_some());
    let events = three.run(one("say hello")).await;
    let refused = error(&events);
    assert_eq!((refused.code, refused.cause), (ErrorCode::SpawnFailure, Some(Cause::BreakerOpen)));
    assert!(refused.retry_after_ms.unwrap() > 290_000);
    assert!(refused.hint.as_ref().unwrap().contains("plugin test a"));
    // The others are not touched.
    assert_eq!(result(&three.ask("say hello").await).plugin, "b");
    let forced = DispatchRequest { ignore_breaker: true, ..one("say hello") };
    assert_eq!(result(&three.run(forced).await).content, "hello");
    assert_eq!(three.core.breaker("a"), None, "it is well again");
    assert_eq!(three.puppets[0].running_task_count(), 0);
}
