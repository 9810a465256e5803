//! Bodies of requests, whose senders may neither stand still nor be kept from their answer, and which
//! take no more than the room that there is.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::time::{Instant, Sleep};

use super::limits::Limits;
use super::room::{Share, Waiting};

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Why a body was given up. Who reads it finds this among the sources of the error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum GivenUp {
    /// Its sender was too slow.
    #[error("the body did not come in time")]
    Late,
    /// The bodies of other requests took all the room, for too long.
    #[error("there is no room for the body beside those of other requests")]
    NoRoom,
}

/// A body whose sender may not stand still for ever.
///
/// When it is dropped before its end, its rest is read and thrown away for a while: a sender that
/// writes all before it reads would else never see the answer that says why nobody wants it.
pub(super) struct Patient {
    body: Option<Incoming>,
    /// What has come and there is no room for yet.
    over: Option<(Frame<Bytes>, Waiting)>,
    share: Arc<Share>,
    /// The sender sends nothing before it is told to, which reading does.
    waits: bool,
    /// How long it may make no progress.
    still: Duration,
    /// How long it may wait for room.
    room: Duration,
    /// When it must have come.
    whole: Instant,
    rest: Duration,
    alarm: Pin<Box<Sleep>>,
}

impl Patient {
    pub(super) fn new(body: Incoming, limits: &Limits, share: Arc<Share>, waits: bool) -> Self {
        let now = Instant::now();
        Self {
            body: Some(body),
            over: None,
            share,
            waits,
            still: limits.body,
            room: limits.room,
            whole: now + limits.whole_body,
            rest: limits.rest,
            alarm: Box::pin(tokio::time::sleep_until(now + limits.body.min(limits.whole_body))),
        }
    }

    /// It has so much time from now on.
    fn has(&mut self, time: Duration) {
        self.alarm.as_mut().reset((Instant::now() + time).min(self.whole));
    }

    /// Reads what nobody wants, without anybody who waits for it.
    fn throw_away(&mut self) {
        let Some(body) = self.body.take() else { return };
        if self.waits || body.is_end_stream() {
            return;
        }
        // Not where the runtime ends, and this with it.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(tokio::time::timeout(self.rest, to_the_end(body)));
        }
    }
}

impl Body for Patient {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        self.waits = false;
        if self.over.is_none() {
            let Some(body) = &mut self.body else { return Poll::Ready(None) };
            let Poll::Ready(frame) = Pin::new(body).poll_frame(context) else {
                ready!(self.alarm.as_mut().poll(context));
                // Nothing of it is waited for any more.
                self.body = None;
                return Poll::Ready(Some(Err(GivenUp::Late.into())));
            };
            let frame = match frame {
                Some(Ok(frame)) => frame,
                end => return Poll::Ready(end.map(|end| end.map_err(Into::into))),
            };
            let bytes = frame.data_ref().map_or(0, Bytes::len);
            if self.share.takes(bytes) {
                let still = self.still;
                self.has(still);
                return Poll::Ready(Some(Ok(frame)));
            }
            self.over = Some((frame, self.share.waits(bytes)));
            let room = self.room;
            self.has(room);
        }
        let Some((frame, mut waiting)) = self.over.take() else { return Poll::Ready(None) };
        if waiting.as_mut().poll(context).is_ready() {
            let still = self.still;
            self.has(still);
            return Poll::Ready(Some(Ok(frame)));
        }
        if self.alarm.as_mut().poll(context).is_ready() {
            self.throw_away();
            return Poll::Ready(Some(Err(GivenUp::NoRoom.into())));
        }
        self.over = Some((frame, waiting));
        Poll::Pending
    }

    fn is_end_stream(&self) -> bool {
        self.over.is_none() && self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        match (&self.body, &self.over) {
            (Some(body), None) => body.size_hint(),
            // A frame of it is here already.
            (Some(_), Some(_)) => SizeHint::default(),
            (None, _) => SizeHint::with_exact(0),
        }
    }
}

impl Drop for Patient {
    fn drop(&mut self) {
        self.throw_away();
    }
}

async fn to_the_end(mut body: Incoming) {
    while let Some(Ok(_)) = body.frame().await {}
}
