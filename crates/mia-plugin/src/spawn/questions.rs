//! Questions of the agent that wait for an answer.

use std::collections::BTreeMap;

use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use mia_api::{PermissionRequest, PermissionResolution, ResolvedBy};
use tokio::sync::oneshot;

use crate::permissions::Permissions;

/// How many may be open at once; one more is refused.
const OPEN: usize = 1000;

/// An answer, with what was asked.
pub(super) struct Answer {
    pub(super) title: String,
    pub(super) resolution: PermissionResolution,
}

/// Open questions. Each gets exactly one answer, from somebody or from its end.
#[derive(Default)]
pub(super) struct Questions {
    /// Those that were asked; none is the answer to a question that was withdrawn.
    asked: FuturesUnordered<BoxFuture<'static, Option<Answer>>>,
    /// Dropping one withdraws its question.
    open: BTreeMap<String, oneshot::Sender<()>>,
}

impl Questions {
    /// Asks, or refuses at once where too much is open or the same is.
    pub(super) fn ask(
        &mut self,
        question: PermissionRequest,
        permissions: &dyn Permissions,
    ) -> Option<Answer> {
        let (id, title) = (question.id.clone(), question.title.clone());
        if self.open.len() >= OPEN || self.open.contains_key(&id) {
            let resolution = PermissionResolution { id, option_id: None, by: ResolvedBy::Policy };
            return Some(Answer { title, resolution });
        }
        let (keep, withdrawn) = oneshot::channel::<()>();
        self.open.insert(id, keep);
        let answer = permissions.ask(question);
        self.asked.push(Box::pin(async move {
            tokio::select! {
                biased;
                _ = withdrawn => None,
                resolution = answer => Some(Answer { title, resolution }),
            }
        }));
        None
    }

    /// The next answer; never ready while nothing is open. Cancel-safe.
    pub(super) async fn next(&mut self) -> Answer {
        loop {
            match self.asked.next().await {
                Some(Some(answer)) if self.open.remove(&answer.resolution.id).is_some() => {
                    return answer;
                }
                Some(_) => {}
                None => std::future::pending().await,
            }
        }
    }

    /// The agent does not wait for that one any more.
    pub(super) fn withdraw(&mut self, id: &str) -> Option<PermissionResolution> {
        self.open.remove(id).map(|_| ended(id.to_owned()))
    }

    /// Nobody waits for any of them any more.
    pub(super) fn end(&mut self) -> Vec<PermissionResolution> {
        self.asked.clear();
        std::mem::take(&mut self.open).into_keys().map(ended).collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }
}

fn ended(id: String) -> PermissionResolution {
    PermissionResolution { id, option_id: None, by: ResolvedBy::End }
}
