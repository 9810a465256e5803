//! What all levels of a run share, and how a plug is entered.

use std::collections::BTreeMap;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use futures::FutureExt;
use futures::future::BoxFuture;
use mia_host::host::Host;
use mia_plug::erased::{
    Common, DynPlug, Entered, Entry, NotEntered, SharedDraft, StateWriter, Writer,
};
use mia_plug::{Failure, Outputs, Phase, PlugPlace, StateError};
use serde_json::Value;
use tokio::time::Instant;

use crate::hook::{Ended, Revoked, words};
use crate::spec::{Center, Control, Link, OnFailure, RunSpec};
use crate::stop::Stops;

/// One activation of a session. A cheap handle; all clones are one.
#[derive(Clone)]
pub struct Run {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) spec: RunSpec,
    pub(crate) control: Arc<dyn Control>,
    pub(crate) center: Arc<dyn Center>,
    pub(crate) stops: Stops,
    pub(crate) draft: SharedDraft,
    /// Plugs that were entered in this run, by their places.
    slots: Mutex<Vec<Option<Slot>>>,
    /// When all pause code has to be over; set by the first that pauses.
    pause_by: Mutex<Option<Instant>>,
}

/// A plug that was entered.
#[derive(Clone)]
pub(crate) struct Slot {
    pub(crate) entered: Arc<dyn Entered>,
    pub(crate) revoked: Revoked,
}

/// Where in the onion something runs: what outer plugs have chosen and published.
#[derive(Clone)]
pub(crate) struct At {
    pub(crate) host: Arc<dyn Host>,
    pub(crate) outputs: Outputs,
}

impl At {
    /// The same one plug further in.
    pub(crate) fn inside(
        self,
        link: Option<&Link>,
        outputs: BTreeMap<String, Value>,
        host: Option<&Arc<dyn Host>>,
    ) -> Self {
        let host = host.cloned().unwrap_or(self.host);
        let outputs = match link.and_then(|link| link.id.as_deref()) {
            Some(id) => self.outputs.with(id, outputs),
            None => self.outputs,
        };
        Self { host, outputs }
    }
}

impl Run {
    /// A run of that session, which has not begun.
    #[must_use]
    pub fn new(spec: RunSpec, control: Arc<dyn Control>, center: Arc<dyn Center>) -> Self {
        let draft = Arc::new(RwLock::new(spec.draft.clone()));
        let slots = Mutex::new(spec.links.iter().map(|_| None).collect());
        let (stops, pause_by) = (Stops::default(), Mutex::default());
        let shared = Shared { spec, control, center, stops, draft, slots, pause_by };
        Self { shared: Arc::new(shared) }
    }

    /// The stop of this run.
    #[must_use]
    pub fn stops(&self) -> &Stops {
        &self.shared.stops
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Run").field(&self.shared.spec).finish()
    }
}

impl Shared {
    pub(crate) fn link(&self, at: usize) -> Option<&Link> {
        self.spec.links.get(at)
    }

    pub(crate) fn outermost(&self) -> At {
        At { host: Arc::clone(&self.spec.runner), outputs: Outputs::default() }
    }

    fn slots(&self) -> MutexGuard<'_, Vec<Option<Slot>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The plug at that place, if it was entered in this run.
    pub(crate) fn slot(&self, at: usize) -> Option<Slot> {
        self.slots().get(at)?.clone()
    }

    /// The plugs that see messages.
    pub(crate) fn with_messages(&self) -> Vec<(usize, Arc<dyn Entered>)> {
        let slots = self.slots();
        let all = self.spec.links.iter().zip(slots.iter()).enumerate();
        all.filter(|(_, (link, _))| link.plug.definition().hooks.message)
            .filter_map(|(at, (_, slot))| Some((at, Arc::clone(&slot.as_ref()?.entered))))
            .collect()
    }

    /// True when a session whose run failed stays paused.
    pub(crate) fn keeps(&self) -> bool {
        self.spec.on_failure == OnFailure::Keep
    }

    /// When the pause code of a plug has to be over.
    pub(crate) fn pause_by(&self) -> Instant {
        let limits = &self.spec.limits;
        let now = Instant::now();
        let mut all = self.pause_by.lock().unwrap_or_else(PoisonError::into_inner);
        let all = *all.get_or_insert(now + limits.pause_of_run);
        (now + limits.pause).min(all.max(now + limits.pause_at_least))
    }

    /// A failure of the plug at that place.
    pub(crate) fn failure(
        &self,
        at: usize,
        code: &'static str,
        phase: Phase,
        chain: Vec<String>,
    ) -> Failure {
        let (id, name) = match self.link(at) {
            Some(link) => (link.id.as_deref(), link.plug.definition().name.as_str()),
            None => (None, ""),
        };
        Failure::of_plug(code, phase, (at, id, name), chain)
    }

    /// The failure that the end of a hook is, if it is one.
    pub(crate) fn end_fails<T>(
        &self,
        at: usize,
        phase: Phase,
        late: &'static str,
        ended: Ended<T>,
    ) -> Option<Failure> {
        match ended {
            Ended::Returned(_) => None,
            // Who ends early because the session ends does as it was told.
            Ended::Failed(error) if error.is_aborted() && self.is_stopping(phase) => None,
            Ended::Failed(error) => Some(self.failure(at, "plug_failed", phase, error.chain())),
            Ended::Panicked(said) => Some(self.failure(at, "plug_panicked", phase, vec![said])),
            Ended::Late => {
                let said = "it took longer than it may, and was given up".to_owned();
                Some(self.failure(at, late, phase, vec![said]))
            }
        }
    }

    fn is_stopping(&self, phase: Phase) -> bool {
        phase != Phase::Teardown && self.stops.now().is_asked_for()
    }

    /// Enters the plug at that place: inputs, what it has kept, `on_load`; then it is known that it was
    /// entered.
    pub(crate) async fn enter(self: &Arc<Self>, place: usize, at: &At) -> Result<Slot, Failure> {
        let fails = |code, chain| self.failure(place, code, Phase::Load, chain);
        let Some(link) = self.link(place).cloned() else {
            return Err(Failure::new("no_plug", Phase::Load, "there is no such plug"));
        };
        let definition = link.plug.definition();
        let with = link.with.evaluate(&at.outputs).map_err(|why| fails("inputs", vec![why]))?;
        let stored = match (&link.id, definition.persists) {
            (Some(id), true) => self.stored(place, id, &definition.name).await?,
            _ => None,
        };
        let revoked = Revoked::default();
        let writer = KeptBy {
            control: Arc::clone(&self.control),
            id: link.id.clone().unwrap_or_default(),
            name: definition.name.clone(),
            revoked: revoked.clone(),
        };
        let common = Common {
            session: self.spec.session.clone(),
            run: self.spec.run.clone(),
            place: PlugPlace { id: link.id.clone(), index: place },
            setup: at.outputs.clone(),
            draft: Arc::clone(&self.draft),
            host: Arc::clone(&at.host),
            runner: Arc::clone(&self.spec.runner),
            runner_env: Arc::clone(&self.spec.runner_env),
            log: match self.spec.logs.get(place) {
                Some(log) => Arc::clone(log),
                None => Arc::new(Silent),
            },
        };
        let entry = Entry {
            with,
            stored,
            common: Arc::new(common),
            writer: Writer(Arc::new(writer)),
            signal: self.stops.signal(),
        };
        let by = Instant::now() + self.spec.limits.attach;
        let entered = AssertUnwindSafe(Arc::clone(&link.plug).enter(entry)).catch_unwind();
        let entered = match tokio::time::timeout_at(by, entered).await {
            Ok(Ok(Ok(entered))) => entered,
            Ok(Ok(Err(why))) => return Err(not_entered(&fails, why)),
            Ok(Err(panic)) => return Err(fails("plug_panicked", vec![words(panic.as_ref())])),
            Err(_) => {
                revoked.revoke();
                let said = "on_load took longer than it may, and was given up".to_owned();
                return Err(fails("attach_timeout", vec![said]));
            }
        };
        let told = self.control.entered(place).await;
        told.map_err(|error| fails("control", vec![error.to_string()]))?;
        let slot = Slot { entered, revoked };
        if let Some(place) = self.slots().get_mut(place) {
            *place = Some(slot.clone());
        }
        Ok(slot)
    }

    /// What the plug has kept; what one of another name has kept is not shown to it (P-122).
    async fn stored(&self, place: usize, id: &str, name: &str) -> Result<Option<Value>, Failure> {
        let fails = |code, why: String| self.failure(place, code, Phase::Load, vec![why]);
        let stored = self.control.stored(id).await;
        match stored.map_err(|error| fails("control", error.to_string()))? {
            Some((owner, _)) if owner != name => {
                let why = format!("what {id:?} has kept was written by the plug {owner:?}");
                Err(fails("persisted_owner_mismatch", why))
            }
            stored => Ok(stored.map(|(_, value)| value)),
        }
    }
}

fn not_entered(fails: &impl Fn(&'static str, Vec<String>) -> Failure, why: NotEntered) -> Failure {
    match why {
        NotEntered::Inputs(why) => fails("inputs", vec![format!("its inputs don't fit: {why}")]),
        NotEntered::State(why) => fails(
            "persisted_invalid",
            vec![format!("what it has kept does not fit any more: {why}")],
        ),
        NotEntered::Migrate(error) | NotEntered::Load(error) => fails("plug_failed", error.chain()),
    }
}

/// Where a plug's state goes.
struct KeptBy {
    control: Arc<dyn Control>,
    id: String,
    name: String,
    revoked: Revoked,
}

impl StateWriter for KeptBy {
    fn put(&self, value: Value) -> BoxFuture<'_, Result<(), StateError>> {
        async move {
            if self.revoked.is_revoked() {
                return Err(StateError::Revoked);
            }
            Ok(self.control.put(&self.id, &self.name, value).await?)
        }
        .boxed()
    }

    fn delete(&self) -> BoxFuture<'_, Result<(), StateError>> {
        async move {
            if self.revoked.is_revoked() {
                return Err(StateError::Revoked);
            }
            Ok(self.control.delete(&self.id).await?)
        }
        .boxed()
    }
}

/// A log that nobody reads.
struct Silent;

impl mia_plug::erased::LogSink for Silent {
    fn log(&self, _: mia_plug::erased::Level, _: &str, _: Value) {}
}

/// The plug of a link, for those who only look.
pub(crate) fn has_teardown(link: &Link) -> bool {
    let plug: &dyn DynPlug = link.plug.as_ref();
    plug.definition().hooks.teardown
}
