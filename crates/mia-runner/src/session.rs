//! The onion of `on_session`: one level a plug, the agent at the centre.

use std::sync::{Arc, PoisonError};

use futures::FutureExt;
use futures::future::BoxFuture;
use mia_plug::erased::SessionCall;
use mia_plug::{Failure, Next, PauseInfo, Phase, Reason};
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::hook::{Ended, Hook};
use crate::run::{At, Run, Shared};
use crate::spec::Inside;
use crate::stop::Stop;

impl Run {
    /// Attaches all plugs, runs the agent until it stops, and lets all plugs pause. Never fails: what fails
    /// is in what comes back. Dropping the future breaks nothing off.
    pub async fn session(&self) -> PauseInfo {
        let at = self.shared.outermost();
        self.shared.nested(0, at).await;
        self.shared.stops.now().info(None)
    }
}

impl Shared {
    /// The level at that place, in a task of its own: nobody outside can break it off.
    async fn nested(self: &Arc<Self>, place: usize, at: At) {
        if tokio::spawn(level(Arc::clone(self), place, at)).await.is_err() {
            self.fails(Failure::new("internal", Phase::Live, "an error in Mia; please report it"));
        }
    }

    fn fails(&self, failure: Failure) {
        self.stops.fail(failure, self.keeps());
    }
}

/// Runs the plug at that place and everything inside it, to the end of its pause code.
fn level(run: Arc<Shared>, place: usize, at: At) -> BoxFuture<'static, ()> {
    async move {
        if run.stops.has_begun() {
            // Nothing more is attached (P-61).
            return;
        }
        let Some(link) = run.link(place) else { return center(&run, at).await };
        let hooks = link.plug.definition().hooks;
        let slot = match run.enter(place, &at).await {
            Ok(slot) => slot,
            Err(failure) => return run.fails(failure),
        };
        if !hooks.session {
            return level(run, place + 1, at).await;
        }
        let draft = run.draft.read().unwrap_or_else(PoisonError::into_inner).clone();
        let (call, called) = oneshot::channel();
        let hook = slot.entered.on_session(run.stops.signal(), Next::new(draft, call));
        let mut hook = Hook::start(hook, slot.revoked);
        if let Some(call) = attach(&run, place, &mut hook, called).await {
            inside(&run, place, at, hook, call).await;
        }
    }
    .boxed()
}

/// Waits until the plug has called `next`; none when the run ends here.
async fn attach<T: Send + 'static>(
    run: &Shared,
    place: usize,
    hook: &mut Hook<T>,
    called: oneshot::Receiver<SessionCall>,
) -> Option<SessionCall> {
    let by = Instant::now() + run.spec.limits.attach;
    let ended = tokio::select! {
        biased;
        // Also when it is called in the very moment in which the hook ends.
        Ok(call) = called => return Some(call),
        ended = hook.ended(Some(by)) => ended,
    };
    let failure = match ended {
        Ended::Returned(_) => {
            let said = "on_session came back without having run next".to_owned();
            Some(run.failure(place, "next_not_called", Phase::Attach, vec![said]))
        }
        ended => run.end_fails(place, Phase::Attach, "attach_timeout", ended),
    };
    if let Some(failure) = failure {
        run.fails(failure);
    }
    None
}

/// Runs what is inside, and then the plug's pause code.
async fn inside<T: Send + 'static>(
    run: &Arc<Shared>,
    place: usize,
    at: At,
    mut hook: Hook<T>,
    call: SessionCall,
) {
    let SessionCall { draft, outputs, host, back } = call;
    *run.draft.write().unwrap_or_else(PoisonError::into_inner) = draft;
    let told = match host.is_some() {
        true => run.control.rehosted(place).await,
        false => Ok(()),
    };
    let mut early = None;
    match told {
        Err(error) => {
            run.fails(run.failure(place, "control", Phase::Attach, vec![error.to_string()]));
        }
        Ok(()) => {
            let inner = run.nested(place + 1, at.inside(run.link(place), outputs, host.as_ref()));
            tokio::pin!(inner);
            tokio::select! {
                biased;
                () = &mut inner => {}
                // It can't have got what it waits for: nobody has sent it yet.
                ended = hook.ended(None) => {
                    let chain = early_end(&ended);
                    run.fails(run.failure(place, "next_not_awaited", Phase::Live, chain));
                    early = Some(ended);
                    inner.await;
                }
            }
        }
    }
    if let Some(host) = host
        && let Err(error) = host.close().await
    {
        let chain = vec![format!("its host was not closed: {error}")];
        run.fails(run.failure(place, "host_close_failed", Phase::Pause, chain));
    }
    if early.is_some() {
        return;
    }
    let by = run.pause_by();
    // Who has dropped what it waited for has ended, or ends now.
    let _ = back.send(run.stops.now().info(Some(by)));
    let ended = hook.ended(Some(by)).await;
    if let Some(failure) = run.end_fails(place, Phase::Pause, "pause_timeout", ended) {
        run.fails(failure);
    }
}

fn early_end<T>(ended: &Ended<T>) -> Vec<String> {
    let mut chain = vec!["on_session ended before what is inside of it had paused".to_owned()];
    match ended {
        Ended::Returned(_) | Ended::Late => {}
        Ended::Failed(error) => chain.extend(error.chain()),
        Ended::Panicked(said) => chain.push(said.clone()),
    }
    chain
}

async fn center(run: &Arc<Shared>, at: At) {
    let inside = Inside {
        draft: run.draft.read().unwrap_or_else(PoisonError::into_inner).clone(),
        host: at.host,
        plugs: run.with_messages(),
        stops: run.stops.clone(),
    };
    match run.center.run(inside).await {
        Ok(()) if run.stops.has_begun() => {}
        Ok(()) => run.stops.request(Stop { reason: Reason::Completed, may_resume: false }),
        Err(failure) => run.fails(failure),
    }
}
