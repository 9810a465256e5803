//! A session in memory: control, hosts, an agent, and plugs that write down what happens to them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use mia_host::host::{
    ExecOutput, ExecSpec, Host, HostError, HostInfo, HostProcess, LazyHost, ProcessSpec,
};
use mia_plug::erased::DynPlug;
use mia_plug::{
    AgentDraft, Failure, PauseInfo, Phase, Reason, RunInfo, RunKind, SessionInfo, TeardownInfo,
    plug,
};
use mia_runner::{
    Center, Control, ControlError, History, Inside, Limits, Link, OnFailure, Run, RunSpec, Stop,
    Stops, Torn,
};
use serde_json::{Value, json};

/// What happened, in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Trace(Arc<Mutex<Vec<String>>>);

impl Trace {
    pub(crate) fn add(&self, what: impl Into<String>) {
        self.0.lock().unwrap().push(what.into());
    }

    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

/// How a pause is told in a trace: `closed/false`, `failed/true(plug_failed)+1`.
pub(crate) fn told(info: &PauseInfo) -> String {
    let error = info.error.as_ref().map(|error| format!("({})", error.code()));
    let more = match info.suppressed.len() {
        0 => String::new(),
        more => format!("+{more}"),
    };
    assert_eq!(info.error.is_some(), info.reason == Reason::Failed, "{info:?}");
    format!("{}/{}{}{more}", info.reason, info.may_resume, error.unwrap_or_default())
}

pub(crate) fn told_down(info: &TeardownInfo) -> String {
    let error = info.error.as_ref().map(|error| format!("({})", error.code()));
    format!("{}{}", info.reason, error.unwrap_or_default())
}

/// A plug that writes down where it is.
pub(crate) fn rec(name: &str, trace: &Trace) -> Arc<dyn DynPlug> {
    let (attach, tear) = (trace.clone(), trace.clone());
    let (a, t) = (name.to_owned(), name.to_owned());
    plug(name)
        .on_session(move |_, next| {
            let (trace, name) = (attach.clone(), a.clone());
            async move {
                trace.add(format!("{name} attaches"));
                let info = next.run().await;
                trace.add(format!("{name} pauses {}", told(&info)));
                Ok(info.done())
            }
        })
        .on_teardown(move |_, next| {
            let (trace, name) = (tear.clone(), t.clone());
            async move {
                trace.add(format!("{name} restores"));
                let info = next.run().await;
                trace.add(format!("{name} destroys {}", told_down(&info)));
                Ok(info.done())
            }
        })
        .build()
}

/// An agent that runs until it is stopped, or does this.
pub(crate) struct Agent {
    pub(crate) trace: Trace,
    pub(crate) does: Does,
    pub(crate) draft: Mutex<Option<AgentDraft>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Does {
    Waits,
    Fails,
    Completes,
}

impl Center for Agent {
    fn run(&self, inside: Inside) -> BoxFuture<'static, Result<(), Failure>> {
        self.trace.add("agent runs");
        *self.draft.lock().unwrap() = Some(inside.draft);
        let (trace, does, stops) = (self.trace.clone(), self.does, inside.stops);
        let host = inside.host;
        async move {
            host.info().await.map_err(|error| Failure::new("agent_start", Phase::Start, error))?;
            match does {
                Does::Waits => stops.begun().await,
                Does::Fails => return Err(Failure::new("agent_exit", Phase::Live, "status 1")),
                Does::Completes => {}
            }
            trace.add("agent is gone");
            Ok(())
        }
        .boxed()
    }
}

/// What control was told, and what is kept.
#[derive(Default)]
pub(crate) struct Memory {
    pub(crate) history: Mutex<History>,
    pub(crate) kept: Mutex<BTreeMap<String, (String, Value)>>,
    pub(crate) broken: AtomicBool,
}

impl Memory {
    fn told(&self) -> Result<(), ControlError> {
        match self.broken.load(Ordering::Relaxed) {
            true => Err(ControlError::Failed("nobody is there".to_owned())),
            false => Ok(()),
        }
    }
}

fn note(places: &mut Vec<usize>, place: usize) {
    if !places.contains(&place) {
        places.push(place);
    }
}

impl Control for Memory {
    fn entered(&self, plug: usize) -> BoxFuture<'_, Result<(), ControlError>> {
        note(&mut self.history.lock().unwrap().entered, plug);
        let told = self.told();
        async move { told }.boxed()
    }

    fn rehosted(&self, plug: usize) -> BoxFuture<'_, Result<(), ControlError>> {
        note(&mut self.history.lock().unwrap().rehosted, plug);
        let told = self.told();
        async move { told }.boxed()
    }

    fn stored<'a>(
        &'a self,
        id: &'a str,
    ) -> BoxFuture<'a, Result<Option<(String, Value)>, ControlError>> {
        let kept = self.kept.lock().unwrap().get(id).cloned();
        async move { Ok(kept) }.boxed()
    }

    fn put<'a>(
        &'a self,
        id: &'a str,
        name: &'a str,
        value: Value,
    ) -> BoxFuture<'a, Result<(), ControlError>> {
        async move {
            self.told()?;
            // It takes its time.
            tokio::time::sleep(Duration::from_millis(10)).await;
            self.kept.lock().unwrap().insert(id.to_owned(), (name.to_owned(), value));
            Ok(())
        }
        .boxed()
    }

    fn delete<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<(), ControlError>> {
        self.kept.lock().unwrap().remove(id);
        async move { Ok(()) }.boxed()
    }
}

/// A host in memory that writes down what is done with it.
pub(crate) struct Probe {
    pub(crate) name: String,
    pub(crate) trace: Trace,
    pub(crate) close_fails: bool,
}

impl Probe {
    pub(crate) fn lazy(name: &str, trace: &Trace, close_fails: bool) -> Arc<dyn Host> {
        let (name, trace) = (name.to_owned(), trace.clone());
        Arc::new(LazyHost::new(async move {
            trace.add(format!("{name} opens"));
            let host: Arc<dyn Host> = Arc::new(Self { name, trace, close_fails });
            Ok(host)
        }))
    }
}

impl Host for Probe {
    fn info(&self) -> BoxFuture<'_, Result<HostInfo, HostError>> {
        let info = HostInfo {
            kind: self.name.clone(),
            os: "linux".to_owned(),
            arch: "x86_64".to_owned(),
            home: "/h".into(),
            tmpdir: "/t".into(),
            workspace: "/w".into(),
            persistent: true,
        };
        async move { Ok(info) }.boxed()
    }

    fn exec(&self, spec: ExecSpec) -> BoxFuture<'_, Result<ExecOutput, HostError>> {
        self.trace.add(format!("{} runs {:?}", self.name, spec.program));
        async move { Err(HostError::new("nothing runs here")) }.boxed()
    }

    fn spawn(&self, _: ProcessSpec) -> BoxFuture<'_, Result<HostProcess, HostError>> {
        async move { Err(HostError::new("nothing runs here")) }.boxed()
    }

    fn close(&self) -> BoxFuture<'_, Result<(), HostError>> {
        self.trace.add(format!("{} closes", self.name));
        let fails = self.close_fails;
        async move { if fails { Err(HostError::new("it hangs on")) } else { Ok(()) } }.boxed()
    }
}

/// A session with these plugs.
pub(crate) struct World {
    pub(crate) trace: Trace,
    pub(crate) memory: Arc<Memory>,
    pub(crate) agent: Arc<Agent>,
    pub(crate) spec: RunSpec,
    pub(crate) run: Run,
}

impl World {
    pub(crate) fn new(trace: &Trace, plugs: Vec<Arc<dyn DynPlug>>) -> Self {
        Self::with(trace, plugs, Does::Waits, |_| ())
    }

    pub(crate) fn with(
        trace: &Trace,
        plugs: Vec<Arc<dyn DynPlug>>,
        does: Does,
        change: impl FnOnce(&mut RunSpec),
    ) -> Self {
        // What another one has left in it means nothing here.
        trace.take();
        let links = plugs.into_iter().enumerate().map(|(at, plug)| Link {
            plug,
            id: Some(format!("p{at}")),
            with: Arc::new(json!({})),
        });
        let host = Probe { name: "runner".into(), trace: trace.clone(), close_fails: false };
        let mut spec = RunSpec {
            session: SessionInfo {
                id: "s".into(),
                execution_id: "e".into(),
                agent_name: "fake".into(),
            },
            run: RunInfo { kind: RunKind::Start, number: 1, after_loss: false },
            links: links.collect(),
            draft: AgentDraft { command: "agent".into(), ..AgentDraft::default() },
            limits: Limits::default(),
            on_failure: OnFailure::End,
            runner: Arc::new(host),
            runner_env: Arc::default(),
            logs: Vec::new(),
        };
        change(&mut spec);
        let memory = Arc::new(Memory::default());
        let agent = Arc::new(Agent { trace: trace.clone(), does, draft: Mutex::default() });
        let run = Run::new(
            spec.clone(),
            Arc::clone(&memory) as Arc<dyn Control>,
            Arc::clone(&agent) as Arc<dyn Center>,
        );
        Self { trace: trace.clone(), memory, agent, spec, run }
    }

    /// The next run of the same session.
    pub(crate) fn again(&self, kind: RunKind) -> Self {
        let mut spec = self.spec.clone();
        spec.run = RunInfo { kind, number: spec.run.number + 1, after_loss: false };
        let run = Run::new(
            spec.clone(),
            Arc::clone(&self.memory) as Arc<dyn Control>,
            Arc::clone(&self.agent) as Arc<dyn Center>,
        );
        let (memory, agent) = (Arc::clone(&self.memory), Arc::clone(&self.agent));
        Self { trace: self.trace.clone(), memory, agent, spec, run }
    }

    /// Runs it; once the agent is live it is stopped like that.
    pub(crate) async fn stopped(&self, reason: Reason, may_resume: bool) -> PauseInfo {
        let stops = self.run.stops().clone();
        let trace = self.trace.clone();
        let stop = stop_when(trace, "agent runs", stops, Stop { reason, may_resume });
        let (info, ()) = tokio::join!(self.run.session(), stop);
        info
    }

    pub(crate) async fn torn_down(&self, outcome: Reason) -> Torn {
        let history = self.memory.history.lock().unwrap().clone();
        self.run.teardown(history, outcome, None).await
    }
}

/// Asks for a stop once that is in the trace, or the run ends by itself.
pub(crate) async fn stop_when(trace: Trace, when: &str, stops: Stops, stop: Stop) {
    while !trace.0.lock().unwrap().iter().any(|what| what == when) {
        if stops.has_begun() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    stops.request(stop);
}

impl Trace {
    /// True when that has happened.
    pub(crate) fn has(&self, what: &str) -> bool {
        self.0.lock().unwrap().iter().any(|has| has == what)
    }
}
