//! `on_session`: order, exactly once, never an error, stops.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use mia_plug::erased::{DynPlug, erase};
use mia_plug::{
    Ctx, LoadCtx, Next, NoInputs, NoState, Paused, PersistedState, Phase, Plug, PlugError, Reason,
    RunKind, plug,
};
use mia_runner::{OnFailure, Stop};
use pretty_assertions::assert_eq;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::world::{Does, Probe, Trace, World, rec, stop_when, told};

/// A plug that does this instead of `next`, or after it.
fn throws(name: &str, trace: &Trace, before: bool) -> Arc<dyn DynPlug> {
    let (trace, who) = (trace.clone(), name.to_owned());
    plug(name)
        .on_session(move |_, next| {
            let (trace, who) = (trace.clone(), who.clone());
            async move {
                trace.add(format!("{who} attaches"));
                if before {
                    return Err(PlugError::new("before"));
                }
                let info = next.run().await;
                trace.add(format!("{who} pauses {}", told(&info)));
                Err(PlugError::new("after"))
            }
        })
        .build()
}

#[tokio::test(start_paused = true)]
async fn p_046_p_089_attach_from_outside_pause_from_inside_and_then_teardown_the_same_way() {
    let trace = Trace::default();
    let world = World::new(&trace, vec![rec("a", &trace), rec("b", &trace)]);
    let info = world.stopped(Reason::Closed, false).await;
    assert_eq!(told(&info), "closed/false");
    let expected = [
        "a attaches",
        "b attaches",
        "agent runs",
        "agent is gone",
        "b pauses closed/false",
        "a pauses closed/false",
    ];
    assert_eq!(trace.take(), expected);
    assert_eq!(world.torn_down(Reason::Closed).await.failures, []);
    let expected = ["a restores", "b restores", "b destroys closed", "a destroys closed"];
    assert_eq!(trace.take(), expected);
}

#[tokio::test(start_paused = true)]
async fn p_051_each_reason_arrives_with_what_it_promises() {
    for (reason, may_resume) in [
        (Reason::Idle, true),
        (Reason::Completed, false),
        (Reason::Timeout, true),
        (Reason::Closed, false),
        (Reason::Cancelled, false),
    ] {
        let trace = Trace::default();
        let world = World::new(&trace, vec![rec("a", &trace)]);
        let info = world.stopped(reason, may_resume).await;
        assert_eq!((info.reason, info.may_resume, info.error), (reason, may_resume, None));
        assert_eq!(info.requested, Some(reason));
        assert!(trace.take().contains(&format!("a pauses {reason}/{may_resume}")));
    }
    for (policy, may_resume) in [(OnFailure::End, false), (OnFailure::Keep, true)] {
        let trace = Trace::default();
        let world = World::with(&trace, vec![rec("a", &trace)], Does::Fails, |spec| {
            spec.on_failure = policy;
        });
        let info = world.run.session().await;
        assert_eq!(told(&info), format!("failed/{may_resume}(agent_exit)"));
        assert_eq!(info.requested, None);
    }
    let trace = Trace::default();
    let world = World::with(&trace, vec![rec("a", &trace)], Does::Completes, |_| ());
    assert_eq!(told(&world.run.session().await), "completed/false");
}

#[tokio::test(start_paused = true)]
async fn p_047_a_return_without_next_fails_and_nothing_inside_runs() {
    let trace = Trace::default();
    let world = World::new(&trace, vec![rec("a", &trace), forgets(), rec("c", &trace)]);
    let info = world.run.session().await;
    assert_eq!(told(&info), "failed/false(plug_failed)");
    assert_eq!(trace.take(), ["a attaches", "a pauses failed/false(plug_failed)"]);
    assert_eq!(world.memory.history.lock().unwrap().entered, [0, 1]);
}

/// The nearest that there is to forgetting `next` where a token proves that it was run.
fn forgets() -> Arc<dyn DynPlug> {
    plug("forgets")
        .on_session(|_, next| async {
            drop(next);
            Err(PlugError::new("forgot"))
        })
        .build()
}

#[tokio::test(start_paused = true)]
async fn p_052_a_throw_before_next_keeps_the_inside_from_running() {
    let trace = Trace::default();
    let plugs = vec![rec("a", &trace), throws("b", &trace, true), rec("c", &trace)];
    let world = World::new(&trace, plugs);
    let info = world.run.session().await;
    let error = info.error.clone().unwrap();
    assert_eq!((error.index(), error.id(), error.name()), (Some(1), Some("p1"), Some("b")));
    assert_eq!((error.phase(), error.message()), (Phase::Attach, "before"));
    let expected = ["a attaches", "b attaches", "a pauses failed/false(plug_failed)"];
    assert_eq!(trace.take(), expected);
}

#[tokio::test(start_paused = true)]
async fn p_053_p_054_p_055_throws_after_next_are_told_in_the_order_of_time() {
    let trace = Trace::default();
    let plugs = vec![rec("a", &trace), throws("b", &trace, false), throws("c", &trace, false)];
    let world = World::new(&trace, plugs);
    let info = world.stopped(Reason::Closed, false).await;
    assert_eq!(info.requested, Some(Reason::Closed));
    let places: Vec<_> = info.error.iter().chain(&info.suppressed).map(|e| e.index()).collect();
    assert_eq!(places, [Some(2), Some(1)]);
    let pauses: Vec<_> = trace.take().into_iter().filter(|what| what.contains("pauses")).collect();
    let expected = [
        "c pauses closed/false",
        "b pauses failed/false(plug_failed)",
        "a pauses failed/false(plug_failed)+1",
    ];
    assert_eq!(pauses, expected);
}

#[tokio::test(start_paused = true)]
async fn p_056_p_057_who_does_not_wait_for_the_inside_stops_it_and_it_unwinds_whole() {
    let trace = Trace::default();
    let hasty = plug("b")
        .on_session(|_, next| async {
            let inside = next.run();
            match tokio::time::timeout(Duration::from_secs(1), inside).await {
                Ok(info) => Ok(info.done()),
                Err(_) => Err(PlugError::new("I can't wait")),
            }
        })
        .build();
    let slow = {
        let trace = trace.clone();
        plug("c")
            .on_session(move |_, next| {
                let trace = trace.clone();
                async move {
                    let info = next.run().await;
                    tokio::time::sleep(Duration::from_secs(30)).await;
                    trace.add(format!("c has paused {}", told(&info)));
                    Ok(info.done())
                }
            })
            .build()
    };
    let world = World::new(&trace, vec![rec("a", &trace), hasty, slow]);
    let info = world.run.session().await;
    assert_eq!(told(&info), "failed/false(next_not_awaited)");
    assert_eq!(info.error.unwrap().causes(), ["I can't wait"]);
    let expected = [
        "a attaches",
        "agent runs",
        "agent is gone",
        "c has paused failed/false(next_not_awaited)",
        "a pauses failed/false(next_not_awaited)",
    ];
    assert_eq!(trace.take(), expected);
}

#[tokio::test(start_paused = true)]
async fn p_058_a_panic_is_the_plugs_own_failure() {
    for before in [true, false] {
        let trace = Trace::default();
        let bad = plug("b")
            .on_session(move |_, next| async move {
                assert!(!before, "no way");
                let _info = next.run().await;
                panic!("no way back");
            })
            .build();
        let world = World::new(&trace, vec![rec("a", &trace), bad, rec("c", &trace)]);
        let info = world.stopped(Reason::Idle, true).await;
        assert_eq!(told(&info), "failed/false(plug_panicked)");
        assert!(info.error.unwrap().message().starts_with("no way"));
        let trace = trace.take();
        assert_eq!(trace.contains(&"c attaches".to_owned()), !before);
        assert_eq!(trace.last().unwrap(), "a pauses failed/false(plug_panicked)");
    }
}

#[tokio::test(start_paused = true)]
async fn p_059_who_ends_early_because_of_a_stop_has_not_failed() {
    let trace = Trace::default();
    let waits = {
        let trace = trace.clone();
        plug("b")
            .on_session(move |cx, _next| {
                let trace = trace.clone();
                async move {
                    trace.add("b waits");
                    let reason = cx.signal().aborted().await;
                    trace.add(format!("b hears {reason}"));
                    Err(PlugError::aborted())
                }
            })
            .build()
    };
    let world = World::new(&trace, vec![rec("a", &trace), waits, rec("c", &trace)]);
    let stop = Stop { reason: Reason::Cancelled, may_resume: false };
    let stopped = stop_when(trace.clone(), "b waits", world.run.stops().clone(), stop);
    let (info, ()) = tokio::join!(world.run.session(), stopped);
    assert_eq!(told(&info), "cancelled/false");
    let expected = ["a attaches", "b waits", "b hears cancelled", "a pauses cancelled/false"];
    assert_eq!(trace.take(), expected);

    // Without a stop it is a failure like any other.
    let early = plug("b").on_session(async |_, _| Err(PlugError::aborted())).build();
    let world = World::new(&trace, vec![early]);
    assert_eq!(told(&world.run.session().await), "failed/false(plug_failed)");
}

#[tokio::test(start_paused = true)]
async fn p_061_with_a_stop_next_attaches_nothing_more() {
    let trace = Trace::default();
    let waits = {
        let trace = trace.clone();
        plug("b")
            .on_session(move |cx, next| {
                let trace = trace.clone();
                async move {
                    trace.add("b waits");
                    cx.signal().aborted().await;
                    let info = next.run().await;
                    trace.add(format!("b pauses {}", told(&info)));
                    Ok(info.done())
                }
            })
            .build()
    };
    let world = World::new(&trace, vec![rec("a", &trace), waits, rec("c", &trace)]);
    let stop = Stop { reason: Reason::Idle, may_resume: true };
    let stopped = stop_when(trace.clone(), "b waits", world.run.stops().clone(), stop);
    let (info, ()) = tokio::join!(world.run.session(), stopped);
    assert_eq!(told(&info), "idle/true");
    let expected = ["a attaches", "b waits", "b pauses idle/true", "a pauses idle/true"];
    assert_eq!(trace.take(), expected);
}

#[tokio::test(start_paused = true)]
async fn p_062_next_after_the_run_is_over_says_so() {
    let trace = Trace::default();
    let (sender, mut receiver) = tokio::sync::mpsc::channel::<Next>(1);
    let keeps = plug("a")
        .on_session(move |_, next| {
            let sender = sender.clone();
            async move {
                sender.try_send(next).unwrap();
                Err(PlugError::new("away"))
            }
        })
        .build();
    let world = World::new(&trace, vec![keeps, rec("b", &trace)]);
    assert_eq!(told(&world.run.session().await), "failed/false(plug_failed)");
    let info = receiver.recv().await.unwrap().run().await;
    assert_eq!(told(&info), "failed/false(run_over)");
    assert_eq!(trace.take(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn p_066_levels_that_have_not_paused_see_the_stronger_stop() {
    let trace = Trace::default();
    let slow = {
        let trace = trace.clone();
        plug("c")
            .on_session(move |_, next| {
                let trace = trace.clone();
                async move {
                    let info = next.run().await;
                    trace.add(format!("c pauses {}", told(&info)));
                    tokio::time::sleep(Duration::from_secs(5)).await;
                    Ok(info.done())
                }
            })
            .build()
    };
    let world = World::new(&trace, vec![rec("a", &trace), rec("b", &trace), slow]);
    let close = Stop { reason: Reason::Closed, may_resume: false };
    let stops = world.run.stops().clone();
    let closed = stop_when(trace.clone(), "c pauses idle/true", stops.clone(), close);
    let closed = async {
        // The first stop has begun already.
        while !trace.clone().has("c pauses idle/true") {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        drop(closed);
        stops.request(close);
        // A weaker one changes nothing any more.
        stops.request(Stop { reason: Reason::Idle, may_resume: true });
    };
    let (info, ()) = tokio::join!(world.stopped(Reason::Idle, true), closed);
    assert_eq!(told(&info), "closed/false");
    let pauses: Vec<_> = trace.take().into_iter().filter(|what| what.contains("pauses")).collect();
    let expected = ["c pauses idle/true", "b pauses closed/false", "a pauses closed/false"];
    assert_eq!(pauses, expected);
}

#[tokio::test(start_paused = true)]
async fn p_079_p_080_who_pauses_too_long_is_given_up_and_can_do_nothing_more() {
    let trace = Trace::default();
    let (done, mut was) = tokio::sync::mpsc::channel(1);
    let world =
        World::with(&trace, vec![rec("a", &trace), erase(Sleeper(done))], Does::Waits, |spec| {
            spec.limits.pause = Duration::from_millis(100)
        });
    let info = world.stopped(Reason::Idle, true).await;
    assert_eq!(told(&info), "failed/false(pause_timeout)");
    assert_eq!(trace.take().last().unwrap(), "a pauses failed/false(pause_timeout)");
    // A task that it has left behind tries to write.
    assert_eq!(was.recv().await.unwrap(), "the run is over: nothing can be kept any more");
    assert!(world.memory.kept.lock().unwrap().is_empty());
}

#[derive(Serialize, Deserialize)]
struct Mark(u32);
impl PersistedState for Mark {}

struct Sleeper(tokio::sync::mpsc::Sender<String>);

impl Plug for Sleeper {
    const NAME: &'static str = "sleeper";
    type Inputs = NoInputs;
    type State = ();
    type Persisted = Mark;

    async fn on_load(&self, _: LoadCtx<Self>) -> Result<(), PlugError> {
        Ok(())
    }

    async fn on_session(&self, cx: Ctx<Self>, next: Next) -> Result<Paused, PlugError> {
        let info = next.run().await;
        let done = self.0.clone();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            let error = cx.persisted().set(Mark(1)).await.unwrap_err();
            let _ = done.send(error.to_string()).await;
        });
        std::future::pending::<()>().await;
        Ok(info.done())
    }
}

/// Counts in all the ways that there are.
struct Counter {
    loads: AtomicU32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Kept {
    runs: u32,
}
impl PersistedState for Kept {}

impl Plug for Counter {
    const NAME: &'static str = "counter";
    type Inputs = Value;
    type State = u32;
    type Persisted = Kept;

    async fn on_load(&self, _: LoadCtx<Self>) -> Result<u32, PlugError> {
        Ok(self.loads.fetch_add(1, Ordering::Relaxed) + 1)
    }

    async fn on_migrate(&self, _: LoadCtx<Self>, stored: Value) -> Result<Option<Kept>, PlugError> {
        Ok(stored["old"].as_u64().map(|runs| Kept { runs: runs as u32 }))
    }

    async fn on_session(&self, cx: Ctx<Self>, mut next: Next) -> Result<Paused, PlugError> {
        let runs = cx.persisted().value().map_or(0, |kept| kept.runs) + 1;
        let before = cx.persisted().clone();
        let set = cx.persisted().set(Kept { runs });
        tokio::pin!(set);
        // Nothing has changed before it is durable.
        assert!(futures::poll!(&mut set).is_pending());
        assert_ne!(before.value().map(|kept| kept.runs), Some(runs));
        set.await?;
        next.set_output("runs", runs)?;
        next.agent_mut().args.push(format!("{}-{}", runs, cx.state()).into());
        let info = next.run().await;
        Ok(info.done())
    }
}

#[tokio::test(start_paused = true)]
async fn p_024_p_026_p_108_p_111_state_is_of_one_run_and_what_is_kept_of_all() {
    let trace = Trace::default();
    let world = World::new(&trace, vec![erase(Counter { loads: AtomicU32::new(0) })]);
    world.stopped(Reason::Idle, true).await;
    let args = |world: &World| world.agent.draft.lock().unwrap().clone().unwrap().args;
    assert_eq!(args(&world), ["1-1"]);
    let kept = |world: &World| world.memory.kept.lock().unwrap().get("p0").cloned();
    assert_eq!(kept(&world), Some(("counter".to_owned(), json!({"runs": 1}))));
    trace.take();
    let resumed = world.again(RunKind::Resume);
    resumed.stopped(Reason::Closed, false).await;
    assert_eq!(args(&resumed), ["2-2"], "a new state, and what was kept");
}

#[tokio::test(start_paused = true)]
async fn p_117_p_119_p_120_p_122_what_does_not_fit_is_migrated_dropped_or_fails() {
    let with = async |stored: (&str, Value)| {
        let trace = Trace::default();
        let world = World::new(&trace, vec![erase(Counter { loads: AtomicU32::new(0) })]);
        let stored = (stored.0.to_owned(), stored.1);
        world.memory.kept.lock().unwrap().insert("p0".to_owned(), stored);
        let info = world.stopped(Reason::Idle, true).await;
        let kept = world.memory.kept.lock().unwrap().get("p0").cloned();
        (told(&info), kept.map(|(_, value)| value))
    };
    let fits = with(("counter", json!({"runs": 4}))).await;
    assert_eq!(fits, ("idle/true".to_owned(), Some(json!({"runs": 5}))));
    let migrated = with(("counter", json!({"old": 7}))).await;
    assert_eq!(migrated, ("idle/true".to_owned(), Some(json!({"runs": 8}))));
    let dropped = with(("counter", json!("junk"))).await;
    assert_eq!(dropped, ("idle/true".to_owned(), Some(json!({"runs": 1}))));
    let other = with(("another", json!({"runs": 4}))).await;
    let expected = "failed/false(persisted_owner_mismatch)".to_owned();
    assert_eq!(other, (expected, Some(json!({"runs": 4}))));

    let trace = Trace::default();
    let (done, _) = tokio::sync::mpsc::channel(1);
    let world = World::new(&trace, vec![erase(Sleeper(done))]);
    let stored = ("sleeper".to_owned(), json!("junk"));
    world.memory.kept.lock().unwrap().insert("p0".to_owned(), stored.clone());
    assert_eq!(told(&world.run.session().await), "failed/false(persisted_invalid)");
    assert_eq!(world.memory.kept.lock().unwrap().get("p0"), Some(&stored));
}

/// Drops what is old, and looks at what is left.
struct Drops(Trace, Arc<crate::world::Memory>);

impl Plug for Drops {
    const NAME: &'static str = "counter";
    type Inputs = NoInputs;
    type State = ();
    type Persisted = Kept;

    async fn on_load(&self, cx: LoadCtx<Self>) -> Result<(), PlugError> {
        let kept = self.1.kept.lock().unwrap().contains_key("p0");
        self.0.add(format!("{kept} {:?}", cx.persisted().value()));
        Ok(())
    }

    async fn on_migrate(&self, cx: LoadCtx<Self>, _: Value) -> Result<Option<Kept>, PlugError> {
        // P-123: nothing else can be written in it.
        cx.persisted().set(Kept { runs: 9 }).await.unwrap_err();
        cx.persisted().clear().await.unwrap_err();
        Ok(None)
    }
}

#[tokio::test(start_paused = true)]
async fn p_118_p_119_p_123_what_is_dropped_is_gone_before_the_load() {
    let trace = Trace::default();
    let mut world = World::with(&trace, vec![], Does::Completes, |_| ());
    let drops = erase(Drops(trace.clone(), Arc::clone(&world.memory)));
    let link = mia_runner::Link { plug: drops, id: Some("p0".into()), with: Arc::new(json!({})) };
    world.spec.links.push(link);
    let stored = ("counter".to_owned(), json!("junk"));
    world.memory.kept.lock().unwrap().insert("p0".to_owned(), stored);
    assert_eq!(told(&world.again(RunKind::Resume).run.session().await), "completed/false");
    assert_eq!(trace.take()[0], "false None");
}

#[derive(Debug, Deserialize, schemars::JsonSchema)]
struct Who {
    who: String,
    #[serde(default)]
    times: u8,
}

#[tokio::test(start_paused = true)]
async fn p_027_p_028_p_029_inputs_are_checked_before_anything_of_the_plug_runs() {
    let with = async |value: Value| {
        let trace = Trace::default();
        let greets = {
            let trace = trace.clone();
            plug("greeter")
                .inputs::<Who>()
                .on_session(move |cx, next| {
                    trace.add(format!("{} {}", cx.inputs().who, cx.inputs().times));
                    async move { Ok(next.run().await.done()) }
                })
                .build()
        };
        let world = World::with(&trace, vec![rec("a", &trace), greets], Does::Completes, |spec| {
            spec.links[1].with = Arc::new(value);
        });
        let info = world.run.session().await;
        let entered = world.memory.history.lock().unwrap().entered.clone();
        (told(&info), info.error, trace.take(), entered)
    };
    let (info, _, trace, entered) = with(json!({"who": "you"})).await;
    assert_eq!((info.as_str(), trace[1].as_str(), entered.len()), ("completed/false", "you 0", 2));
    let (info, error, trace, entered) = with(json!({"who": 7})).await;
    assert_eq!((info.as_str(), entered), ("failed/false(inputs)", vec![0]));
    let error = error.unwrap();
    assert_eq!(error.phase(), Phase::Load);
    assert!(error.message().contains("who: invalid type"), "{error}");
    assert_eq!(trace, ["a attaches", "a pauses failed/false(inputs)"]);
}

#[tokio::test(start_paused = true)]
async fn p_035_p_038_outputs_are_read_when_the_later_plug_is_reached() {
    struct Reads;
    impl mia_runner::With for Reads {
        fn evaluate(&self, setup: &mia_plug::Outputs) -> Result<Value, String> {
            Ok(json!({"who": setup.get("p0", "name").cloned().unwrap_or(json!("nobody"))}))
        }
    }
    let trace = Trace::default();
    let sets = plug("a")
        .on_session(async |_, mut next| {
            next.set_output("name", "first")?;
            tokio::time::sleep(Duration::from_millis(100)).await;
            next.set_output("name", "last")?;
            assert!(next.set_output("large", "x".repeat(70_000)).is_err());
            Ok(next.run().await.done())
        })
        .build();
    let reads = {
        let trace = trace.clone();
        plug("b")
            .inputs::<Who>()
            .on_session(move |cx, next| {
                trace.add(cx.inputs().who.clone());
                assert_eq!(cx.setup().get("p0", "name"), Some(&json!("last")));
                assert_eq!(cx.setup().iter().count(), 1);
                async move { Ok(next.run().await.done()) }
            })
            .build()
    };
    let world = World::with(&trace, vec![sets, reads], Does::Completes, |spec| {
        spec.links[1].with = Arc::new(Reads);
    });
    assert_eq!(told(&world.run.session().await), "completed/false");
    assert_eq!(trace.take()[0], "last");
}

#[tokio::test(start_paused = true)]
async fn p_081_p_082_p_084_one_draft_is_seen_and_changed_by_all() {
    let trace = Trace::default();
    let outer = {
        let trace = trace.clone();
        plug("a")
            .on_session(move |cx, mut next| {
                let trace = trace.clone();
                async move {
                    next.agent_mut().env.insert("A".into(), "1".into());
                    let info = next.run().await;
                    trace.add(format!("a sees {:?}", cx.agent().args));
                    Ok(info.done())
                }
            })
            .build()
    };
    let inner = plug("b")
        .on_session(async |_, mut next| {
            assert_eq!(next.agent().env.len(), 1);
            next.agent_mut().args.push("--b".into());
            Ok(next.run().await.done())
        })
        .build();
    let world = World::with(&trace, vec![outer, inner], Does::Completes, |_| ());
    world.run.session().await;
    let draft = world.agent.draft.lock().unwrap().clone().unwrap();
    assert_eq!((draft.args, draft.env.len()), (vec!["--b".into()], 1));
    assert_eq!(trace.take().last().unwrap(), "a sees [\"--b\"]");
}

#[tokio::test(start_paused = true)]
async fn p_128_p_129_p_130_p_131_p_133_p_134_p_135_hosts_are_lazy_of_the_inside_and_closed_before_the_pause()
 {
    let trace = Trace::default();
    let gives = |name: &'static str, host: &'static str, close_fails: bool| {
        let trace = trace.clone();
        plug(name)
            .on_session(move |cx, next| {
                let trace = trace.clone();
                async move {
                    let info = next.on_host(Probe::lazy(host, &trace, close_fails)).run().await;
                    let kind = cx.host().info().await?.kind;
                    trace.add(format!("{name} on {kind} pauses {}", told(&info)));
                    Ok(info.done())
                }
            })
            .build()
    };
    let looks = {
        let trace = trace.clone();
        plug("looks")
            .on_session(move |cx, next| {
                let trace = trace.clone();
                async move {
                    trace.add("looks attaches");
                    let here = cx.host().info().await?.kind;
                    let runner = cx.runner().info().await?.kind;
                    trace.add(format!("looks on {here} of {runner}"));
                    Ok(next.run().await.done())
                }
            })
            .build()
    };
    let world = World::new(&trace, vec![gives("a", "h1", false), looks, gives("b", "h2", false)]);
    world.stopped(Reason::Idle, true).await;
    let expected = [
        "looks attaches",
        "h1 opens",
        "looks on h1 of runner",
        "agent runs",
        "h2 opens",
        "agent is gone",
        "h2 closes",
        "b on h1 pauses idle/true",
        "h1 closes",
        "a on runner pauses idle/true",
    ];
    assert_eq!(trace.take(), expected);
    assert_eq!(world.memory.history.lock().unwrap().rehosted, [0, 2]);

    // One that nobody uses is never opened; one that does not close is told.
    let world = World::new(&trace, vec![gives("a", "h1", false), forgets()]);
    world.run.session().await;
    assert_eq!(trace.take(), ["a on runner pauses failed/false(plug_failed)"]);
    let world = World::new(&trace, vec![gives("a", "h1", true)]);
    let info = world.stopped(Reason::Closed, false).await;
    assert_eq!(told(&info), "failed/false(host_close_failed)");
    assert_eq!(info.requested, Some(Reason::Closed));
}

#[tokio::test(start_paused = true)]
async fn a_control_that_can_not_be_told_fails_the_run_before_the_plug_runs() {
    let trace = Trace::default();
    let world = World::new(&trace, vec![rec("a", &trace)]);
    world.memory.broken.store(true, Ordering::Relaxed);
    assert_eq!(told(&world.run.session().await), "failed/false(control)");
    assert_eq!(trace.take(), Vec::<String>::new());
}

/// Says nothing of itself but its name.
struct Bare;

impl Plug for Bare {
    const NAME: &'static str = "bare";
    type Inputs = NoInputs;
    type State = ();
    type Persisted = NoState;

    async fn on_load(&self, _: LoadCtx<Self>) -> Result<(), PlugError> {
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn p_064_p_092_hooks_that_are_not_written_are_known_and_pass_through() {
    let bare = erase(Bare);
    let hooks = bare.definition().hooks;
    assert!(!hooks.session && !hooks.teardown && !hooks.message && !hooks.migrate);
    let (done, _) = tokio::sync::mpsc::channel(1);
    let sleeper = erase(Sleeper(done));
    let hooks = sleeper.definition().hooks;
    assert!(hooks.session && !hooks.teardown && !hooks.message && !hooks.migrate);
    assert!(sleeper.definition().persists && !bare.definition().persists);
    let trace = Trace::default();
    let world = World::new(&trace, vec![rec("a", &trace), bare, rec("c", &trace)]);
    world.stopped(Reason::Closed, false).await;
    assert_eq!(trace.take().len(), 6);
    world.torn_down(Reason::Closed).await;
    assert_eq!(trace.take().len(), 4);
}
