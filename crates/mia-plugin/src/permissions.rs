//! Where an agent's questions go.

use std::fmt;

use futures::future::BoxFuture;
use mia_api::{EventBody, NoticeKind, PermissionRequest, PermissionResolution, ResolvedBy};

use crate::sink::{EventSink, SinkError};

/// Answers questions of an agent.
pub trait Permissions: Send + Sync + fmt::Debug {
    /// True when somebody may answer. An adapter can then start its agent in a mode that asks.
    fn somebody_there(&self) -> bool;

    /// Waits for the answer. When nobody is there it is a refusal, at once.
    ///
    /// Dropping the future withdraws the question.
    fn ask(&self, request: PermissionRequest) -> BoxFuture<'static, PermissionResolution>;
}

/// Nobody is there: every question is refused at once.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nobody;

impl Permissions for Nobody {
    fn somebody_there(&self) -> bool {
        false
    }

    fn ask(&self, request: PermissionRequest) -> BoxFuture<'static, PermissionResolution> {
        let refusal =
            PermissionResolution { id: request.id, option_id: None, by: ResolvedBy::Nobody };
        Box::pin(async move { refusal })
    }
}

/// Asks a question on behalf of an agent, with the events that belong to it: `permission`, then
/// `permission_resolved`, and a notice when nobody was there to answer.
///
/// Dropping the future withdraws the question, and says so: `permission_resolved` by `end`.
///
/// # Errors
/// When nobody reads the events any more.
pub async fn ask(
    events: &EventSink,
    permissions: &dyn Permissions,
    request: PermissionRequest,
) -> Result<PermissionResolution, SinkError> {
    let title = request.title.clone();
    // The question stands before it is told, so that no answer comes too early.
    let answer = permissions.ask(request.clone());
    let id = request.id.clone();
    events.send(EventBody::Permission(request)).await?;
    let mut open = Open { events, id: Some(id) };
    let resolution = answer.await;
    open.id = None;
    for event in resolved(&title, &resolution) {
        events.send(event).await?;
    }
    Ok(resolution)
}

/// A question that was told and has no answer yet.
struct Open<'a> {
    events: &'a EventSink,
    id: Option<String>,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id.take() {
            let (option_id, by) = (None, ResolvedBy::End);
            let end = PermissionResolution { id, option_id, by };
            // Nobody is told where nobody reads.
            let _ = self.events.push(EventBody::PermissionResolved(end));
        }
    }
}

/// The events that tell of an answer.
pub(crate) fn resolved(title: &str, resolution: &PermissionResolution) -> Vec<EventBody> {
    let mut events = vec![EventBody::PermissionResolved(resolution.clone())];
    if resolution.by == ResolvedBy::Nobody {
        events.push(EventBody::notice(
            NoticeKind::Denied,
            format!("denied, for nobody was there to be asked: {title}"),
        ));
    }
    events
}
