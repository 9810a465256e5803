//! Random chains, faults and stops against a small interpreter that knows nothing of tasks: it goes through
//! the levels one after the other, with a list of what happens when.

use std::sync::Arc;
use std::time::Duration;

use mia_plug::erased::DynPlug;
use mia_plug::{PlugError, Reason, plug};
use mia_runner::{OnFailure, Stop};
use proptest::prelude::*;

use crate::world::{Does, Probe, Trace, World, told};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hook {
    Absent,
    Passes,
    ThrowsBefore,
    PanicsBefore,
    ThrowsAfter,
    PanicsAfter,
    /// Gives up waiting after a second and a little.
    Hasty,
    /// Pauses for five seconds and a little.
    Slow,
    /// Never ends its pause.
    Hangs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gives {
    Nothing,
    Host,
    HostThatWontClose,
}

#[derive(Debug, Clone)]
struct Case {
    plugs: Vec<(Hook, Gives)>,
    does: Does,
    policy: OnFailure,
    /// When somebody asks for a stop, in ms; in that order.
    stops: Vec<(u64, Stop)>,
}

// No two of these times, and no sums of them that occur, are the same.
fn hasty(place: usize) -> u64 {
    1001 + place as u64
}
fn slow(place: usize) -> u64 {
    5000 + (10 << place)
}

/// What the interpreter knows.
struct Reference<'a> {
    case: &'a Case,
    now: u64,
    trace: Vec<String>,
    stop: Option<Stop>,
    failures: Vec<&'static str>,
    keeps: bool,
    /// When hooks give up waiting, by their places; none once they have.
    alarms: Vec<Option<u64>>,
    early: Vec<bool>,
    stops: Vec<(u64, Stop)>,
    pause_by: Option<u64>,
}

impl Reference<'_> {
    fn fail(&mut self, code: &'static str) {
        self.failures.push(code);
        self.keeps &= self.case.policy == OnFailure::Keep;
    }

    fn ends(&self) -> bool {
        self.stop.is_some() || !self.failures.is_empty()
    }

    /// The next thing that happens by itself.
    fn next(&self) -> Option<u64> {
        let alarms = self.alarms.iter().flatten().copied();
        alarms.chain(self.stops.iter().map(|(at, _)| *at)).min()
    }

    fn advance(&mut self, to: u64) {
        while let Some(at) = self.next().filter(|at| *at <= to) {
            if let Some(place) = self.alarms.iter().position(|alarm| *alarm == Some(at)) {
                self.alarms[place] = None;
                self.early[place] = true;
                self.fail("next_not_awaited");
            } else {
                let (_, stop) = self.stops.remove(0);
                self.stop = Some(match self.stop {
                    None => stop,
                    Some(now) => {
                        let rank = |reason: Reason| {
                            use Reason::*;
                            [Idle, Completed, Timeout, Closed, Cancelled]
                                .iter()
                                .position(|other| *other == reason)
                        };
                        let later = rank(stop.reason) > rank(now.reason);
                        Stop {
                            reason: if later { stop.reason } else { now.reason },
                            may_resume: now.may_resume && stop.may_resume,
                        }
                    }
                });
            }
        }
        self.now = to;
    }

    fn told(&self) -> String {
        let may_resume = self.keeps && self.stop.is_none_or(|stop| stop.may_resume);
        match (self.failures.first(), self.stop) {
            (None, Some(stop)) => format!("{}/{may_resume}", stop.reason),
            (None, None) => unreachable!("nothing has ended it"),
            (Some(first), _) => {
                let more = match self.failures.len() - 1 {
                    0 => String::new(),
                    more => format!("+{more}"),
                };
                format!("failed/{may_resume}({first}){more}")
            }
        }
    }

    fn level(&mut self, place: usize) {
        if self.ends() {
            return;
        }
        let Some((hook, gives)) = self.case.plugs.get(place).copied() else { return self.agent() };
        match hook {
            Hook::Absent => return self.level(place + 1),
            Hook::ThrowsBefore => {
                self.trace.push(format!("{place} attaches"));
                return self.fail("plug_failed");
            }
            Hook::PanicsBefore => {
                self.trace.push(format!("{place} attaches"));
                return self.fail("plug_panicked");
            }
            _ => {}
        }
        self.trace.push(format!("{place} attaches"));
        if hook == Hook::Hasty {
            self.alarms[place] = Some(self.now + hasty(place));
        }
        self.level(place + 1);
        if gives == Gives::HostThatWontClose && self.was_opened(place) {
            self.fail("host_close_failed");
        }
        if self.early[place] {
            return;
        }
        self.alarms[place] = None;
        self.trace.push(format!("{place} pauses {}", self.told()));
        let all_by = *self.pause_by.get_or_insert(self.now + 600_000);
        let by = (self.now + 300_000).min(all_by.max(self.now + 10_000));
        match hook {
            Hook::ThrowsAfter => self.fail("plug_failed"),
            Hook::PanicsAfter => self.fail("plug_panicked"),
            Hook::Slow if self.now + slow(place) < by => self.advance(self.now + slow(place)),
            Hook::Slow | Hook::Hangs => {
                self.advance(by);
                self.fail("pause_timeout");
            }
            _ => {}
        }
    }

    /// The agent asks the nearest host around it what it is; nobody else uses one.
    fn was_opened(&self, place: usize) -> bool {
        let inside = &self.case.plugs[place + 1..];
        let reached = self.trace.iter().any(|what| what == "agent runs");
        reached
            && inside.iter().all(|(hook, gives)| *hook == Hook::Absent || *gives == Gives::Nothing)
    }

    fn agent(&mut self) {
        self.trace.push("agent runs".to_owned());
        match self.case.does {
            Does::Fails => return self.fail("agent_exit"),
            Does::Completes => {}
            Does::Waits => {
                while !self.ends() {
                    self.advance(self.next().unwrap());
                }
            }
        }
        self.trace.push("agent is gone".to_owned());
        if !self.ends() {
            self.stop = Some(Stop { reason: Reason::Completed, may_resume: false });
        }
    }
}

fn reference(case: &Case) -> (Vec<String>, String) {
    let count = case.plugs.len();
    let mut reference = Reference {
        case,
        now: 0,
        trace: Vec::new(),
        stop: None,
        failures: Vec::new(),
        keeps: true,
        alarms: vec![None; count],
        early: vec![false; count],
        stops: case.stops.clone(),
        pause_by: None,
    };
    reference.level(0);
    let told = reference.told();
    (reference.trace, told)
}

fn real(place: usize, hook: Hook, gives: Gives, trace: &Trace) -> Arc<dyn DynPlug> {
    let name = place.to_string();
    if hook == Hook::Absent {
        return plug(&name).build();
    }
    let trace = trace.clone();
    plug(&name)
        .on_session(move |_, mut next| {
            let trace = trace.clone();
            async move {
                trace.add(format!("{place} attaches"));
                match hook {
                    Hook::ThrowsBefore => return Err(PlugError::new("before")),
                    Hook::PanicsBefore => panic!("before"),
                    _ => {}
                }
                if gives != Gives::Nothing {
                    let fails = gives == Gives::HostThatWontClose;
                    next = next.on_host(Probe::lazy("host", &Trace::default(), fails));
                }
                let inside = next.run();
                let info = match hook {
                    Hook::Hasty => {
                        let patience = Duration::from_millis(hasty(place));
                        match tokio::time::timeout(patience, inside).await {
                            Ok(info) => info,
                            Err(late) => return Err(late.into()),
                        }
                    }
                    _ => inside.await,
                };
                trace.add(format!("{place} pauses {}", told(&info)));
                match hook {
                    Hook::ThrowsAfter => return Err(PlugError::new("after")),
                    Hook::PanicsAfter => panic!("after"),
                    Hook::Slow => tokio::time::sleep(Duration::from_millis(slow(place))).await,
                    Hook::Hangs => std::future::pending().await,
                    _ => {}
                }
                Ok(info.done())
            }
        })
        .build()
}

async fn engine(case: &Case) -> (Vec<String>, String) {
    let trace = Trace::default();
    let plugs = case.plugs.iter().enumerate();
    let plugs = plugs.map(|(place, (hook, gives))| real(place, *hook, *gives, &trace)).collect();
    let world = World::with(&trace, plugs, case.does, |spec| spec.on_failure = case.policy);
    let began = tokio::time::Instant::now();
    let (stops, list) = (world.run.stops().clone(), case.stops.clone());
    let asks = tokio::spawn(async move {
        for (at, stop) in list {
            tokio::time::sleep_until(began + Duration::from_millis(at)).await;
            stops.request(stop);
        }
    });
    let info = world.run.session().await;
    asks.abort();
    (trace.take(), told(&info))
}

fn cases() -> impl Strategy<Value = Case> {
    use Hook::*;
    let hook = prop_oneof![
        3 => Just(Passes),
        1 => prop::sample::select(vec![
            Absent, ThrowsBefore, PanicsBefore, ThrowsAfter, PanicsAfter, Hasty, Slow, Hangs,
        ]),
    ];
    let gives = prop_oneof![
        4 => Just(Gives::Nothing),
        1 => Just(Gives::Host),
        1 => Just(Gives::HostThatWontClose),
    ];
    let reason = prop::sample::select(vec![
        Reason::Idle,
        Reason::Completed,
        Reason::Timeout,
        Reason::Closed,
        Reason::Cancelled,
    ]);
    let stop = (reason, any::<bool>()).prop_map(|(reason, may_resume)| Stop { reason, may_resume });
    let stops = (1_u64..10, stop.clone(), prop::collection::vec((1_u64..900, stop), 0..3));
    let stops = stops.prop_map(|(first, stop, more)| {
        let mut all = vec![(first * 300 + 7, stop)];
        let mut at: Vec<_> =
            more.into_iter().map(|(at, stop)| (3000 + at * 400 + 9, stop)).collect();
        at.sort_by_key(|(at, _)| *at);
        at.dedup_by_key(|(at, _)| *at);
        all.extend(at);
        all
    });
    let does =
        prop_oneof![6 => Just(Does::Waits), 1 => Just(Does::Fails), 1 => Just(Does::Completes)];
    let policy = prop::sample::select(vec![OnFailure::End, OnFailure::Keep]);
    (prop::collection::vec((hook, gives), 0..5), does, policy, stops)
        .prop_map(|(plugs, does, policy, stops)| Case { plugs, does, policy, stops })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    #[test]
    fn p_050_p_067_any_chain_with_any_faults_and_stops_does_as_the_interpreter_says(case in cases()) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        let came = runtime.block_on(engine(&case));
        prop_assert_eq!(came, reference(&case));
    }

    #[test]
    fn p_066_a_later_stop_is_stronger_or_changes_nothing(
        stops in prop::collection::vec((0_usize..5, any::<bool>()), 1..8),
    ) {
        use Reason::*;
        let ranks = [Idle, Completed, Timeout, Closed, Cancelled];
        let mut ending = mia_runner::Ending::default();
        for (rank, may_resume) in &stops {
            ending.stop(Stop { reason: ranks[*rank], may_resume: *may_resume });
        }
        let info = ending.info(None);
        prop_assert_eq!(info.reason, ranks[stops.iter().map(|(rank, _)| *rank).max().unwrap()]);
        prop_assert_eq!(info.may_resume, stops.iter().all(|(_, may_resume)| *may_resume));
    }
}
