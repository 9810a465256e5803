//! `on_teardown`: who takes part, in which order, and what is never torn down on another machine.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mia_plug::erased::DynPlug;
use mia_plug::{Failure, Phase, PlugError, Reason, RunKind, plug};
use pretty_assertions::assert_eq;

use crate::world::{Does, Probe, Trace, World, rec, told_down};

/// A plug that tears down like this.
fn tears<F>(name: &str, trace: &Trace, how: F) -> Arc<dyn DynPlug>
where
    F: Fn(Trace) -> Result<(), PlugError> + Clone + Send + Sync + 'static,
{
    let (trace, who) = (trace.clone(), name.to_owned());
    plug(name)
        .on_teardown(move |_, next| {
            let (trace, who, how) = (trace.clone(), who.clone(), how.clone());
            async move {
                trace.add(format!("{who} restores"));
                let info = next.run().await;
                how(trace)?;
                Ok(info.done())
            }
        })
        .build()
}

fn codes(failures: &[Failure]) -> Vec<&'static str> {
    failures.iter().map(Failure::code).collect()
}

#[tokio::test(start_paused = true)]
async fn p_017_p_091_a_session_that_ended_while_paused_is_torn_down_without_an_agent() {
    let trace = Trace::default();
    let world = World::new(&trace, vec![rec("a", &trace), rec("b", &trace)]);
    world.stopped(Reason::Idle, true).await;
    trace.take();
    let down = world.again(RunKind::Teardown);
    assert_eq!(down.torn_down(Reason::Closed).await.failures, []);
    let expected = ["a restores", "b restores", "b destroys closed", "a destroys closed"];
    assert_eq!(trace.take(), expected);
}

#[tokio::test(start_paused = true)]
async fn p_094_p_095_the_sessions_own_error_arrives_and_that_of_an_inner_teardown_replaces_it() {
    let trace = Trace::default();
    let bad = tears("b", &trace, |_| Err(PlugError::new("it won't go")));
    let world = World::new(&trace, vec![rec("a", &trace), bad, rec("c", &trace)]);
    world.stopped(Reason::Closed, false).await;
    trace.take();
    let history = world.memory.history.lock().unwrap().clone();
    let error = Failure::new("agent_exit", Phase::Live, "status 1");
    let torn = world.run.teardown(history, Reason::Failed, Some(error)).await;
    assert_eq!(codes(&torn.failures), ["plug_failed"]);
    let expected = [
        "a restores",
        "b restores",
        "c restores",
        "c destroys failed(agent_exit)",
        // P-97: those outside destroy all the same.
        "a destroys failed(plug_failed)",
    ];
    assert_eq!(trace.take(), expected);
}

#[tokio::test(start_paused = true)]
async fn p_096_panics_and_limits_are_as_in_a_session() {
    let trace = Trace::default();
    let panics = tears("b", &trace, |_| panic!("no"));
    let world = World::new(&trace, vec![rec("a", &trace), panics]);
    world.stopped(Reason::Closed, false).await;
    trace.take();
    assert_eq!(codes(&world.torn_down(Reason::Closed).await.failures), ["plug_panicked"]);
    assert_eq!(trace.take().last().unwrap(), "a destroys failed(plug_panicked)");

    let hangs = plug("b")
        .on_teardown(async |_, next| {
            let info = next.run().await;
            std::future::pending::<()>().await;
            Ok(info.done())
        })
        .build();
    let world = World::new(&trace, vec![rec("a", &trace), hangs]);
    world.stopped(Reason::Closed, false).await;
    let began = tokio::time::Instant::now();
    assert_eq!(codes(&world.torn_down(Reason::Closed).await.failures), ["teardown_timeout"]);
    assert_eq!(began.elapsed().as_secs(), 600);

    let forgets = plug("b").on_teardown(async |_, _| Err(PlugError::new("no"))).build();
    let world = World::new(&trace, vec![forgets, rec("c", &trace)]);
    world.stopped(Reason::Closed, false).await;
    trace.take();
    assert_eq!(codes(&world.torn_down(Reason::Closed).await.failures), ["plug_failed"]);
    assert_eq!(trace.take(), Vec::<String>::new(), "the inside is not torn down");
}

#[tokio::test(start_paused = true)]
async fn p_078_the_signal_is_a_fresh_one() {
    let trace = Trace::default();
    let looks = plug("b")
        .on_session(async |cx, next| {
            let info = next.run().await;
            assert_eq!(cx.signal().reason(), Some(Reason::Closed), "in pause code it is set");
            Ok(info.done())
        })
        .on_teardown(async |cx, next| {
            assert!(!cx.signal().is_aborted());
            Ok(next.run().await.done())
        })
        .build();
    let world = World::new(&trace, vec![looks]);
    let info = world.stopped(Reason::Closed, false).await;
    assert_eq!(info.error, None);
    assert_eq!(world.torn_down(Reason::Closed).await.failures, []);
}

#[tokio::test(start_paused = true)]
async fn p_098_p_099_only_who_was_entered_takes_part_and_who_was_in_this_run_keeps_its_state() {
    let trace = Trace::default();
    let fails = Arc::new(AtomicBool::new(true));
    let may = {
        let fails = Arc::clone(&fails);
        plug("b")
            .on_session(move |_, next| {
                let fails = fails.load(Ordering::Relaxed);
                async move {
                    if fails {
                        return Err(PlugError::new("not today"));
                    }
                    Ok(next.run().await.done())
                }
            })
            .build()
    };
    let world = World::new(&trace, vec![rec("a", &trace), may, rec("c", &trace)]);
    world.run.session().await;
    trace.take();
    world.torn_down(Reason::Failed).await;
    assert_eq!(trace.take(), ["a restores", "a destroys failed"]);
}

/// A plug that gives a host, and says in a teardown what this is.
fn hosts(trace: &Trace, down: Down) -> Arc<dyn DynPlug> {
    let (one, other) = (trace.clone(), trace.clone());
    let plug = plug("host").on_session(move |_, next| {
        let next = next.on_host(Probe::lazy("vm", &one, false));
        async move { Ok(next.run().await.done()) }
    });
    if down == Down::Nothing {
        return plug.build();
    }
    plug.on_teardown(move |_, next| {
        let trace = other.clone();
        async move {
            let info = match down {
                Down::Gives => next.on_host(Probe::lazy("vm", &trace, false)).run().await,
                Down::Gone => next.inner_gone().await,
                Down::Nothing | Down::Forgets => next.run().await,
            };
            trace.add(format!("host destroys {}", told_down(&info)));
            Ok(info.done())
        }
    })
    .build()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Down {
    /// It has no `on_teardown`.
    Nothing,
    Gives,
    Forgets,
    Gone,
}

#[tokio::test(start_paused = true)]
async fn p_102_p_103_nothing_is_torn_down_on_another_machine() {
    let torn = async |down: Down, inner: bool| {
        let trace = Trace::default();
        let bare = plug("inner").on_session(async |_, next| Ok(next.run().await.done())).build();
        let inner = if inner { rec("inner", &trace) } else { bare };
        let world = World::new(&trace, vec![rec("a", &trace), hosts(&trace, down), inner]);
        world.stopped(Reason::Closed, false).await;
        trace.take();
        let torn = world.torn_down(Reason::Closed).await;
        let trace = trace.take();
        let ran = trace.iter().any(|what| what == "inner restores");
        assert_eq!(
            trace.last().unwrap().split('(').next().unwrap(),
            match torn.failures.is_empty() {
                true => "a destroys closed",
                false => "a destroys failed",
            }
        );
        (codes(&torn.failures), ran)
    };
    assert_eq!(torn(Down::Gives, true).await, (vec![], true));
    assert_eq!(torn(Down::Gone, true).await, (vec![], false));
    assert_eq!(torn(Down::Forgets, true).await, (vec!["teardown_host_missing"], false));
    assert_eq!(torn(Down::Nothing, true).await, (vec!["teardown_host_missing"], false));
    // Where nobody would run there it is nobody's fault.
    assert_eq!(torn(Down::Nothing, false).await, (vec![], false));
    assert_eq!(torn(Down::Forgets, false).await, (vec![], false));
}

#[tokio::test(start_paused = true)]
async fn p_101_inputs_that_can_not_be_evaluated_keep_the_inside_from_running() {
    struct Missing;
    impl mia_runner::With for Missing {
        fn evaluate(&self, setup: &mia_plug::Outputs) -> Result<serde_json::Value, String> {
            let path = setup.get("p0", "path").ok_or("setup.p0.outputs.path is not set")?;
            Ok(serde_json::json!({"path": path}))
        }
    }
    let trace = Trace::default();
    let sets = plug("a")
        .on_session(async |_, mut next| {
            next.set_output("path", "/w")?;
            Ok(next.run().await.done())
        })
        .on_teardown(async |_, next| Ok(next.run().await.done()))
        .build();
    let reads = plug("b")
        .inputs::<serde_json::Value>()
        .on_teardown(async |_, next| Ok(next.run().await.done()))
        .build();
    let world = World::with(&trace, vec![sets, reads, rec("c", &trace)], Does::Waits, |spec| {
        spec.links[1].with = Arc::new(Missing);
    });
    assert_eq!(world.stopped(Reason::Idle, true).await.error, None);
    trace.take();
    // In a run of its own the outputs are those of its own teardown (P-100).
    let torn = world.again(RunKind::Teardown).torn_down(Reason::Closed).await;
    assert_eq!(codes(&torn.failures), ["inputs"]);
    assert_eq!(trace.take(), Vec::<String>::new());
    // In the run that attached them they are kept (P-41).
    assert_eq!(world.torn_down(Reason::Closed).await.failures, []);
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_goes_away_breaks_nothing_off() {
    let trace = Trace::default();
    let world = World::new(&trace, vec![rec("a", &trace)]);
    let stops = world.run.stops().clone();
    {
        let run = world.run.clone();
        let session = run.session();
        tokio::pin!(session);
        let _ = tokio::time::timeout(Duration::from_secs(1), &mut session).await;
    }
    assert_eq!(trace.take(), ["a attaches", "agent runs"]);
    stops.request(mia_runner::Stop { reason: Reason::Closed, may_resume: false });
    while !trace.has("a pauses closed/false") {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}
