//! A plugin without a CLI: it implements `CodingPlugin` directly, as one for an HTTP API would.

use std::pin::pin;
use std::sync::OnceLock;

use futures::future::{BoxFuture, Either, select};
use mia_api::{Cause, DispatchResult, ErrorCode, EventBody, PluginError, TaskId};
use mia_plugin::{CodingPlugin, Dispatch, EventSink, PluginConfig, Probe, Services, Slot, Slots};

/// The name that people select it by.
const NAME: &str = "loud";

/// Says everything again, louder.
#[derive(Debug, Default)]
pub(crate) struct Loud {
    slots: OnceLock<Slots>,
}

impl Loud {
    fn slots(&self) -> &Slots {
        self.slots.get_or_init(|| Slots::new(NAME, 1))
    }
}

/// Answers, unless somebody asks for the end.
async fn answer(
    dispatch: Dispatch,
    events: EventSink,
    slot: Slot,
) -> Result<DispatchResult, PluginError> {
    let aborted =
        |message| PluginError::new(ErrorCode::Aborted, NAME, message).with_cause(Cause::Requested);
    let mut content = String::new();
    for word in dispatch.prompt.split_inclusive(char::is_whitespace) {
        let text = word.to_uppercase();
        content.push_str(&text);
        // Here a slow reader holds us up, and an abort gets through.
        let sent = pin!(events.send(EventBody::token(text)));
        match select(sent, pin!(slot.aborted())).await {
            Either::Left((Ok(()), _)) => {}
            Either::Left((Err(_), _)) => return Err(aborted("nobody reads the answer")),
            Either::Right(_) => return Err(aborted("the task was aborted")),
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
        let slot = self.slots().take(&dispatch.options.task_id);
        Box::pin(async move { answer(dispatch, events, slot?).await })
    }

    fn probe(&self) -> BoxFuture<'_, Probe> {
        // One for an API would call it here.
        Box::pin(async { Probe { version: Some("loud enough".to_owned()), ..Probe::default() } })
    }

    fn abort<'a>(&'a self, task: &'a TaskId) -> BoxFuture<'a, ()> {
        Box::pin(self.slots().abort(task))
    }

    fn running_task_count(&self) -> usize {
        self.slots().taken()
    }
}
