//! A plugin without a CLI: it implements `CodingPlugin` directly, as one for an HTTP API would.

use std::pin::pin;
use std::sync::OnceLock;

use futures::future::{BoxFuture, Either, select};
use mia_api::{Cause, DispatchResult, ErrorCode, EventBody, Partial, PluginError, TaskId};
use mia_plugin::{
    CodingPlugin, Dispatch, Environment, EventSink, PluginConfig, Probe, Services, Slot, Slots,
};

/// The name that people select it by.
const NAME: &str = "loud";

/// Says everything again, louder.
#[derive(Debug, Default)]
pub(crate) struct Loud {
    slots: OnceLock<Slots>,
}

impl Loud {
    fn slots(&self) -> Result<&Slots, PluginError> {
        self.slots.get().ok_or_else(|| {
            PluginError::new(ErrorCode::Unknown, NAME, "it was asked before it was initialized")
        })
    }
}

/// Answers, unless somebody asks for the end.
async fn answer(
    dispatch: Dispatch,
    events: EventSink,
    slot: Slot,
) -> Result<DispatchResult, PluginError> {
    let aborted = |cause, message, content| {
        let mut error = PluginError::new(ErrorCode::Aborted, NAME, message).with_cause(cause);
        // What was said so far is not lost.
        error.partial = Some(Box::new(Partial { content, ..Partial::default() }));
        Err(error)
    };
    let mut content = String::new();
    for word in dispatch.prompt.split_inclusive(char::is_whitespace) {
        let text = word.to_uppercase();
        // Here a slow reader holds us up, and an abort gets through.
        let sent = pin!(events.send(EventBody::token(text.as_str())));
        match select(sent, pin!(slot.aborted())).await {
            Either::Left((Ok(()), _)) => content.push_str(&text),
            Either::Left((Err(_), _)) => {
                return aborted(Cause::Interrupted, "nobody reads the answer", content);
            }
            Either::Right(_) => return aborted(Cause::Requested, "the task was aborted", content),
        }
    }
    let options = dispatch.options;
    Ok(DispatchResult::new(options.task_id, options.conversation_id, NAME, content))
}

impl CodingPlugin for Loud {
    fn name(&self) -> &str {
        NAME
    }

    fn version(&self) -> &str {
        "1.0.0"
    }

    fn initialize(
        &self,
        config: PluginConfig,
        _services: Services,
    ) -> BoxFuture<'_, Result<(), PluginError>> {
        Box::pin(async move {
            self.slots.set(Slots::new(NAME, config.max_concurrency)).map_err(|_| {
                PluginError::new(ErrorCode::Unknown, NAME, "it was initialized a second time")
            })
        })
    }

    fn dispatch(
        &self,
        dispatch: Dispatch,
        events: EventSink,
    ) -> BoxFuture<'_, Result<DispatchResult, PluginError>> {
        // The slot is taken here, before anything is awaited.
        let slot = self.slots().and_then(|slots| slots.take(&dispatch.options.task_id));
        Box::pin(async move { answer(dispatch, events, slot?).await })
    }

    fn probe<'a>(&'a self, _environment: &'a Environment) -> BoxFuture<'a, Probe> {
        // One for an API would call it here.
        Box::pin(async { Probe { version: Some("loud enough".to_owned()), ..Probe::default() } })
    }

    fn abort<'a>(&'a self, task: &'a TaskId) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            if let Ok(slots) = self.slots() {
                slots.abort(task).await;
            }
        })
    }

    fn running_task_count(&self) -> usize {
        self.slots().map_or(0, Slots::taken)
    }
}
