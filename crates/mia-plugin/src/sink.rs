//! The way of events from a plugin to whoever asked: bounded, in order, text joined.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mia_api::EventBody;
use tokio::sync::Notify;

/// How many bytes of events may wait for their reader before the plugin has to wait too.
const ROOM: usize = 256 * 1024;

/// Why an event was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SinkError {
    /// Nobody reads any more; the dispatch should end.
    #[error("nobody reads the events of this dispatch any more")]
    Closed,
    /// `accepted`, `attempt`, `complete` and `error` are the dispatcher's own (M-08).
    #[error("an event of kind {0} is sent by the dispatcher, not by a plugin")]
    Reserved(&'static str),
}

#[derive(Debug, Default)]
struct State {
    queue: VecDeque<EventBody>,
    weight: usize,
    writers: usize,
    reader_gone: bool,
    /// The model has begun to work, or something was shown.
    worked: bool,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    room: Notify,
    news: Notify,
}

impl Shared {
    /// The queue is valid after any panic of a holder, for each change is one push or pop.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes the events of one dispatch.
///
/// Bounded by weight: when about 256 KiB wait to be read, text first joins with the text before it,
/// then [`EventSink::send`] waits. One event over the bound is always taken, so nothing is ever
/// dropped for its size.
#[derive(Debug)]
pub struct EventSink {
    shared: Arc<Shared>,
}

/// Gives the events of one dispatch, in order.
#[derive(Debug)]
pub struct EventStream {
    shared: Arc<Shared>,
}

/// A sink and its stream.
#[must_use]
pub fn event_channel() -> (EventSink, EventStream) {
    let shared = Arc::new(Shared::default());
    shared.state().writers = 1;
    (EventSink { shared: Arc::clone(&shared) }, EventStream { shared })
}

impl Clone for EventSink {
    fn clone(&self) -> Self {
        self.shared.state().writers += 1;
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl Drop for EventSink {
    fn drop(&mut self) {
        self.shared.state().writers -= 1;
        self.shared.news.notify_one();
    }
}

impl EventSink {
    /// Hands one event on, waiting while the reader is behind.
    ///
    /// Cancel-safe: an event is either taken or not.
    ///
    /// # Errors
    /// When nobody reads any more, or the kind is the dispatcher's own.
    pub async fn send(&self, event: EventBody) -> Result<(), SinkError> {
        self.ready().await?;
        self.push(event)
    }

    /// Waits until there is room. Cancel-safe.
    ///
    /// # Errors
    /// When nobody reads any more.
    pub async fn ready(&self) -> Result<(), SinkError> {
        loop {
            let room = self.shared.room.notified();
            {
                let state = self.shared.state();
                if state.reader_gone {
                    return Err(SinkError::Closed);
                }
                if state.weight < ROOM {
                    return Ok(());
                }
            }
            room.await;
        }
    }

    /// Hands one event on without waiting, over the bound if need be. For callers that asked
    /// [`EventSink::ready`] just before.
    ///
    /// # Errors
    /// As [`EventSink::send`].
    pub fn push(&self, event: EventBody) -> Result<(), SinkError> {
        if event.is_terminal()
            || matches!(event, EventBody::Accepted { .. } | EventBody::Attempt { .. })
        {
            return Err(SinkError::Reserved(event.kind()));
        }
        let mut state = self.shared.state();
        if state.reader_gone {
            return Err(SinkError::Closed);
        }
        state.worked |= event.is_visible();
        let State { queue, weight: held, .. } = &mut *state;
        let left = match queue.back_mut() {
            Some(last) => {
                let before = last.weight();
                let left = last.join(event);
                *held += last.weight() - before;
                left
            }
            None => Some(event),
        };
        if let Some(event) = left {
            *held += event.weight();
            queue.push_back(event);
        }
        drop(state);
        self.shared.news.notify_one();
        Ok(())
    }

    /// The model has begun to work, though nothing can be shown yet: no other plugin is asked
    /// from here on (M-34). An event that is visible says so by itself.
    pub fn sign_of_work(&self) {
        self.shared.state().worked = true;
    }

    /// Waits until nobody reads any more: for work that has nothing to say just now. Cancel-safe.
    pub async fn closed(&self) {
        loop {
            let room = self.shared.room.notified();
            if self.shared.state().reader_gone {
                return;
            }
            room.await;
        }
    }
}

impl EventStream {
    /// The next event; none when all sinks are gone and everything was read. Cancel-safe.
    pub async fn next(&mut self) -> Option<EventBody> {
        loop {
            let news = self.shared.news.notified();
            {
                let mut state = self.shared.state();
                if let Some(event) = state.queue.pop_front() {
                    if state.queue.is_empty() {
                        state.weight = 0;
                        state.queue.shrink_to(64);
                    } else {
                        state.weight = state.weight.saturating_sub(event.weight());
                    }
                    drop(state);
                    self.shared.room.notify_waiters();
                    return Some(event);
                }
                if state.writers == 0 {
                    return None;
                }
            }
            news.await;
        }
    }

    /// True once something visible was sent, or a [`sign of work`](EventSink::sign_of_work).
    #[must_use]
    pub fn has_worked(&self) -> bool {
        self.shared.state().worked
    }

    /// Everything that waits now, without waiting for more.
    pub fn take_waiting(&mut self) -> VecDeque<EventBody> {
        let mut state = self.shared.state();
        state.weight = 0;
        let events = std::mem::take(&mut state.queue);
        drop(state);
        self.shared.room.notify_waiters();
        events
    }
}

impl Drop for EventStream {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.reader_gone = true;
        state.queue.clear();
        drop(state);
        self.shared.room.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mia_api::{NoticeKind, PluginError};

    #[tokio::test]
    async fn neighbouring_text_is_joined_and_order_kept() {
        let (sink, mut stream) = event_channel();
        for text in ["a", "b"] {
            sink.send(EventBody::token(text)).await.unwrap();
        }
        sink.send(EventBody::notice(NoticeKind::Warning, "x")).await.unwrap();
        sink.send(EventBody::token("c")).await.unwrap();
        drop(sink);
        let mut seen = Vec::new();
        while let Some(event) = stream.next().await {
            seen.push(event);
        }
        let expected = vec![
            EventBody::token("ab"),
            EventBody::notice(NoticeKind::Warning, "x"),
            EventBody::token("c"),
        ];
        assert_eq!(seen, expected);
    }

    #[tokio::test]
    async fn a_reader_that_is_behind_makes_the_plugin_wait() {
        let (sink, mut stream) = event_channel();
        sink.send(EventBody::token("x".repeat(ROOM))).await.unwrap();
        let mut second = Box::pin(sink.send(EventBody::token("y")));
        assert!(futures::poll!(&mut second).is_pending());
        assert!(stream.next().await.is_some());
        second.await.unwrap();
    }

    #[tokio::test]
    async fn the_input_of_a_tool_counts() {
        let (sink, _stream) = event_channel();
        let input = serde_json::json!({ "content": ["x".repeat(ROOM)] });
        let call = mia_api::ToolCallInfo { input, ..mia_api::ToolCallInfo::default() };
        sink.send(EventBody::ToolCall(call)).await.unwrap();
        assert!(futures::poll!(Box::pin(sink.ready())).is_pending());
    }

    #[tokio::test]
    async fn what_was_joined_is_free_again_when_it_was_read() {
        let (sink, mut stream) = event_channel();
        for _ in 0..1000 {
            sink.push(EventBody::token("x")).unwrap();
        }
        sink.push(EventBody::notice(NoticeKind::Warning, "x")).unwrap();
        stream.next().await.unwrap();
        assert_eq!(sink.shared.state().weight, 129, "the notice is left");
    }

    #[tokio::test]
    async fn m_008_a_plugin_cannot_send_the_terminal_event() {
        let (sink, _stream) = event_channel();
        let error = Box::new(PluginError::new(mia_api::ErrorCode::Unknown, "p", "x"));
        let refused = sink.send(EventBody::Error { error }).await;
        assert_eq!(refused, Err(SinkError::Reserved("error")));
    }

    #[tokio::test]
    async fn a_waiting_plugin_learns_that_nobody_reads_any_more() {
        let (sink, stream) = event_channel();
        sink.send(EventBody::token("x".repeat(ROOM))).await.unwrap();
        let mut second = Box::pin(sink.send(EventBody::token("y")));
        assert!(futures::poll!(&mut second).is_pending());
        drop(stream);
        assert_eq!(second.await, Err(SinkError::Closed));
    }
}
