//! Whatever a child does and whoever interferes: exactly one outcome, and all that was told is
//! consistent with it (M-08).

use std::sync::Arc;
use std::time::Duration;

use mia_api::ErrorCode;
use mia_plugin::CodingPlugin;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::json;

use crate::toy::{DONE, Toy, call, result, say, session, text};
use crate::world::World;

const CAP: usize = 4096;

/// What a child does before its end.
#[derive(Debug, Clone)]
enum Act {
    Text(String),
    Sub(String),
    Call(u8),
    Result(u8),
    Usage(u32),
    Session(u8),
    Noise,
    Complain(u16),
    Pause(u8),
    Burst(u16),
    Ask(u8),
    Helper,
}

/// How it ends.
#[derive(Debug, Clone, Copy)]
enum Last {
    Done,
    DoneAndExit(u8),
    DoneAndStay,
    Fail,
    Exit(u8),
    Killed,
    Hang,
    Overflow,
    CloseAndStay,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => "[a-zäß€😀\"\\\\ ]{0,20}".prop_map(Act::Text),
        1 => "[a-z]{0,20}".prop_map(Act::Sub),
        1 => (0_u8..3).prop_map(Act::Call),
        1 => (0_u8..3).prop_map(Act::Result),
        1 => any::<u32>().prop_map(Act::Usage),
        1 => (0_u8..2).prop_map(Act::Session),
        1 => Just(Act::Noise),
        1 => (0_u16..2000).prop_map(Act::Complain),
        1 => (0_u8..6).prop_map(Act::Pause),
        1 => (0_u16..3000).prop_map(Act::Burst),
        1 => (0_u8..3).prop_map(Act::Ask),
        1 => Just(Act::Helper),
    ]
}

fn last() -> impl Strategy<Value = Last> {
    prop_oneof![
        3 => Just(Last::Done),
        1 => any::<u8>().prop_map(Last::DoneAndExit),
        1 => Just(Last::DoneAndStay),
        1 => Just(Last::Fail),
        1 => any::<u8>().prop_map(Last::Exit),
        1 => Just(Last::Killed),
        1 => Just(Last::Hang),
        1 => Just(Last::Overflow),
        1 => Just(Last::CloseAndStay),
    ]
}

fn script(acts: &[Act], last: Last) -> String {
    let mut script = String::new();
    for (index, act) in acts.iter().enumerate() {
        script.push_str(&match act {
            Act::Text(x) => text(x),
            Act::Sub(x) => say(&json!({"t": "sub", "p": "1", "x": x})),
            Act::Call(id) => call(&id.to_string()),
            Act::Result(id) => result(&id.to_string(), "ok"),
            Act::Usage(n) => say(&json!({"t": "usage", "input": n, "output": n})),
            Act::Session(id) => session(&id.to_string()),
            Act::Noise => "out Debugger attached\n".to_owned(),
            Act::Complain(n) => format!("errfill {n}\n"),
            Act::Pause(ms) => format!("sleep {ms}\n"),
            Act::Burst(n) => format!("repeat {n} {{\"t\":\"text\",\"x\":\"{{i}} \"}}\n"),
            Act::Ask(id) => crate::toy::ask(&id.to_string()),
            Act::Helper => format!("fork-sleeper helper{index} setsid clean-env hold-stdout\n"),
        });
    }
    script.push_str(&match last {
        Last::Done => DONE.to_owned(),
        Last::DoneAndExit(code) => format!("{DONE}exit {code}\n"),
        Last::DoneAndStay => format!("{DONE}hang\n"),
        Last::Fail => say(&json!({"t": "fail", "m": "refused"})),
        Last::Exit(code) => format!("exit {code}\n"),
        Last::Killed => "signal-self KILL\n".to_owned(),
        Last::Hang => "hang\n".to_owned(),
        Last::Overflow => format!("bigline {CAP} {{\"t\":\"text\",\"x\":\"{{fill}}\"}}\nhang\n"),
        Last::CloseAndStay => "close-stdout\nhang\n".to_owned(),
    });
    script
}

/// What comes of it when nobody interferes.
fn expected(last: Last) -> Option<ErrorCode> {
    match last {
        Last::Done | Last::DoneAndExit(_) | Last::DoneAndStay => None,
        Last::Fail => Some(ErrorCode::ProviderError),
        Last::Exit(_) | Last::Killed => Some(ErrorCode::ProcessExit),
        Last::Overflow => Some(ErrorCode::BufferOverflow),
        Last::Hang | Last::CloseAndStay => Some(ErrorCode::Timeout),
    }
}

/// What happens from outside, after so many milliseconds.
#[derive(Debug, Clone, Copy)]
enum Outside {
    Nothing,
    Abort(u64),
    Timeout(u64),
    Both(u64, u64),
}

fn outside() -> impl Strategy<Value = Outside> {
    prop_oneof![
        3 => Just(Outside::Nothing),
        1 => (0_u64..40).prop_map(Outside::Abort),
        1 => (1_u64..40).prop_map(Outside::Timeout),
        1 => (0_u64..40, 1_u64..40).prop_map(|(a, t)| Outside::Both(a, t)),
    ]
}

async fn check(acts: Vec<Act>, last: Last, outside: Outside) {
    let toy = Toy { dialogue: true, ..Toy::default() };
    let world = World::with(toy, &script(&acts, last), |config| {
        config.max_line = CAP;
        // The silence of those that hang; the others are never that slow.
        let hangs = matches!(last, Last::Hang | Last::CloseAndStay);
        let limit = Some(Duration::from_millis(if hangs { 1500 } else { 20_000 }));
        config.stall_timeout = limit;
        config.tool_timeout = limit;
    })
    .await;
    let mut dispatch = world.dispatch("p\n");
    let (abort, timeout) = match outside {
        Outside::Nothing => (None, None),
        Outside::Abort(ms) => (Some(ms), None),
        Outside::Timeout(ms) => (None, Some(ms)),
        Outside::Both(abort, timeout) => (Some(abort), Some(timeout)),
    };
    dispatch.options.timeout_ms = timeout;
    let running = world.start(dispatch);
    let (plugin, task) = (Arc::clone(&world.plugin), running.task.clone());
    let aborting = tokio::spawn(async move {
        if let Some(after) = abort {
            tokio::time::sleep(Duration::from_millis(after)).await;
            plugin.abort(&task).await;
        }
    });
    // Checks by itself what is true of each dispatch.
    let ran = running.end().await;
    aborting.await.unwrap();
    let code = ran.code();
    let allowed = code == expected(last)
        || (abort.is_some() && code == Some(ErrorCode::Aborted))
        || (timeout.is_some() && code == Some(ErrorCode::Timeout));
    assert!(allowed, "{code:?} of {:?}: {:?}", (last, outside), ran.outcome);
    assert_eq!(world.plugin.running_task_count(), 0);
    assert_eq!(world.alive(), [], "nothing lives on");
}

#[test]
fn m_008_whatever_happens_there_is_one_outcome_and_it_agrees_with_the_events() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let config = ProptestConfig {
        cases: 60,
        max_shrink_iters: 40,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let children = (prop::collection::vec(act(), 0..12), last(), outside());
    TestRunner::new(config)
        .run(&children, |(acts, last, outside)| {
            runtime.block_on(check(acts, last, outside));
            Ok(())
        })
        .unwrap();
}
