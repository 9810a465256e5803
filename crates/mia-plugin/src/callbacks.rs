//! The page's five callbacks, as a view of the events (M-05).

use std::panic::{AssertUnwindSafe, catch_unwind};

use futures::FutureExt;
use mia_api::{
    Cause, DispatchResult, ErrorCode, EventBody, PluginError, ToolCallInfo, ToolResultInfo,
};

use crate::contract::{CodingPlugin, Dispatch};
use crate::sink::event_channel;

/// The page's `DispatchCallbacks`. Each method may be left out.
///
/// They are called from a thread of their own, in order: one that sleeps holds up only its own
/// dispatch, one that panics is not called for that event and nothing else changes.
pub trait DispatchCallbacks: Send + 'static {
    /// Text of the answer.
    fn on_token(&mut self, _token: &str) {}
    /// A tool is called.
    fn on_tool_call(&mut self, _tool: &ToolCallInfo) {}
    /// A tool has ended.
    fn on_tool_result(&mut self, _result: &ToolResultInfo) {}
    /// The dispatch ended well. The last call.
    fn on_complete(&mut self, _result: &DispatchResult) {}
    /// The dispatch failed. The last call.
    fn on_error(&mut self, _error: &PluginError) {}
}

/// Dispatches with callbacks: exactly one of `on_complete` and `on_error` is called, last, and says
/// what is returned (M-08). A plugin that panics has failed, with cause `panic`.
///
/// Returns when the last callback has. Dropping the future ends the dispatch; then neither of the
/// two is called.
///
/// # Errors
/// As [`CodingPlugin::dispatch`].
pub async fn dispatch_with_callbacks<C: DispatchCallbacks>(
    plugin: &dyn CodingPlugin,
    dispatch: Dispatch,
    mut callbacks: C,
) -> Result<DispatchResult, PluginError> {
    let (sink, mut stream) = event_channel();
    let runtime = tokio::runtime::Handle::current();
    let pump = tokio::task::spawn_blocking(move || {
        while let Some(event) = runtime.block_on(stream.next()) {
            guarded(&mut callbacks, |c| match &event {
                EventBody::Token { text, parent_id: None, .. } => c.on_token(text),
                EventBody::ToolCall(tool) => c.on_tool_call(tool),
                EventBody::ToolResult(result) => c.on_tool_result(result),
                _ => {}
            });
        }
        callbacks
    });
    let dispatched = async { plugin.dispatch(dispatch, sink).await };
    let outcome = AssertUnwindSafe(dispatched).catch_unwind().await.unwrap_or_else(|_| {
        let message = "the plugin's code failed: it panicked";
        Err(PluginError::new(ErrorCode::Unknown, plugin.name(), message).with_cause(Cause::Panic))
    });
    if let Ok(mut callbacks) = pump.await {
        let said = outcome.clone();
        // The last callback may be slow too, and nobody waits for a task that panicked.
        let _ = tokio::task::spawn_blocking(move || {
            guarded(&mut callbacks, |c| match &said {
                Ok(result) => c.on_complete(result),
                Err(error) => c.on_error(error),
            });
        })
        .await;
    }
    outcome
}

/// Calls a callback so that its panic ends there.
fn guarded<C: DispatchCallbacks>(callbacks: &mut C, call: impl FnOnce(&mut C)) {
    let _ = catch_unwind(AssertUnwindSafe(|| call(callbacks)));
}
