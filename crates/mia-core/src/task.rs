//! One task's way through the dispatcher.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use mia_api::{
    Attempt, Cause, DispatchResult, ErrorCode, EventBody, NoticeKind, Phase, PluginError, TaskId,
};
use mia_plugin::{Dispatch, EventStream, event_channel};
use mia_store::{Claim, Ending, Store, StoreError, Turn, Withdrawn};
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::breaker::{Bearing, Breaker, Closed, Ticket, Why};
use crate::core::{Shared, Stopping};
use crate::fallback::{Next, after};
use crate::plugins::{Candidate, Candidates, Plugins};
use crate::track::Track;

/// How soon the end of a task is tried again to be put on record, at first and at last.
const RETRY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(15));

/// One task, from acceptance to its terminal event.
pub(crate) struct Task {
    pub(crate) shared: Arc<Shared>,
    /// The plugins and the configuration as they were when it was accepted.
    pub(crate) plugins: Arc<Plugins>,
    /// At least one is asked.
    pub(crate) candidates: Candidates,
    pub(crate) ignore_breaker: bool,
    pub(crate) dispatch: Dispatch,
    pub(crate) track: Track,
    /// How often somebody has asked for the end.
    pub(crate) aborted: watch::Receiver<u32>,
}

impl Task {
    pub(crate) async fn run(mut self, queue_place: u64) {
        let began = Instant::now();
        let conversation_id = self.dispatch.options.conversation_id.clone();
        self.track.take(EventBody::Accepted { conversation_id, queue_place });
        for name in std::mem::take(&mut self.candidates.passed_over) {
            self.track.take(EventBody::notice(NoticeKind::Warning, name));
        }
        match self.turn().await {
            Ok((claim, _place)) => {
                self.shared.begins(self.track.task_id());
                let outcome = self.answer().await;
                self.finish(Some(claim), outcome, began).await;
            }
            Err(error) => self.finish(None, Err(*error), began).await,
        }
    }

    /// Waits until the conversation is ours, and there is a place among all that are at work (M-37).
    async fn turn(&mut self) -> Result<(Claim, Option<OwnedSemaphorePermit>), Box<PluginError>> {
        let Self { shared, track, aborted, candidates, dispatch, .. } = self;
        let name = candidates.asked.first().map_or("", |candidate| candidate.plugin.name());
        let accepted = Instant::now();
        let limit = dispatch.options.timeout_ms.map(Duration::from_millis);
        let late = async {
            match limit {
                Some(limit) => tokio::time::sleep(limit).await,
                None => std::future::pending().await,
            }
        };
        let mut late = pin!(late);
        let late_error = || {
            let message = "the conversation was not free in time";
            PluginError::new(ErrorCode::Timeout, name, message).with_phase(Phase::Queue)
        };
        let task = track.task_id().clone();
        let aborted_error = || {
            let message = "the task was aborted before it began";
            let error = PluginError::new(ErrorCode::Aborted, name, message)
                .with_cause(Cause::Requested)
                .with_phase(Phase::Queue);
            interrupted(error, shared)
        };
        let (notes, mut told) = mpsc::unbounded_channel();
        let notes = &notes;
        let unowned = StoreError::ReadOnly { path: shared.store.path().to_owned() };
        let turn = async {
            let (store, owner) = (&shared.store, shared.owner.as_ref().ok_or(unowned)?);
            // Mostly nobody is before it, and there is a place: then one step is enough.
            if let Some(place) = shared.gate.try_pass()
                && let Turn::Started(claim) = store.try_start(&task, owner).await?
            {
                return Ok((claim, Some(place)));
            }
            // Only the first is a notice: that it waits, and for whom.
            let mut said = false;
            let wait = store.wait_first(&task, |ahead, running| {
                if !std::mem::replace(&mut said, true) {
                    let tasks = if ahead == 1 { "task" } else { "tasks" };
                    let runs = running.map(|t| format!("; {t} runs")).unwrap_or_default();
                    let note = format!("waiting for {ahead} {tasks} of this conversation{runs}");
                    let _ = notes.send(note);
                }
            });
            wait.await?;
            let place = match shared.gate.try_pass() {
                Some(place) => Some(place),
                None => {
                    let limit = shared.plugins().config().limits.concurrent;
                    let note = format!(
                        "waiting for a place: {limit} tasks (limits.concurrent) are at work"
                    );
                    let _ = notes.send(note);
                    shared.gate.pass().await
                }
            };
            store.wait_turn(&task, owner, |_, _| {}).await.map(|claim| (claim, place))
        };
        let mut turn = pin!(turn);
        let mut withdrawn: Option<PluginError> = None;
        let (withdrawal, mut withdrawing) = mpsc::channel(1);
        loop {
            tokio::select! {
                turn = &mut turn => return match turn {
                    Ok(turn) => {
                        // One limit covers everything, the wait included (M-19).
                        if let Some(limit) = limit {
                            let left = limit.saturating_sub(accepted.elapsed()).as_millis();
                            let left = u64::try_from(left).unwrap_or(u64::MAX).max(1);
                            dispatch.options.timeout_ms = Some(left);
                        }
                        Ok(turn)
                    }
                    Err(error) => {
                        if let Some(why) = withdrawn {
                            return Err(Box::new(why));
                        }
                        let message = format!("the conversation could not be taken: {error}");
                        let error = PluginError::new(ErrorCode::Unknown, name, message);
                        Err(Box::new(error.with_cause(Cause::Store).with_phase(Phase::Queue)))
                    }
                },
                Some(note) = told.recv() => {
                    track.take(EventBody::notice(NoticeKind::Waiting, note));
                }
                why = async {
                    tokio::select! {
                        Ok(_) = more_than(aborted, 0) => aborted_error(),
                        () = &mut late => late_error(),
                    }
                }, if withdrawn.is_none() => {
                    // Beside the turn, which may hold the store's writer.
                    let (store, task, error) = (shared.store.clone(), task.clone(), why.clone());
                    let withdrawal = withdrawal.clone();
                    tokio::spawn(async move {
                        let _ = withdrawal.send(store.withdraw(&task, &error).await).await;
                    });
                    withdrawn = Some(why);
                }
                Some(done) = withdrawing.recv() => {
                    // If it has started meanwhile, its attempt sees the abort.
                    if let (Ok(Withdrawn::Done | Withdrawn::Ended(_)), Some(why)) =
                        (done, withdrawn.clone())
                    {
                        return Err(Box::new(why));
                    }
                }
                () = track.hand_on(), if track.is_behind() => {}
            }
        }
    }

    /// Asks one plugin after the other until one has answered (M-31, M-34).
    async fn answer(&mut self) -> Result<DispatchResult, PluginError> {
        let began = Instant::now();
        let limit = self.dispatch.options.timeout_ms.map(Duration::from_millis);
        let candidates = std::mem::take(&mut self.candidates.asked);
        let mut attempts = Vec::new();
        for (index, candidate) in candidates.iter().enumerate() {
            let name = candidate.plugin.name().to_owned();
            // One limit covers all attempts (M-19).
            let left = limit.map(|limit| limit.saturating_sub(began.elapsed()).as_millis());
            let left = left.map(|left| u64::try_from(left).unwrap_or(u64::MAX).max(1));
            self.dispatch.options.timeout_ms = left;
            let (outcome, visible) = self.attempt(index, candidate).await;
            let error = match outcome {
                Ok(mut result) => {
                    attempts.push(Attempt { plugin: name, error: None });
                    add_spent(&mut result, &attempts);
                    result.attempts = attempts;
                    result.duration_ms = millis(began);
                    return Ok(result);
                }
                Err(error) => error,
            };
            let next = match candidates.get(index + 1) {
                Some(next) => {
                    let out_of_time = limit.is_some_and(|limit| began.elapsed() >= limit);
                    let after_output = self.plugins.config().fallback.after_output;
                    let then = after(&error, visible, out_of_time, after_output);
                    Some(next.plugin.name()).filter(|_| then != Next::Stop).map(|n| (n, then))
                }
                None => None,
            };
            let is_last = index + 1 == candidates.len();
            attempts.push(Attempt { plugin: name.clone(), error: Some(Box::new(error.clone())) });
            let Some((next, then)) = next else {
                return Err(all_failed(error, is_last, attempts));
            };
            // A record that can't be written is told by the recorder.
            let (store, task) = (&self.shared.store, self.track.task_id());
            let _ = store.end_attempt(task, number(index), Some(&error)).await;
            let how = match then {
                Next::Restart => "is asked from the start",
                _ => "is asked",
            };
            let message = format!("{name} failed ({}); {next} {how}", error.message);
            self.track.take(EventBody::notice(NoticeKind::Fallback, message));
            // The model was chosen for the plugin that failed.
            self.dispatch.options.model = None;
        }
        // There is always a candidate.
        Err(PluginError::new(ErrorCode::Unknown, "", "there is no plugin to ask"))
    }

    /// Asks one plugin. Says also whether it had shown anything, or its model had begun to work.
    async fn attempt(
        &mut self,
        index: usize,
        candidate: &Candidate,
    ) -> (Result<DispatchResult, PluginError>, bool) {
        let name = candidate.plugin.name().to_owned();
        let task = self.track.task_id().clone();
        self.track.take(EventBody::Attempt { plugin: name.clone(), index: number(index) });
        // A record that can't be written is told by the recorder.
        let _ = self.shared.store.begin_attempt(&task, number(index), &name).await;
        if *self.aborted.borrow() > 0 {
            let message = "the task was aborted before the agent was asked";
            let error = PluginError::new(ErrorCode::Aborted, name, message);
            let error = error.with_cause(Cause::Requested).with_phase(Phase::Start);
            return (Err(error), false);
        }
        if let Some(error) = &candidate.refuses {
            return (Err(error.as_ref().clone()), false);
        }
        let shared = Arc::clone(&self.shared);
        let admitted = match Admitted::to(&shared, &name, self.ignore_breaker) {
            Ok(admitted) => admitted,
            Err(error) => return (Err(error), false),
        };
        let (sink, stream) = event_channel();
        let (plugin, dispatch) = (Arc::clone(&candidate.plugin), self.dispatch.clone());
        let (begun, has_begun) = oneshot::channel();
        // A task of its own: if the plugin panics, that is this dispatch's failure and nobody
        // else's.
        let answer = tokio::spawn(async move {
            let answer = plugin.dispatch(dispatch, sink);
            let _ = begun.send(());
            answer.await
        });
        let (outcome, visible) = self.relay(candidate, &admitted, answer, has_begun, stream).await;
        let outcome = match outcome {
            Ok(mut result) => {
                result.task_id = task;
                result.conversation_id = self.dispatch.options.conversation_id.clone();
                result.plugin = name;
                if result.cost_usd.is_none() {
                    result.cost_usd = self.price(&result);
                }
                Ok(result)
            }
            Err(mut error) => {
                error.plugin_name = name;
                Err(error)
            }
        };
        admitted.ends(Bearing::of(outcome.as_ref().err()));
        (outcome, visible)
    }

    /// Hands the plugin's events on until it has answered, and requests to end to the plugin.
    async fn relay(
        &mut self,
        candidate: &Candidate,
        admitted: &Admitted<'_>,
        mut answer: JoinHandle<Result<DispatchResult, PluginError>>,
        mut has_begun: oneshot::Receiver<()>,
        mut stream: EventStream,
    ) -> (Result<DispatchResult, PluginError>, bool) {
        let Self { track, aborted, shared, .. } = self;
        let (plugin, since) = (&candidate.plugin, Instant::now());
        let (mut asked, mut begun, mut open, mut shown) = (0, false, true, false);
        let answer = loop {
            tokio::select! {
                biased;
                _ = &mut has_begun, if !begun => begun = true,
                // Only now does the plugin know the task.
                Ok(times) = more_than(aborted, asked), if begun => {
                    asked = times;
                    let (plugin, task) = (Arc::clone(plugin), track.task_id().clone());
                    tokio::spawn(async move { plugin.abort(&task).await });
                }
                () = track.hand_on(), if track.is_behind() => {}
                event = stream.next(), if open && !track.is_behind() => match event {
                    Some(event) => {
                        admitted.shows_life(&event);
                        if !shown && event.is_visible() {
                            shown = true;
                            shared.meter.first_output(plugin.name(), since.elapsed());
                        }
                        track.take(event);
                    }
                    None => open = false,
                },
                answer = &mut answer => break answer,
            }
        };
        for event in stream.take_waiting() {
            track.take(event);
        }
        let answer = answer.unwrap_or_else(|failed| {
            let what = if failed.is_panic() { "panicked" } else { "was stopped" };
            let message = format!("the plugin {} {what}", plugin.name());
            Err(PluginError::new(ErrorCode::Unknown, plugin.name(), message)
                .with_cause(Cause::Panic)
                .with_hint("this is an error in the plugin; please report it"))
        });
        (answer, stream.has_worked())
    }

    /// What it costs by the configured prices, in US dollars; unknown when one is missing.
    fn price(&self, result: &DispatchResult) -> Option<f64> {
        // An agent that does not name its model has used the one that was asked for.
        let model = result.model.as_ref().or(self.dispatch.options.model.as_ref())?;
        let price = self.plugins.config().prices.get(model)?;
        let usage = result.usage.as_ref()?;
        #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
        let cost = |tokens: u64, per_million: Option<f64>| match (tokens, per_million) {
            (0, _) => Some(0.0),
            (tokens, Some(per_million)) => Some(tokens as f64 * per_million / 1e6),
            (_, None) => None,
        };
        Some(
            cost(usage.input_tokens, Some(price.input))?
                + cost(usage.output_tokens, Some(price.output))?
                + cost(usage.cache_read.unwrap_or(0), price.cache_read)?
                + cost(usage.cache_creation.unwrap_or(0), price.cache_write)?,
        )
    }

    /// Records the end, and only then tells it (M-08, M-17). Without a claim the task never ran.
    async fn finish(
        self,
        claim: Option<Claim>,
        outcome: Result<DispatchResult, PluginError>,
        began: Instant,
    ) {
        let Self { shared, track, .. } = self;
        let task = track.task_id().clone();
        let outcome = outcome.map_err(|error| interrupted(error, &shared));
        let (ending, recorded) = track.close().await;
        let mut incomplete = recorded.err();
        let end = End { task: task.clone(), claim, seq: ending.seq, outcome };
        shared.meter.ended(end.outcome.as_ref());
        log_end(&task, &end.outcome, began.elapsed());
        let written = end.record(&shared.store).await;
        let warning = |why| format!("the record of this task is incomplete: {why}");
        let unwritten = written.is_err().then(|| end.clone());
        if let Err(error) = written {
            incomplete.get_or_insert(error);
        }
        let warning = incomplete.map(warning);
        ending.tell(match end.outcome {
            Ok(mut result) => {
                result.warnings.extend(warning);
                EventBody::Complete { result: Box::new(result) }
            }
            Err(mut error) => {
                error.detail = error.detail.or(warning);
                EventBody::Error { error: Box::new(error) }
            }
        });
        match unwritten {
            None => shared.leaves(&task),
            // Until it is on record, the conversation waits for this process, and who wants to see the
            // task finds it here.
            Some(end) => {
                tokio::spawn(async move {
                    end.record_later(&shared).await;
                    shared.leaves(&task);
                });
            }
        }
    }
}

/// Says in the log how a task ended: never what was asked or answered.
fn log_end(task: &TaskId, outcome: &Result<DispatchResult, PluginError>, took: Duration) {
    let seconds = took.as_secs_f32();
    match outcome {
        Ok(result) => {
            tracing::info!("task {task}: answered by {} in {seconds:.1} s", result.plugin)
        }
        Err(error) => {
            let (plugin, code) = (&error.plugin_name, &error.code);
            tracing::info!("task {task}: {code}, {plugin}, after {seconds:.1} s");
        }
    }
}

/// The error of a task that was asked to end because Mia ends (M-39).
fn interrupted(mut error: PluginError, shared: &Shared) -> PluginError {
    let asked = (error.code, error.cause) == (ErrorCode::Aborted, Some(Cause::Requested));
    if asked && *shared.stopping.borrow() == Stopping::Now {
        error.cause = Some(Cause::Interrupted);
        error.message = match error.phase {
            Some(Phase::Queue) => "mia was stopped before it was this prompt's turn",
            _ => "mia was stopped while the agent was at work",
        }
        .to_owned();
        error.hint = Some("send the prompt again, or go on with the conversation".to_owned());
    }
    error
}

/// The error of a dispatch that nobody answered: the last one where that ended it, else that of the
/// first plugin that got as far as to start.
fn all_failed(last: PluginError, was_last: bool, attempts: Vec<Attempt>) -> PluginError {
    if attempts.len() < 2 {
        return last;
    }
    let started = |error: &&PluginError| error.code != ErrorCode::SpawnFailure;
    let mut errors = attempts.iter().filter_map(|attempt| attempt.error.as_deref());
    let ended_it = !was_last || last.code == ErrorCode::Aborted || last.partial.is_some();
    let mut error = match errors.find(started) {
        Some(first) if !ended_it => first.clone(),
        _ => last,
    };
    error.attempts = attempts;
    error
}

/// Adds what the attempts before have used: it was spent for this dispatch, too. The cost is unknown
/// when that of an attempt is.
fn add_spent(result: &mut DispatchResult, attempts: &[Attempt]) {
    for partial in attempts.iter().filter_map(|a| a.error.as_ref()?.partial.as_deref()) {
        if let Some(used) = &partial.usage {
            let usage = result.usage.get_or_insert_default();
            let add = |to: &mut u64, more: u64| *to = to.saturating_add(more);
            let maybe = |to: &mut Option<u64>, more: Option<u64>| {
                if let Some(more) = more {
                    add(to.get_or_insert_default(), more);
                }
            };
            add(&mut usage.input_tokens, used.input_tokens);
            add(&mut usage.output_tokens, used.output_tokens);
            maybe(&mut usage.cache_read, used.cache_read);
            maybe(&mut usage.cache_creation, used.cache_creation);
        }
        result.cost_usd = match (result.cost_usd, partial.cost_usd, &partial.usage) {
            (Some(cost), Some(more), _) => Some(cost + more),
            (cost, None, None) => cost,
            _ => None,
        };
    }
}

/// A plugin that was let through by its breaker. Whatever happens, the breaker learns the end.
struct Admitted<'a> {
    shared: &'a Shared,
    plugin: String,
    ticket: Ticket,
    ended: bool,
}

impl<'a> Admitted<'a> {
    fn to(shared: &'a Shared, plugin: &str, whatever: bool) -> Result<Self, PluginError> {
        let mut breakers = shared.breakers();
        let breaker = breakers.entry(plugin.to_owned()).or_default();
        let ticket = match breaker.admit(Instant::now()) {
            Ok(ticket) => ticket,
            Err(_) if whatever => Ticket::Usual,
            Err(Closed { why, left }) => {
                let message = match why {
                    Why::Failures => {
                        "it failed several times in a row and is left alone for a while"
                    }
                    Why::Asked => "its provider asked to wait",
                };
                let mut error = PluginError::new(ErrorCode::SpawnFailure, plugin, message)
                    .with_cause(Cause::BreakerOpen)
                    .with_phase(Phase::Start)
                    .with_hint(format!("`mia plugin test {plugin}` tries at once"));
                error.retry_after_ms = left.and_then(|left| u64::try_from(left.as_millis()).ok());
                return Err(error);
            }
        };
        Ok(Self { shared, plugin: plugin.to_owned(), ticket, ended: false })
    }

    fn shows_life(&self, event: &EventBody) {
        if self.ticket == Ticket::Trial && event.is_visible() {
            self.tell(|breaker| breaker.shows_life(self.ticket));
        }
    }

    fn ends(mut self, bearing: Bearing) {
        self.ended = true;
        self.tell(|breaker| breaker.record(self.ticket, bearing, Instant::now()));
    }

    fn tell(&self, news: impl FnOnce(&mut Breaker)) {
        if let Some(breaker) = self.shared.breakers().get_mut(&self.plugin) {
            news(breaker);
        }
    }
}

impl Drop for Admitted<'_> {
    fn drop(&mut self) {
        if !self.ended {
            self.tell(|breaker| breaker.record(self.ticket, Bearing::Nothing, Instant::now()));
        }
    }
}

fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

/// How a task ended.
#[derive(Debug, Clone)]
struct End {
    task: TaskId,
    claim: Option<Claim>,
    seq: u64,
    outcome: Result<DispatchResult, PluginError>,
}

impl End {
    async fn record(&self, store: &Store) -> Result<(), String> {
        let written = match (&self.claim, &self.outcome) {
            (Some(claim), outcome) => {
                let seq = Some(self.seq);
                let ending = Ending { outcome: outcome.as_ref(), seq, session: None };
                store.finish(claim, ending).await.map(drop)
            }
            (None, Err(error)) => match store.withdraw(&self.task, error).await {
                // Whoever asked for the end was quicker.
                Ok(_) | Err(StoreError::WrongStatus { .. }) => Ok(()),
                Err(error) => Err(error),
            },
            (None, Ok(_)) => Ok(()),
        };
        written.map_err(|error| error.to_string())
    }

    /// Tries again while this process lives: a lock goes away, a disk gets room. When the process is to
    /// end, once more; if that does not work either, the next process ends the task as interrupted.
    async fn record_later(self, shared: &Shared) {
        let mut stopping = shared.stopping.subscribe();
        let mut pause = RETRY.0;
        loop {
            let last = tokio::select! {
                () = tokio::time::sleep(pause) => false,
                _ = stopping.wait_for(|stopping| *stopping > Stopping::No) => true,
            };
            if self.record(&shared.store).await.is_ok() {
                return;
            }
            pause = (pause * 2).min(RETRY.1);
            if last {
                tracing::error!("the end of task {} could not be put on record", self.task);
                return;
            }
        }
    }
}

/// Ready once somebody has asked for the end more often than `known`; says how often.
async fn more_than(
    aborted: &mut watch::Receiver<u32>,
    known: u32,
) -> Result<u32, watch::error::RecvError> {
    aborted.wait_for(|asked| *asked > known).await.map(|asked| *asked)
}

fn millis(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}
