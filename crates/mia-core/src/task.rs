//! One task's way through the dispatcher.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use mia_api::{
    Attempt, Cause, DispatchResult, ErrorCode, EventBody, NoticeKind, Phase, PluginError, TaskId,
};
use mia_plugin::{CodingPlugin, Dispatch, EventStream, event_channel};
use mia_store::{Claim, Ending, Store};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::core::Shared;
use crate::track::Track;

/// How often and how long the end of a task is tried to be put on record.
const RETRIES: u32 = 120;
const RETRY: Duration = Duration::from_secs(1);

/// One task, from acceptance to its terminal event.
pub(crate) struct Task {
    pub(crate) shared: Arc<Shared>,
    pub(crate) plugin: Arc<dyn CodingPlugin>,
    pub(crate) dispatch: Dispatch,
    pub(crate) track: Track,
    /// How often somebody has asked for the end.
    pub(crate) aborted: watch::Receiver<u32>,
}

impl Task {
    pub(crate) async fn run(mut self, queue_place: u64) {
        let conversation_id = self.dispatch.options.conversation_id.clone();
        self.track.take(EventBody::Accepted { conversation_id, queue_place });
        match self.turn().await {
            Ok(claim) => {
                let outcome = self.attempt().await;
                self.finish(Some(claim), outcome).await;
            }
            Err(error) => self.finish(None, Err(*error)).await,
        }
    }

    /// Waits until the conversation is ours.
    async fn turn(&mut self) -> Result<Claim, Box<PluginError>> {
        let Self { shared, track, aborted, plugin, dispatch, .. } = self;
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
            PluginError::new(ErrorCode::Timeout, plugin.name(), message).with_phase(Phase::Queue)
        };
        let task = track.task_id().clone();
        let aborted_error = || {
            let message = "the task was aborted before it began";
            PluginError::new(ErrorCode::Aborted, plugin.name(), message)
                .with_cause(Cause::Requested)
                .with_phase(Phase::Queue)
        };
        let (notes, mut told) = mpsc::unbounded_channel();
        // Only the first is a notice: that it waits, and for whom.
        let mut notes = Some(notes);
        // Never dropped in the middle: it may just have started the task.
        let mut turn = pin!(shared.store.wait_turn(&task, &shared.owner, |ahead, running| {
            if let Some(notes) = notes.take() {
                let tasks = if ahead == 1 { "task" } else { "tasks" };
                let runs = running.map(|t| format!("; {t} runs")).unwrap_or_default();
                let _ =
                    notes.send(format!("waiting for {ahead} {tasks} of this conversation{runs}"));
            }
        }));
        let mut withdrawn: Option<PluginError> = None;
        loop {
            tokio::select! {
                turn = &mut turn => return match turn {
                    Ok(claim) => {
                        // One limit covers everything, the wait included (M-19).
                        if let Some(limit) = limit {
                            let left = limit.saturating_sub(accepted.elapsed()).as_millis();
                            let left = u64::try_from(left).unwrap_or(u64::MAX).max(1);
                            dispatch.options.timeout_ms = Some(left);
                        }
                        Ok(claim)
                    }
                    Err(error) => {
                        if let Some(why) = withdrawn {
                            return Err(Box::new(why));
                        }
                        let message = format!("the conversation could not be taken: {error}");
                        let error = PluginError::new(ErrorCode::Unknown, plugin.name(), message);
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
                    // If it has started meanwhile, its attempt sees the abort. Beside the turn, which
                    // may hold the store's writer.
                    let (store, task, error) = (shared.store.clone(), task.clone(), why.clone());
                    tokio::spawn(async move { store.withdraw(&task, &error).await });
                    withdrawn = Some(why);
                }
                () = track.hand_on(), if track.is_behind() => {}
            }
        }
    }

    /// Asks the plugin.
    async fn attempt(&mut self) -> Result<DispatchResult, PluginError> {
        let started = Instant::now();
        let name = self.plugin.name().to_owned();
        let task = self.track.task_id().clone();
        self.track.take(EventBody::Attempt { plugin: name.clone(), index: 0 });
        // A record that can't be written is told by the recorder.
        let _ = self.shared.store.begin_attempt(&task, 0, &name).await;
        if *self.aborted.borrow() > 0 {
            let message = "the task was aborted before the agent was asked";
            return Err(PluginError::new(ErrorCode::Aborted, name, message)
                .with_cause(Cause::Requested)
                .with_phase(Phase::Start));
        }
        let (sink, stream) = event_channel();
        let (plugin, dispatch) = (Arc::clone(&self.plugin), self.dispatch.clone());
        let (begun, has_begun) = oneshot::channel();
        // A task of its own: if the plugin panics, that is this dispatch's failure and nobody
        // else's.
        let answer = tokio::spawn(async move {
            let answer = plugin.dispatch(dispatch, sink);
            let _ = begun.send(());
            answer.await
        });
        match self.relay(answer, has_begun, stream).await {
            Ok(mut result) => {
                result.task_id = task;
                result.conversation_id = self.dispatch.options.conversation_id.clone();
                result.plugin.clone_from(&name);
                result.duration_ms = millis(started);
                result.attempts = vec![Attempt { plugin: name, error: None }];
                if result.cost_usd.is_none() {
                    result.cost_usd = self.price(&result);
                }
                Ok(result)
            }
            Err(mut error) => {
                error.plugin_name = name;
                Err(error)
            }
        }
    }

    /// Hands the plugin's events on until it has answered, and requests to end to the plugin.
    async fn relay(
        &mut self,
        mut answer: JoinHandle<Result<DispatchResult, PluginError>>,
        mut has_begun: oneshot::Receiver<()>,
        mut stream: EventStream,
    ) -> Result<DispatchResult, PluginError> {
        let Self { track, aborted, plugin, .. } = self;
        let (mut asked, mut begun, mut open) = (0, false, true);
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
                    Some(event) => track.take(event),
                    None => open = false,
                },
                answer = &mut answer => break answer,
            }
        };
        for event in stream.take_waiting() {
            track.take(event);
        }
        answer.unwrap_or_else(|failed| {
            let what = if failed.is_panic() { "panicked" } else { "was stopped" };
            let message = format!("the plugin {} {what}", plugin.name());
            Err(PluginError::new(ErrorCode::Unknown, plugin.name(), message)
                .with_cause(Cause::Panic)
                .with_hint("this is an error in the plugin; please report it"))
        })
    }

    /// What it costs by the configured prices, in US dollars; unknown when one is missing.
    fn price(&self, result: &DispatchResult) -> Option<f64> {
        let price = self.shared.config.prices.get(result.model.as_ref()?)?;
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
    async fn finish(self, claim: Option<Claim>, outcome: Result<DispatchResult, PluginError>) {
        let Self { shared, track, .. } = self;
        let task = track.task_id().clone();
        let (ending, recorded) = track.close().await;
        let mut incomplete = recorded.err();
        let end = End { task: task.clone(), claim, seq: ending.seq, outcome };
        if let Err(error) = end.record(&shared.store).await {
            incomplete.get_or_insert(error);
            // Until it is on record, the conversation waits for this process.
            tokio::spawn(end.clone().record_later(shared.store.clone()));
        }
        shared.running().remove(&task);
        let warning = incomplete.map(|why| format!("the record of this task is incomplete: {why}"));
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
    }
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
            (None, Err(error)) => store.withdraw(&self.task, error).await.map(drop),
            (None, Ok(_)) => Ok(()),
        };
        written.map_err(|error| error.to_string())
    }

    /// Tries again while this process lives, for two minutes at most: a lock goes away, a disk gets
    /// room. If it never works, the next process ends the task as interrupted.
    async fn record_later(self, store: Store) {
        for _ in 0..RETRIES {
            tokio::time::sleep(RETRY).await;
            if self.record(&store).await.is_ok() {
                break;
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
