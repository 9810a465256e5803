//! The onion of `on_teardown`: the plugs that were ever entered, without an agent.

use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt;
use futures::future::BoxFuture;
use mia_plug::erased::TeardownCall;
use mia_plug::{Failure, Phase, Reason, Signal, TeardownInfo, TeardownNext};
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;

use crate::hook::{Ended, Hook};
use crate::run::{At, Run, Shared, has_teardown};

/// What the runs of a session have done so far, by the plugs' places.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct History {
    /// Plugs that were entered in some run.
    pub entered: Vec<usize>,
    /// Plugs that have given a host in some run.
    pub rehosted: Vec<usize>,
}

/// What a teardown came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Torn {
    /// What failed, in the order of time; nothing when all is torn down.
    pub failures: Vec<Failure>,
}

/// A teardown on its way.
struct Teardown {
    run: Arc<Shared>,
    history: History,
    outcome: Reason,
    error: Option<Failure>,
    failures: Mutex<Vec<Failure>>,
    /// Aborted by nobody so far: a teardown is not broken off because the session ends (P-78).
    signal: watch::Sender<Option<Reason>>,
}

impl Run {
    /// Tears down a session that is over, with that outcome and error. Plugs that were entered in this run
    /// keep their inputs and state. Dropping the future breaks nothing off.
    pub async fn teardown(
        &self,
        history: History,
        outcome: Reason,
        error: Option<Failure>,
    ) -> Torn {
        let teardown = Arc::new(Teardown {
            run: Arc::clone(&self.shared),
            history,
            outcome,
            error,
            failures: Mutex::default(),
            signal: watch::Sender::new(None),
        });
        let at = self.shared.outermost();
        teardown.nested(0, at).await;
        Torn { failures: teardown.failures().clone() }
    }
}

impl Teardown {
    async fn nested(self: &Arc<Self>, place: usize, at: At) {
        if tokio::spawn(level(Arc::clone(self), place, at)).await.is_err() {
            let said = "an error in Mia; please report it";
            self.fails(Failure::new("internal", Phase::Teardown, said));
        }
    }

    fn failures(&self) -> std::sync::MutexGuard<'_, Vec<Failure>> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fails(&self, failure: Failure) {
        self.failures().push(failure);
    }

    fn info(&self) -> TeardownInfo {
        let failures = self.failures();
        let mut info = TeardownInfo::new(self.outcome, self.error.clone());
        if let Some((first, others)) = failures.split_first() {
            info.reason = Reason::Failed;
            info.error = Some(first.clone());
            info.suppressed = others.to_vec();
        }
        info
    }

    /// True when a plug inside of that place would be torn down.
    fn has_more_inside(&self, place: usize) -> bool {
        let inside = self.run.spec.links.iter().enumerate().skip(place + 1);
        let mut inside = inside.filter(|(place, _)| self.history.entered.contains(place));
        inside.any(|(_, link)| has_teardown(link))
    }

    /// What is missing for the inner plugs to run where they belong (P-102).
    fn misses_host(&self, place: usize) -> Option<Failure> {
        let needed = self.history.rehosted.contains(&place) && self.has_more_inside(place);
        needed.then(|| {
            let said = "it gave a host to the plugs inside of it, and gives none now: they are not \
                        torn down on another machine";
            let chain = vec![said.to_owned()];
            self.run.failure(place, "teardown_host_missing", Phase::Teardown, chain)
        })
    }
}

fn level(down: Arc<Teardown>, place: usize, at: At) -> BoxFuture<'static, ()> {
    async move {
        let run = &down.run;
        let Some(link) = run.link(place) else { return };
        if !down.history.entered.contains(&place) {
            return level(Arc::clone(&down), place + 1, at).await;
        }
        if !has_teardown(link) {
            return match down.misses_host(place) {
                Some(failure) => down.fails(failure),
                None => level(Arc::clone(&down), place + 1, at).await,
            };
        }
        let slot = match run.slot(place) {
            Some(slot) if !slot.revoked.is_revoked() => slot,
            _ => match run.enter(place, &at).await {
                Ok(slot) => slot,
                Err(failure) => return down.fails(failure),
            },
        };
        let (call, called) = oneshot::channel();
        let signal = Signal::of(down.signal.subscribe());
        let hook = slot.entered.on_teardown(signal, TeardownNext::new(call));
        let mut hook = Hook::start(hook, slot.revoked);
        let by = Instant::now() + run.spec.limits.teardown;
        let ended = tokio::select! {
            biased;
            Ok(call) = called => return inside(&down, place, at, hook, call).await,
            ended = hook.ended(Some(by)) => ended,
        };
        let failure = match ended {
            Ended::Returned(_) => {
                let said = "on_teardown came back without having run next".to_owned();
                Some(run.failure(place, "next_not_called", Phase::Teardown, vec![said]))
            }
            ended => run.end_fails(place, Phase::Teardown, "teardown_timeout", ended),
        };
        if let Some(failure) = failure {
            down.fails(failure);
        }
    }
    .boxed()
}

async fn inside<T: Send + 'static>(
    down: &Arc<Teardown>,
    place: usize,
    at: At,
    mut hook: Hook<T>,
    call: TeardownCall,
) {
    let run = &down.run;
    let TeardownCall { outputs, host, gone, back } = call;
    let missing = if host.is_none() && !gone { down.misses_host(place) } else { None };
    let mut early = false;
    match missing {
        Some(failure) => down.fails(failure),
        None if gone => {}
        None => {
            let inner = down.nested(place + 1, at.inside(run.link(place), outputs, host.as_ref()));
            tokio::pin!(inner);
            tokio::select! {
                biased;
                () = &mut inner => {}
                _ = hook.ended(None) => {
                    let said = "on_teardown ended before what is inside of it was torn down";
                    let chain = vec![said.to_owned()];
                    down.fails(run.failure(place, "next_not_awaited", Phase::Teardown, chain));
                    early = true;
                    inner.await;
                }
            }
        }
    }
    if let Some(host) = host
        && let Err(error) = host.close().await
    {
        let chain = vec![format!("its host was not closed: {error}")];
        down.fails(run.failure(place, "host_close_failed", Phase::Teardown, chain));
    }
    if early {
        return;
    }
    let by = Instant::now() + run.spec.limits.teardown;
    let _ = back.send(down.info());
    let ended = hook.ended(Some(by)).await;
    if let Some(failure) = run.end_fails(place, Phase::Teardown, "teardown_timeout", ended) {
        down.fails(failure);
    }
}
